# SPDX-License-Identifier: BSD-2-Clause
"""Programs that end in time, with all that they have started."""

import glob
import os
import signal
import subprocess
import tempfile
import time


def run(command, seconds=600, environment=None, folder=None, stop=None):
    """(exit status, end of the output).  The status is None if the time was up or stop.is_set();
    a failing line of TAP ends it early."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )  # fmt: skip
        end = time.monotonic() + seconds
        try:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
                if b"\nnot ok" in tail(log):
                    return 1, tail(log)
                if stop and stop.is_set():
                    break
            return process.poll(), tail(log)
        finally:
            end_session(process)


def tail(log):
    size = os.fstat(log.fileno()).st_size
    return os.pread(log.fileno(), 16384, max(size - 16384, 0))


def end_session(leader):
    """Kills it and what it started: check gives each test a process group of its own."""
    for entry in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(entry, encoding="ascii", errors="replace") as f:
                session = int(f.read().rsplit(")", 1)[1].split()[3])
            if session == leader.pid:
                os.kill(int(entry.split("/")[2]), signal.SIGKILL)
        except (OSError, ValueError):
            continue  # it has just ended
    leader.wait()
