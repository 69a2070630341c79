# SPDX-License-Identifier: BSD-2-Clause
"""Where everything is: what the build of our clone has made, or, installed, our prefix has; what the set-up has found
for us; and what the user means by a name.

QEMU and KERNEL of the environment count; without them those that build/deps/env.sh names, so that
nobody has to source it.
"""

import dataclasses
import os
import pathlib
import subprocess

_HERE = pathlib.Path(__file__).resolve().parent
_CLONE = _HERE.parents[1]
_ENV = _CLONE / "build/deps/env.sh"
_GUEST = "share/exrnic/guest"  # of a prefix: what "make install PARTS=guest" puts there


@dataclasses.dataclass(frozen=True)
class Places:
    """`runs`: where folders of launches are made. `kernel`: of the installed image, or None."""

    sim: pathlib.Path
    sim_mpi: pathlib.Path
    programs: tuple
    plugin: pathlib.Path
    initramfs: pathlib.Path
    modules: pathlib.Path
    runs: pathlib.Path
    kernel: pathlib.Path | None = None


def places(here=_HERE):
    """Of the clone or of the prefix that the launcher is in."""
    clone = here.parents[1]
    prefix = next((folder for folder in here.parents if (folder / "bin/exrnic-sim").is_file()), None)
    if prefix is None or (clone / "Makefile").is_file():
        build = clone / "build"
        return Places(build / "host/sim/exrnic-sim", build / "host/sim/exrnic-sim-mpi",
                      (build / "host/libverbs-lite", build / "host/tools/exrnicctl"),
                      build / "host/sim/time_sync/libexrnic-time.so", build / "guest/initramfs.cpio",
                      build / "kmod/kmod", build / "run")
    kernel = prefix / _GUEST / "kernel"
    return Places(prefix / "bin/exrnic-sim", prefix / "bin/exrnic-sim-mpi", (prefix / "bin",), prefix / "lib/exrnic/libexrnic-time.so",
                  prefix / _GUEST / "initramfs.cpio", prefix / _GUEST, pathlib.Path("exrnic-run").absolute(),
                  kernel if kernel.is_file() else None)


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
    for name, kind, other in (("qemu", program_from_here, None), ("kernel", file_from_here, places().kernel)):
        parser.add_argument(f"--{name}", type=kind, default=found(name.upper()) or other,
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
