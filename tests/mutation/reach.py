# SPDX-License-Identifier: BSD-2-Clause
"""Which test executes which line, by gcov: a test that does not come to a line cannot tell what is
wrong in it.

Line by line where that is certain.  Of a change outside functions, as in a table, nobody knows who
reads it: every test may.  Of one that gcov has no line for, or in the label of a case, to which a
change may lead others, every test of the function may.
"""

import json
import os
import subprocess

import process
import sources


class Reach:
    def __init__(self):
        self.lines = {}  # of each test and file: the lines it executes
        self.known = {}  # of each file: the lines that can be executed
        self.functions = {}  # of each file: (first line, last line)

    def add(self, test, file, lines, functions):
        self.known.setdefault(file, set()).update(n for n, _ in lines)
        self.functions.setdefault(file, set()).update(functions)
        self.lines.setdefault((test, file), set()).update(n for n, count in lines if count)

    def wanted(self, mutant):
        """The lines of which a test must execute one to notice; None: nobody knows."""
        known = self.known.get(mutant.file, set())
        text = sources.read(mutant.file)
        last = mutant.line + mutant.old.count("\n")
        around = [f for f in self.functions.get(mutant.file, ()) if f[0] <= mutant.line <= f[1]]
        if not around:
            return None
        of_line = text.split("\n")[mutant.line - 1].split()
        if mutant.line not in known or of_line[0] in ("case", "default:"):
            return {n for n in known if around[0][0] <= n <= around[0][1]}
        return {n for n in known if mutant.line <= n <= last}

    def reaches(self, test, file, wanted):
        return wanted is None or bool(wanted & self.lines.get((test, file), set()))


def measure(job, folder, area):
    """What the tests of a job reach, with a build of its own."""
    build = os.path.join(folder, "build")
    flags = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0 --coverage"]
    os.makedirs(build, exist_ok=True)
    job.must(["cmake", "-G", "Ninja", "-S", job.source, "-B", build] + flags)
    job.must(["ninja", "-C", build])
    reach = Reach()

    def one(test):
        gathered = os.path.join(folder, "of", test.name)
        subprocess.run(["rm", "-rf", gathered], check=True)
        os.makedirs(gathered)
        other = {k: v.replace(job.build, build) for k, v in test.environment.items()}
        command = [word.replace(job.build, build) for word in test.command]
        other["GCOV_PREFIX"] = gathered
        status, said = process.run(command, 600, other, build)
        if status != 0:
            raise SystemExit(f"{test.name}: {said.decode(errors='replace')}")
        return list(read_counts(gathered, build, job.source, area))

    for test, counts in job.all_tests(one):
        for file, lines, functions in counts:
            reach.add(test.name, file, lines, functions)
    return reach


def read_counts(gathered, build, source, area):
    """(file, [(line, count)], [(first line, last line)]) of the files of an area."""
    for place, _, names in os.walk(gathered):
        found = [n for n in names if n.endswith(".gcda")]
        if not found:
            continue
        for name in found:
            note = name[: -len("gcda")] + "gcno"
            built = os.path.join("/", os.path.relpath(place, gathered), note)
            os.symlink(built, os.path.join(place, note))
        said = subprocess.run(
            ["gcov", "--json-format", "--stdout", *found],
            cwd=place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        ).stdout  # fmt: skip
        for line in said.splitlines():
            if not line.startswith(b"{"):
                continue
            for f in json.loads(line)["files"]:
                file = os.path.relpath(os.path.join(build, f["file"]), source)
                if file.startswith(area + "/") and file.endswith(".c"):
                    yield (
                        file,
                        [(n["line_number"], n["count"]) for n in f["lines"]],
                        [(g["start_line"], g["end_line"]) for g in f["functions"]],
                    )
