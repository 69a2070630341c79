#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Linux's NTB clients between two guests, and the kernel's own test of them, ntb_test.sh ("make ntb-clients").

    tests/ntb/ntb_clients.py [--core ref|rtl] [--rounds N] [--windows COUNT[:BYTES]] [--order N] [--dma]

What they say is in guest0.log of the directory; rows of results are printed. Exit status: 0 if all went well.
"""

import argparse
import pathlib
import re
import subprocess
import sys

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_BOOT_SECONDS = 300
_SECONDS = 300
_SECONDS_EACH_ROUND = 180
_RTL_FACTOR = 6


def launch(options, folder):
    factor = _RTL_FACTOR if options.core == "rtl" else 1
    seconds = (_SECONDS + options.rounds * _SECONDS_EACH_ROUND) * factor
    command = f"bash /opt/ntb/clients.sh {{node}} {options.rounds} {options.windows} {options.order} {int(options.dma)}"
    return subprocess.run(
        [sys.executable, _CLONE / "sim/launch", "--directory", folder, "--world", "--memory", "1G",
         "--sim-argument=--core", f"--sim-argument={options.core}", "--boot-seconds", str(_BOOT_SECONDS),
         "--run-seconds", str(seconds), "--put", f"{_CLONE / 'tests/world'}:/opt/world",
         "--put", f"{_CLONE / 'tests/ntb'}:/opt/ntb", "--put", f"{_CLONE / 'build/ntb/modules'}:/opt/modules",
         *options.launch_option, "run", command],
        check=False).returncode


def rows(folder):
    log = folder / "guest0.log"
    text = log.read_text(errors="replace") if log.is_file() else ""
    return re.findall(r"^@ntb (.*?)\r?$", text, re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--core", default="ref", choices=("ref", "rtl"), help="of exrnic-sim (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="of ntb_test.sh (default: %(default)s)")
    parser.add_argument("--windows", default="4", metavar="COUNT[:BYTES]", help="of the link (default: %(default)s)")
    parser.add_argument("--order", type=int, default=20, help="log2 of the bytes of ntb_perf (default: %(default)s)")
    parser.add_argument("--dma", action="store_true", help="with use_dma, too: the kernel has DMADEVICES")
    parser.add_argument("--directory", type=pathlib.Path, help="for logs")
    parser.add_argument("--launch-option", action="append", default=[], metavar="OPTION",
                        help="more for sim/launch, such as --kernel=FILE; can be repeated")
    options = parser.parse_args()
    folder = options.directory or _CLONE / f"build/run/ntb_clients_{options.core}"
    status = launch(options, folder)
    found = rows(folder)
    print("\n".join(["", *found]))
    return 1 if status or "done" not in found else 0


if __name__ == "__main__":
    sys.exit(main())
