# SPDX-License-Identifier: BSD-2-Clause
"""Writes cpio archives in the "newc" format, which the kernel unpacks as its initramfs.

The same input gives the same bytes: no times, no inode numbers, no owners of the build machine.
Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Archives may
follow each other in one initramfs; a later file replaces an earlier one of the same name.
"""

import stat

_ALIGNMENT = 512  # of a whole archive, so that another one can follow


class Archive:
    """An archive in memory; entries are owned by root and dated 0."""

    def __init__(self):
        self._data = bytearray()
        self._inode = 0
        self._directories = set()

    def directory(self, path):
        """Adds a directory and the ones above it, each once."""
        if not path or path in self._directories:
            return
        self.directory(path.rpartition("/")[0])
        self._directories.add(path)
        self._entry(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path, content, executable=False):
        """Adds a file, and the directories that it needs."""
        self.directory(path.rpartition("/")[0])
        self._entry(path, stat.S_IFREG | (0o755 if executable else 0o644), content)

    def symbolic_link(self, path, target):
        self.directory(path.rpartition("/")[0])
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def character_device(self, path, major, minor):
        """Adds a device node; no privilege is needed to write one into an archive."""
        self.directory(path.rpartition("/")[0])
        self._entry(path, stat.S_IFCHR | 0o600, b"", major, minor)

    def finish(self):
        """Returns the archive's bytes."""
        self._entry("TRAILER!!!", 0, b"")
        self._pad(_ALIGNMENT)
        return bytes(self._data)

    def _entry(self, path, mode, content, major=0, minor=0):
        self._inode += 1
        name = path.encode() + b"\0"
        links, user, group, time, check = 1, 0, 0, 0, 0
        fields = (self._inode, mode, user, group, links, time, len(content),
                  0, 0, major, minor, len(name), check)
        self._data += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        self._pad(4)
        self._data += content
        self._pad(4)

    def _pad(self, alignment):
        self._data += bytes(-len(self._data) % alignment)
