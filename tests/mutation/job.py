# SPDX-License-Identifier: BSD-2-Clause
"""A copy of the sources with its build, in which one mutant at a time is put to the test."""

import collections
import glob
import hashlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import process
import sources

AREA = "transport"
LIBRARIES = ("hawser_iscsi", "hawser_tcp")  # what the area is linked to
SLOWEST = 15  # seconds that any test may take
PATIENCE = 5  # and times what it usually takes
AT_ONCE = 6  # cases of the protocol: they mostly wait
FUZZ_PDUS = "2000"  # of the protocol tests, whose fuzzers else go on for a fixed time
# As preset dev, by which tests/run looks for leaks and what is used after its end; but each
# library is a file of its own, so that a mutant is linked in an instant.
FLAGS = [
    "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DHAWSER_SANITIZE=address",
    "-DHAWSER_LIBRARIES=SHARED", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
]  # fmt: skip
# A table of a library that a program uses is in both of them.
ASAN = "detect_odr_violation=0:detect_stack_use_after_return=1"

Test = collections.namedtuple("Test", "name command environment is_unit")
Verdict = collections.namedtuple("Verdict", "mutant outcome by seconds")


def is_linked(program):
    """With what the mutants are in?"""
    with open(program, "rb") as f:
        return f"lib{LIBRARIES[0]}.so".encode() in f.read()


class Job:
    """Used by one thread at a time."""

    def __init__(self, folder):
        self.source = os.path.join(folder, "src")
        self.build = os.path.join(folder, "build")
        self.usual = {}  # seconds of each test when nothing is wrong
        self.objects = {}  # of each file without a change
        self.reach = None
        os.makedirs(self.build, exist_ok=True)
        sources.copy_to(self.source)
        self.must(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build] + FLAGS)
        self.must(["ninja", "-C", self.build])
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as f:
            self.compilers = {c["file"]: c["command"] for c in json.load(f)}
        self.tests = self.find_tests()

    def must(self, command):
        status, said = process.run(command, 3600, folder=self.build)
        if status != 0:
            sys.exit(f"{' '.join(command)}:\n{said.decode(errors='replace')}")

    def find_tests(self):
        """The unit tests, and each case of the protocol tests by itself."""
        said = subprocess.check_output(
            ["ctest", "--test-dir", self.build, "--show-only=json-v1"], text=True
        )
        found = []
        for t in json.loads(said)["tests"]:
            properties = {p["name"]: p["value"] for p in t["properties"]}
            labels = properties.get("LABELS", [])
            environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
            environment.update(HAWSER_FUZZ_PDUS=FUZZ_PDUS, ASAN_OPTIONS=ASAN)
            if "unit" in labels and is_linked(t["command"][0]):
                found.append(Test(t["name"], t["command"], environment, True))
            elif "protocol" in labels:
                for case in subprocess.check_output(t["command"] + ["--list"], text=True).split():
                    command = t["command"] + [f"/{case}/"]
                    found.append(Test(f"protocol.{case}", command, environment, False))
        return found

    def all_tests(self, one):
        """(test, one(test)) of each: of the protocol's several at once."""
        done = [(t, one(t)) for t in self.tests if t.is_unit]
        others = [t for t in self.tests if not t.is_unit]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return done + list(zip(others, pool.map(one, others)))

    def measure(self):
        """Every test must pass on what is right, or it proves nothing."""

        def one(test):
            for attempt in range(3):
                begin = time.monotonic()
                status, said = process.run(test.command, 600, test.environment, self.build)
                if status == 0:
                    return time.monotonic() - begin
            raise SystemExit(f"{test.name}:\n{said.decode(errors='replace')}")

        self.usual = {test.name: seconds for test, seconds in self.all_tests(one)}

    def object_of(self, file, text):
        """The digest of what a release would be made of; None if it does not compile."""
        path = os.path.join(self.source, file)
        words = shlex.split(self.compilers[path])
        words = [w for w in words if not w.startswith(("-fsanitize", "-fno-sanitize", "-O", "-W"))]
        output = os.path.join(self.build, "mutant.o")
        words[words.index("-o") + 1] = output
        words[-1:] = ["-x", "c", "-", "-O2", "-DNDEBUG", "-w", "-iquote", os.path.dirname(path)]
        if subprocess.run(
            words, input=text.encode(), cwd=self.build, stderr=subprocess.DEVNULL
        ).returncode:
            return None
        with open(output, "rb") as f:
            return hashlib.sha256(f.read()).digest()

    def write(self, file, text):
        with open(os.path.join(self.source, file), "w", encoding="utf-8") as f:
            f.write(text)

    def judge(self, mutant, changed):
        """The verdict on a mutant; None: it does not compile or changes nothing."""
        begin = time.monotonic()
        text = sources.read(mutant.file)
        if mutant.file not in self.objects:
            self.objects[mutant.file] = self.object_of(mutant.file, text)
        made = self.object_of(mutant.file, changed)
        if made is None or made == self.objects[mutant.file]:
            return None
        self.write(mutant.file, changed)
        try:
            outcome, by = self.put_to_test(mutant)
        finally:
            self.write(mutant.file, text)
        return outcome and Verdict(mutant, outcome, by, time.monotonic() - begin)

    def candidates(self, mutant):
        """The tests that come to what is changed, the likely and the quick first."""
        folder = os.path.basename(os.path.dirname(mutant.file))
        stem = os.path.splitext(os.path.basename(mutant.file))[0]
        own = f"unit.{'iscsi' if folder == AREA else folder}."
        wanted = self.reach.wanted(mutant)
        found = [t for t in self.tests if self.reach.reaches(t.name, mutant.file, wanted)]
        return sorted(
            found,
            key=lambda t: (
                not t.is_unit,
                not t.name.startswith(own + stem),
                not t.name.startswith(own),
                self.usual[t.name],
            ),
        )

    def put_to_test(self, mutant):
        found = self.candidates(mutant)
        units = [t for t in found if t.is_unit]
        # A unit test may include the file itself.
        programs = [os.path.basename(t.command[0]) for t in units]
        status, said = process.run(["ninja", *LIBRARIES, *programs], folder=self.build)
        if status != 0:
            print(f"{mutant.file}:{mutant.line}: {said.decode(errors='replace')}", file=sys.stderr)
            return None, ""
        for t in units:
            how = self.kills(t)
            if how:
                return f"killed ({how})", t.name
        how, by = self.kills_in_protocol([t for t in found if not t.is_unit])
        if how:
            return f"killed ({how})", by
        return ("SURVIVED" if found else "SURVIVED UNSEEN"), ""

    def once(self, test, stop=None):
        limit = SLOWEST + PATIENCE * self.usual[test.name]
        return process.run(test.command, limit, test.environment, self.build, stop)[0]

    def kills(self, test, times=2):
        """How this test kills what is built now; None if it does not."""
        how = None
        for _ in range(times):  # a failure by chance is not one of the mutant
            status = self.once(test)
            if status == 0:
                return None
            how = how or ("time-out" if status is None else "failure")
        return how

    def kills_in_protocol(self, tests):
        """Several at once, until one fails which then also fails alone."""
        while tests:
            stop, passed, failed = threading.Event(), set(), []

            def one(test):
                if stop.is_set():
                    return
                status = self.once(test, stop)
                if status == 0:
                    passed.add(test.name)
                elif not stop.is_set():
                    failed.append((test, status))
                    stop.set()

            with ThreadPoolExecutor(AT_ONCE) as pool:
                list(pool.map(one, tests))
            tests = [t for t in tests if t.name not in passed]
            for test, _ in failed:
                how = self.kills(test, 1)
                if how:
                    return how, test.name
                tests.remove(test)
        return None, ""
