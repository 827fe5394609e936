# SPDX-License-Identifier: BSD-2-Clause
"""The sources as they are when a run begins: somebody may go on working on them."""

import hashlib
import os
import subprocess

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SNAPSHOT = {}  # of each file of the sources: its bytes and mode


def take_snapshot():
    said = subprocess.run(
        ["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "-z"],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    for f in said.stdout.split("\0"):
        path = os.path.join(SOURCE, f)
        if f and os.path.isfile(path):
            with open(path, "rb") as content:
                SNAPSHOT[f] = content.read(), os.stat(path).st_mode


def copy_to(folder):
    """Only what differs is written, so that an old build is brought up to date."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if os.path.relpath(path, folder) not in SNAPSHOT:
                os.unlink(path)
    for f, (content, mode) in SNAPSHOT.items():
        target = os.path.join(folder, f)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(target):
            with open(target, "rb") as old:
                if old.read() == content:
                    continue
        with open(target, "wb") as new:
            new.write(content)
        os.chmod(target, mode)


def read(file):
    return SNAPSHOT[file][0].decode()


def digest():
    """Of all that has to do with what the tests reach."""
    whole = hashlib.sha256()
    for f in sorted(SNAPSHOT):
        if f.endswith((".c", ".h", ".txt", ".cmake", ".in")):
            whole.update(f.encode() + b"\0" + SNAPSHOT[f][0] + b"\0")
    return whole.hexdigest()[:16]
