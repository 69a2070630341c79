#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests that pyverbs' package comes with, and counts what came of them.

    pyverbs_suite.py DEVICE GID_INDEX [TEST...]    TESTs: as unittest names them, such as tests.test_mr; all without any

One that fails is run once more, by itself: test_resize_cq takes for granted that the device has done what was posted
just before, and here it is a simulator that others may hold up. Prints how often there was which reason to skip a
test, and at the end "pyverbs: P passed, F failed, S skipped". Exit status: 0 if none failed.
"""

import collections
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

_TESTS = pathlib.Path("/usr/share/doc/rdma-core/tests")
_HUGE_PAGES = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
_TOTAL = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)


def unpack(folder):
    """The package has its larger files compressed."""
    for source in _TESTS.iterdir():
        text = source.read_bytes()
        compressed = source.suffix == ".gz"
        (folder / (source.stem if compressed else source.name)).write_bytes(gzip.decompress(text) if compressed else text)


def counted(output):
    """Names of the tests that failed, how many were run and skipped, and how often each reason for that."""
    ran = _TOTAL.search(output)
    if not ran:
        raise ValueError("the tests were not run to their end")
    failed = re.findall(r"^(?:FAIL|ERROR): \S+ \((\S+)\)$", output, re.MULTILINE)
    skipped = re.search(r"\bskipped=(\d+)", output[ran.end():])
    reasons = collections.Counter(re.findall(r"\bskipped ['\"](.*)['\"]$", output, re.MULTILINE))
    return failed, int(ran[1]), int(skipped[1]) if skipped else 0, reasons


def run(folder, names):
    """What the tests print."""
    done = subprocess.run([sys.executable, folder / "run_tests.py", "--dev", sys.argv[1], "--gid", sys.argv[2],
                           "--verbose", *names], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    print(done.stdout)
    return done.stdout


def main():
    _HUGE_PAGES.write_text("16", encoding="ascii")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "tests"
        folder.mkdir()
        unpack(folder)
        failed, ran, skipped, reasons = counted(run(folder, sys.argv[3:]))
        passed = ran - len(failed) - skipped
        if failed:
            again = counted(run(folder, failed))[0]
            passed, failed = passed + len(failed) - len(again), again
    for reason, times in reasons.most_common():
        print(f"{times:4} {reason}")
    print(f"pyverbs: {passed} passed, {len(failed)} failed, {skipped} skipped")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
