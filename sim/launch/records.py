# SPDX-License-Identifier: BSD-2-Clause
"""What a launch is to write besides its logs: captures, a trace, waves, a page. As options of the launchers,
as arguments of exrnic-sim, and as lines that say what to do with the files."""

import re
import shutil

import page

LOG = "sim.log"  # of exrnic-sim, in each folder of a launch
_TROUBLE = re.compile(r"exrnic-sim: (?:rank \d+: )?((?:capture|losses|trace|waves):? .*)")
_CAPTURE = "capture"
_WAVES = "waves.fst"


def add_options(parser):
    parser.add_argument("--capture", action="store_true",
                        help=f"capture what passes each Ethernet port, to DIRECTORY/{_CAPTURE}/PORT.pcap")
    parser.add_argument("--trace", action="store_true",
                        help=f"write the life of each work request to DIRECTORY/{page.TRACE}")
    parser.add_argument("--page", action="store_true",
                        help=f"write DIRECTORY/{page.PAGE}: network, counters, each lost frame and why; with --trace "
                        "also the slowest work requests")
    parser.add_argument("--waves", metavar="WINDOW", nargs="?", const="",
                        help=f"write the signals of one core to DIRECTORY/{_WAVES}: node=N,from=NS,to=NS or "
                        "length=NS (default: node 0, 100 us from its first doorbell); needs --sim "
                        "exrnic-sim-waves")


def sim_arguments(options):
    """The files are named relative to the folder of the launch, in which exrnic-sim runs."""
    arguments = ("--capture", _CAPTURE) if options.capture else ()
    if options.trace:
        arguments += ("--trace", page.TRACE)
    if options.page:
        arguments += ("--losses", page.LOSSES, "--stats", page.STATISTICS)
    if options.waves is not None:
        arguments += ("--waves", ",".join(filter(None, (_WAVES, options.waves))))
    return arguments


def describe(options, directory, whole=True):
    """Lines for the user: one for each thing that was asked for, and what exrnic-sim said of them. `whole`: what is written
    once, of all ranks, is here."""
    lines = []
    if options.capture:
        lines.append(_told(directory / _CAPTURE, "captures; tools/wireshark/view.sh shows one"))
    if options.trace and whole:
        lines.append(_told(directory / page.TRACE, "open it in Perfetto or chrome://tracing"))
    if options.waves is not None:
        missing = "" if shutil.which("gtkwave") else \
            " (gtkwave is not installed; on Debian: apt-get install gtkwave)"
        save = directory / f"{_WAVES}.gtkw"  # there if the waves are whole
        lines.append(_told(save, f"gtkwave {save}{missing}"))
    if options.page and whole:
        lines.append(_told(page.write(directory), "open it in a browser; exrnicctl why says the same"))
    log = directory / LOG
    if (lines or not whole) and log.is_file():
        lines += _TROUBLE.findall(log.read_text(errors="replace"))
    return lines


def _told(path, what):
    return f"{path}: {what}" if path.exists() else f"{path} was not written"
