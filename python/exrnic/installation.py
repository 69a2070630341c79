# SPDX-License-Identifier: BSD-2-Clause
"""Where simulator, launcher, programs and profiles are: in the build of a clone, or installed."""

import dataclasses
import os
import pathlib
import shutil

from exrnic.errors import ExrnicError

_HERE = pathlib.Path(__file__).resolve().parent
_SIM = "exrnic-sim"


@dataclasses.dataclass(frozen=True)
class Installation:
    """`programs`: folders. `guest_image`: None, or what guests boot; `guest_files`: all that says what they are."""

    sim: pathlib.Path
    launcher: pathlib.Path
    programs: tuple
    profiles: pathlib.Path
    guest_image: pathlib.Path | None = None
    guest_files: tuple = ()

    def files(self, word):
        """Those that a word of a command means: a program, a file from here, or all of a folder."""
        for folder in (*self.programs, pathlib.Path()):
            if (folder / word).is_file():
                return [(folder / word).resolve()]
        named = pathlib.Path(word)
        return [path for path in named.rglob("*") if path.is_file()] if "/" in word and named.is_dir() else []

    def profile(self, name):
        """As exrnic-sim's --profile: a name, or a file."""
        if os.sep in name or name.endswith(".json"):
            return pathlib.Path(name).resolve()
        return self.profiles / f"{name}.json"


def find():
    """EXRNIC_BUILD, the build of a clone; the clone that this file is in; the prefix that it, or else the
    exrnic-sim of PATH, is installed in."""
    clone = _HERE.parents[1]
    build = os.environ.get("EXRNIC_BUILD")
    if build:
        return _of_clone(pathlib.Path(build).resolve())
    if (clone / "sim/launch").is_dir():
        return _of_clone(clone / "build")
    return _of_prefix()


def _of_clone(build):
    clone = build.parent
    return _checked(Installation(
        build / "host/sim" / _SIM, clone / "sim/launch",
        (build / "host/libverbs-lite", build / "host/tools/exrnicctl"),
        clone / "sim/profile/profiles", build / "guest/initramfs.cpio",
        (build / "guest/initramfs.cpio", build / "deps/env.sh")))


def _of_prefix():
    in_path = shutil.which(_SIM)
    prefixes = [*_HERE.parents, *([pathlib.Path(in_path).resolve().parents[1]] if in_path else [])]
    for prefix in prefixes:
        if (prefix / "bin" / _SIM).is_file():
            image = prefix / "share/exrnic/guest/initramfs.cpio"
            return _checked(Installation(prefix / "bin" / _SIM, _HERE / "launch", (prefix / "bin",),
                                         prefix / "share/exrnic/profiles", image if image.is_file() else None,
                                         (image, image.with_name("kernel"))))
    raise ExrnicError(f"there is no {_SIM} in PATH: \"make install\" puts it into PREFIX/bin, or name the build of a "
                      "clone in EXRNIC_BUILD")


def _checked(installation):
    for path in (installation.sim, installation.launcher, installation.profiles):
        if not path.exists():
            raise ExrnicError(f"there is no {path}: \"make build\" makes it; EXRNIC_BUILD names another build")
    return installation
