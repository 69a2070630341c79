# SPDX-License-Identifier: BSD-2-Clause
"""What a launch is to write besides its logs: a trace. As an option of the launchers, as arguments
of exrnic-sim, and as a line that says what to do with the file."""

_TRACE = "trace.json"


def add_options(parser):
    parser.add_argument("--trace", action="store_true",
                        help=f"write {_TRACE} into the directory: the life of each work request")


def sim_arguments(options):
    """The file is named relative to the folder of the launch, in which exrnic-sim runs."""
    return ("--trace", _TRACE) if options.trace else ()


def describe(options, directory):
    """Lines for the user, one for each file that was asked for."""
    if not options.trace:
        return []
    path = directory / _TRACE
    if not path.is_file():
        return [f"{path} was not written; see sim.log"]
    return [f"{path}: open it in Perfetto or chrome://tracing"]
