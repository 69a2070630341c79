# SPDX-License-Identifier: BSD-2-Clause
"""What the set-up has found for us, and what the user means by a name.

QEMU and KERNEL of the environment count; without them those that build/deps/env.sh names, so that
nobody has to source it.
"""

import os
import pathlib
import subprocess

_ENV = pathlib.Path(__file__).resolve().parents[2] / "build/deps/env.sh"


def found(name, env=_ENV):
    """The value of the variable, None where there is none."""
    if os.environ.get(name):
        return os.environ[name]
    if not env.is_file():
        return None
    shown = subprocess.run(["bash", "-c", '. "$0" && printf %s "${!1:-}"', env, name],
                           stdout=subprocess.PIPE, text=True, check=False)
    return shown.stdout or None


def add_options(parser):
    """--qemu and --kernel."""
    for name, kind in (("qemu", program_from_here), ("kernel", file_from_here)):
        parser.add_argument(f"--{name}", type=kind, default=found(name.upper()),
                            help=f"default: {name.upper()}, or what the set-up has found")


# Simulator and guests run in the folder of the launch: what a user names is made absolute before.
def file_from_here(text):
    return pathlib.Path(text).resolve()


def program_from_here(text):
    """A bare name is looked up in PATH, anything else is a path from here."""
    return os.path.abspath(text) if os.sep in text else text


def from_here(name_or_path):
    """A profile or a topology, by its name or as a file. What is a file says exrnic-sim (sim/profile,
    sim/topology)."""
    is_path = os.sep in name_or_path or name_or_path.endswith(".json")
    return os.path.abspath(name_or_path) if is_path else name_or_path
