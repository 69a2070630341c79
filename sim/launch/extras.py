# SPDX-License-Identifier: BSD-2-Clause
"""What a launch adds to the guests' image: files put in, files taken out, a distribution.

It is a second archive behind the first one in the initramfs, which the kernel unpacks, too:

    launch/extras.sh    sim/guest/extras.sh, by which init knows how to do all this
    launch/take         what to take out, a path a line
    launch/network      the modules of the network beside the RNICs
    launch/world        of a distribution: modules to mount it, launch/world/put/PATH the files put in
    PATH                the files put in, without one

What is taken out, each guest writes as a tar archive to a disk of its own. The distribution (tools/guest_world.sh
makes it) is a disk that all guests read.
"""

import argparse
import dataclasses
import os
import pathlib
import posixpath
import re
import stat
import subprocess
import sys

from errors import LaunchError
import guest

_SIM = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(_SIM / "guest"))

import newc  # noqa: E402 (the guest's image is made by no installed package)

_MIB = 1 << 20
_TAKE = "exrnic-take"
_WORLD = "exrnic-world"
_TAKE_BYTES = 1 << 30
_IMAGE = "root.squashfs"
_OVER_WORLD = "launch/world/put/"
_KERNEL_BYTES = 64 * _MIB  # what kernel and driver need at boot
_HIDDEN = ("dev", "launch", "proc", "sys")
# Links of the distribution's root to folders of /usr: a folder put in their place would hide all of it.
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# What "make provider" makes, and where the distribution's libibverbs, or its shell, looks for it.
_PROVIDER = _SIM.parent / "build/provider"
_PROVIDER_FILES = {"libexrnic-rdmav34.so": "/usr/lib/x86_64-linux-gnu/libibverbs/",
                   "exrnic.driver": "/etc/libibverbs.d/", "exrnic-verbs-test": "/usr/local/bin/"}
_UNITS = {"": _MIB, "M": _MIB, "G": _MIB << 10}


@dataclasses.dataclass(frozen=True)
class Put:
    """A file or a folder of the host, and where it goes: None, or a path with a "/" behind it, is where
    programs are, or that folder, under its own name."""

    source: pathlib.Path
    target: str | None

    def path(self, programs):
        if self.target is None:
            return posixpath.join(programs, self.source.name)
        if self.target.endswith("/"):
            return posixpath.join(self.target, self.source.name)
        return self.target


def put_of(text):
    """FILE or FILE:PATH."""
    source, target = text, None
    if not os.path.lexists(text) and ":" in text:
        source, _, target = text.rpartition(":")
        guest_path(target)
    path = pathlib.Path(source).resolve()
    if not path.exists():
        raise ValueError(f"there is no {source}")
    return Put(path, target)


def guest_path(text):
    """`text`, if a guest can have a file there that it does not hide."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not text.startswith("/") or "\n" in text or ".." in parts:
        raise ValueError(f"'{text}': a path of a guest begins with / and has no ..")
    if parts and parts[0] in _HIDDEN:
        raise ValueError(f"'{text}': a guest has something of its own there")
    return text


def path_to_take(text):
    if posixpath.normpath(text).strip("/") == "":
        raise ValueError(f"'{text}': name what is wanted of it")
    return guest_path(text)


@dataclasses.dataclass
class Extras:
    """`takes`: paths of the guest. `world`: folder of the distribution, or None. `network`: folder with the modules of a
    network beside the RNICs, or None: without one."""

    puts: tuple = ()
    takes: tuple = ()
    world: pathlib.Path | None = None
    own_disks: tuple = ()
    network: pathlib.Path | None = None

    def __bool__(self):
        return bool(self.puts or self.takes or self.world or self.network)

    def check(self):
        if self.network and not self.network.is_dir():
            raise LaunchError(f"--network: there is no {self.network} with its modules (\"make guest-world\" makes it)")
        if self.world and not (self.world / _IMAGE).is_file():
            raise LaunchError(f"there is no distribution in {self.world} (\"make guest-world\" makes one)")

    def initramfs(self, base, memory):
        """`base` with all this behind it, for a guest of that memory (as QEMU's -m)."""
        content = base.read_bytes() + self._archive()
        room = _room(memory)
        if room is not None and len(content) > room:
            raise LaunchError(f"a guest of --memory {memory} has room for {room // _MIB} MiB of files; image and "
                              f"what --put names are {-(-len(content) // _MIB)} MiB")
        return content

    def disks(self, directory, node):
        """Those of a guest; files relative to the folder of the launch, where they are made."""
        disks = []
        if self.world:
            disks.append(guest.Disk(_WORLD, str(self.world / _IMAGE), read_only=True))
        if self.takes:
            file = _take_file(node)
            with open(directory / file, "wb") as disk:
                disk.truncate(_TAKE_BYTES)
            disks.append(guest.Disk(_TAKE, file))
        disks += [guest.OwnDisk(str(path), index) for index, path in enumerate(self.own_disks)]
        return disks

    def unpack(self, directory, node, console):
        """To directory/guestN. Returns what could not be taken out, as lines."""
        if not self.takes:
            return []
        problems = [f"guest {node}: there is no {path} to be taken out" for path in console.absent]
        if console.lost:
            problems.append(f"guest {node}: what --take names could not be written: is it more than "
                            f"{_TAKE_BYTES // _MIB} MiB?")
        elif len(console.absent) < len(self.takes):
            problems += self._untar(directory, node)
        (directory / _take_file(node)).unlink()
        return problems

    def _untar(self, directory, node):
        folder = directory / f"guest{node}"
        folder.mkdir()
        # tar lets no name lead out of the folder.
        done = subprocess.run(["tar", "-x", "--no-same-owner", "-f", directory / _take_file(node), "-C", folder],
                              stderr=subprocess.PIPE, text=True, check=False)
        return [] if done.returncode == 0 else [f"guest {node}: what it gave is no archive: {done.stderr.strip()}"]

    def _archive(self):
        archive = newc.Archive()
        archive.file("launch/extras.sh", (_SIM / "guest/extras.sh").read_bytes())
        if self.takes:
            archive.file("launch/take", "".join(f"{path}\n" for path in self.takes).encode())
        if self.network:
            _add(archive, self.network, "launch/network")
        if self.world:
            archive.directory("launch/world")
            _add(archive, self.world / "mount", "launch/world/mount")
        taken = set()
        for put in self.puts:
            path = self._path(put)
            if path in taken:
                raise LaunchError(f"--put: two files for /{path.removeprefix(_OVER_WORLD)}")
            taken.add(path)
            _add(archive, put.source, path)
        return archive.finish()

    def _path(self, put):
        """In the initramfs."""
        if not self.world:
            return put.path("/bin").strip("/")
        path = put.path("/usr/local/bin").strip("/")
        return _OVER_WORLD + (f"usr/{path}" if path.split("/")[0] in _MERGED else path)


def _add(archive, source, path):
    mode = source.lstat().st_mode
    try:
        if stat.S_ISLNK(mode):
            archive.symbolic_link(path, os.readlink(source))
        elif stat.S_ISDIR(mode):
            archive.directory(path)
            for child in sorted(source.iterdir()):
                _add(archive, child, f"{path}/{child.name}")
        elif stat.S_ISREG(mode):
            archive.file(path, source.read_bytes(), executable=bool(mode & 0o111))
        else:
            raise LaunchError(f"--put: {source} is neither a file nor a folder")
    except OSError as error:
        raise LaunchError(f"--put: {source} cannot be read: {error.strerror}") from None


def _room(memory):
    """For an initramfs: while the kernel unpacks it, it is there twice, and it may fill half of the memory."""
    size = re.fullmatch(r"(\d+)([MG]?)", memory)
    return (int(size[1]) * _UNITS[size[2]] - _KERNEL_BYTES) // 2 if size else None


def _take_file(node):
    return f"take{node}.tar"


def option(check):
    """For argparse, which tells nobody why a ValueError was raised."""
    def checked(text):
        try:
            return check(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def add_options(parser):
    parser.add_argument("--world", action="store_true",
                        help="run the command in the guests' distribution (made by \"make guest-world\"), with "
                        "--ethernet and the provider of rdma-core (made by \"make provider\")")
    parser.add_argument("--world-folder", type=pathlib.Path, default=_SIM.parent / "build/deps/world",
                        help="folder of the distribution, if not build/deps/world")
    parser.add_argument("--network", action="store_true",
                        help="a virtio Ethernet network among all guests, besides the RNICs: node N has "
                        "172.31.(N / 256).(N %% 256). Its modules are in the folder of --world; in free time only")
    parser.add_argument("--put", metavar="FILE[:PATH]", type=option(put_of), action="append", default=[],
                        help="a file or folder for the guests, at PATH, or under its own name among the programs; can "
                        "be repeated")
    parser.add_argument("--take", metavar="PATH", type=option(path_to_take), action="append", default=[],
                        help="a file or folder to copy from each guest to DIRECTORY/guestN at the end, even if the "
                        "command fails; can be repeated")
    parser.add_argument("--disk", metavar="IMAGE", type=option(disk_of), action="append", default=[],
                        help="an NVMe disk for each guest; what a guest writes is lost when it ends; can be repeated")


def disk_of(text):
    path = pathlib.Path(text).resolve()
    if not path.is_file():
        raise ValueError(f"there is no disk image {text}")
    if "," in str(path):
        raise ValueError(f"'{path}': a disk image's path has no comma")
    return path


def _provider():
    """The provider of rdma-core, if it has been made."""
    if not all((_PROVIDER / name).is_file() for name in _PROVIDER_FILES):
        return ()
    return tuple(Put(_PROVIDER / name, folder) for name, folder in _PROVIDER_FILES.items())


def kernel_arguments(options):
    """Verbs have datagrams of 2048 bytes, and a GRH before each: that takes frames of more than those after reset."""
    return " exrnic.mtu=4096" if options.world and "exrnic.mtu=" not in options.kernel_arguments else ""


def of_options(options):
    world = options.world_folder.resolve()
    puts = (*_provider(), *options.put) if options.world else tuple(options.put)
    return Extras(puts, tuple(options.take), world if options.world else None, tuple(options.disk),
                  world / "network" if options.network else None)
