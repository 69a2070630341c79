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
    for name in ("qemu", "kernel"):
        parser.add_argument(f"--{name}", default=found(name.upper()),
                            help=f"default: {name.upper()}, or what the set-up has found")


def from_here(name_or_path):
    """A profile or a topology, by its name or as a file: exrnic-sim, which runs in another folder, finds
    the file that the user means. What is a file says exrnic-sim (sim/profile, sim/topology)."""
    is_path = os.sep in name_or_path or name_or_path.endswith(".json")
    return os.path.abspath(name_or_path) if is_path else name_or_path
