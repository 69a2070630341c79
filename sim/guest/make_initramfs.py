#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the guests' initramfs: busybox, init, the kernel modules and the programs given.

Not compressed: a guest under TCG copies faster than it inflates. Programs go without symbols, the
modules without debug information: half of the bytes. The output is written only if it changes.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import newc


def stripped(path, what):
    """The bytes of a file; of an ELF file without `what`, an option of strip."""
    content = path.read_bytes()
    if not content.startswith(b"\x7fELF"):
        return content
    with tempfile.NamedTemporaryFile() as output:
        subprocess.run(["strip", what, "-o", output.name, str(path)], check=True)
        return pathlib.Path(output.name).read_bytes()


def build(busybox, modules, programs, firmware=()):
    """Returns the initramfs as bytes; `programs` land in /bin under their own names, `modules` in
    /lib, and files of `firmware` in /lib/firmware/exrnic."""
    archive = newc.Archive()
    # What the kernel opens for init before anything is mounted.
    archive.character_device("dev/console", 5, 1)
    archive.file("init", pathlib.Path(__file__).with_name("init").read_bytes(), executable=True)
    archive.file("bin/busybox", busybox.read_bytes(), executable=True)
    for module in sorted(modules, key=lambda path: path.name):
        archive.file(f"lib/{module.name}", stripped(module, "--strip-debug"))
    for program in sorted(programs, key=lambda path: path.name):
        archive.file(f"bin/{program.name}", stripped(program, "--strip-all"), executable=True)
    for image in sorted(firmware, key=lambda path: path.name):
        archive.file(f"lib/firmware/exrnic/{image.name}", image.read_bytes())
    return archive.finish()


def write_if_changed(path, content):
    """Replaces `path` in one step; leaves it alone if it has this content already."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--busybox", type=pathlib.Path, default="/bin/busybox",
                        help="a statically linked one (default: %(default)s)")
    parser.add_argument("--modules", type=pathlib.Path, required=True,
                        help="folder that kbuild has worked in: its modules and those of its folder test")
    parser.add_argument("--firmware", type=pathlib.Path, action="append", default=[],
                        help="a file for /lib/firmware/exrnic of the guest; may be given again")
    parser.add_argument("programs", type=pathlib.Path, nargs="*",
                        help="statically linked programs for /bin of the guest")
    options = parser.parse_args()
    modules = [*options.modules.glob("*.ko"), *options.modules.glob("test/*.ko")]
    if not modules:
        sys.exit(f"make_initramfs: there is no kernel module in {options.modules}")
    try:
        write_if_changed(options.output, build(options.busybox, modules, options.programs, options.firmware))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make_initramfs: {error}")


if __name__ == "__main__":
    main()
