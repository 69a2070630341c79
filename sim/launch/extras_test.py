# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what a launch adds to its guests' image; see launch_test.py. tests/guest/guest_files_test.py has guests.

    python3 -m unittest discover -s sim/launch -p '*_test.py'
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import unittest

from errors import LaunchError
import extras
import fakes
import guest
from launch_test import GOOD_GUEST, GOOD_SIM, LaunchCase


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def file(self, name, content=b"x"):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def world(self):
        self.file("world/root.squashfs")
        self.file("world/mount/1-squashfs.ko", b"module")
        return self.scratch / "world"

    def unpacked(self, added, memory="512M"):
        """Paths in the initramfs, and whose content they have."""
        content = added.initramfs(self.file("base", b""), memory)
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["busybox", "cpio", "-idm"], input=content, cwd=root, check=True, capture_output=True)
            return {str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_bytes()
                    for path in pathlib.Path(root).rglob("*") if path.is_symlink() or path.is_file()}


class Words(Case):
    def said(self, *arguments):
        parser = argparse.ArgumentParser()
        extras.add_options(parser)
        return extras.of_options(parser.parse_args(arguments))

    def refusal(self, call, text):
        with self.assertRaises(ValueError) as caught:
            call(text)
        return str(caught.exception)

    def test_a_file_goes_among_the_programs_or_where_one_says_or_into_a_folder(self):
        own = self.file("own")
        for text, path in ((f"{own}", "/bin/own"), (f"{own}:/a/b", "/a/b"), (f"{own}:/a/", "/a/own")):
            self.assertEqual(extras.put_of(text).path("/bin"), path)

    def test_a_colon_of_a_file_s_own_name_is_no_end_of_it(self):
        self.assertEqual(extras.put_of(str(self.file("a:/b"))).path("/bin"), "/bin/b")

    def test_what_cannot_be_is_refused_by_name(self):
        own = self.file("own")
        self.assertEqual(self.refusal(extras.put_of, "/none"), "there is no /none")
        self.assertEqual(self.refusal(extras.put_of, f"/none:{own}"), "there is no /none")
        for path in "relative", "/a/../b":
            self.assertIn(f"'{path}': a path of a guest begins with /",
                          self.refusal(extras.put_of, f"{own}:{path}"))
        for path in "/proc/x", "/launch/take", "//dev":
            self.assertIn(f"'{path}': a guest has something of its own there", self.refusal(extras.guest_path, path))
        self.assertIn("'//': name what is wanted", self.refusal(extras.path_to_take, "//"))

    def test_without_any_of_it_the_image_is_the_guests_own(self):
        self.assertFalse(self.said())
        self.assertFalse(self.said("--world-folder", "somewhere"))
        self.assertTrue(self.said("--take", "/x"))


class Initramfs(Case):
    def test_folders_and_links_are_as_they_were(self):
        self.file("tree/deep/one", b"1")
        (self.scratch / "tree/link").symlink_to("deep/one")
        found = self.unpacked(extras.Extras((extras.put_of(f"{self.scratch}/tree:/data"),), ("/a b", "/c")))
        self.assertEqual((found["data/deep/one"], found["data/link"]), (b"1", "deep/one"))
        self.assertEqual(found["launch/take"], b"/a b\n/c\n")

    def test_in_a_distribution_files_go_where_its_links_lead(self):
        own = self.file("own", b"own")
        found = self.unpacked(extras.Extras(tuple(extras.put_of(f"{own}{to}") for to in ("", ":/lib/x", ":/etc/x")),
                                            world=self.world()))
        self.assertEqual({path for path, content in found.items() if content == b"own"},
                         {f"launch/world/put/{path}" for path in ("usr/local/bin/own", "usr/lib/x", "etc/x")})
        self.assertEqual(found["launch/world/mount/1-squashfs.ko"], b"module")

    def test_two_files_for_one_path_are_refused(self):
        puts = tuple(extras.put_of(str(self.file(name))) for name in ("a/own", "b/own"))
        with self.assertRaisesRegex(LaunchError, "--put: two files for /bin/own"):
            extras.Extras(puts).initramfs(self.file("base"), "512M")

    def test_the_memory_of_a_guest_limits_it(self):
        added = extras.Extras((extras.put_of(str(self.file("large", bytes(40 << 20)))),))
        for memory in "256M", "1G", "160", "size=512M":
            self.unpacked(added, memory)
        with self.assertRaisesRegex(LaunchError, "a guest of --memory 128M has room for 32 MiB of files; .* are 41 MiB"):
            self.unpacked(added, "128M")

    def test_what_is_neither_file_nor_folder_is_refused(self):
        os.mkfifo(self.scratch / "pipe")
        with self.assertRaisesRegex(LaunchError, "pipe is neither a file nor a folder"):
            self.unpacked(extras.Extras((extras.put_of(f"{self.scratch}/pipe"),)))

    def test_the_modules_of_a_network_are_there_with_a_distribution_and_without(self):
        module = self.file("world/network/01-virtio.ko", b"module")
        for world in (None, self.world()):
            found = self.unpacked(extras.Extras(world=world, network=module.parent))
            self.assertEqual(found["launch/network/01-virtio.ko"], b"module")
            self.assertIn("launch/extras.sh", found)

    def test_a_distribution_that_is_not_there_is_told_with_what_makes_it(self):
        with self.assertRaisesRegex(LaunchError, "there is no distribution in .*make guest-world"):
            extras.Extras(world=self.scratch / "none").check()


class Taking(LaunchCase):
    # A guest writes to the file of its disk.
    FIND_DISK = "disk=take$node.tar; mkdir -p data; echo $node > data/out$node\n"
    GIVE = FIND_DISK + "tar -c -f $disk data/out$node\n"

    def test_what_each_guest_writes_is_in_its_folder_and_the_disk_is_gone(self):
        self.run_it(GOOD_SIM, self.GIVE + GOOD_GUEST, extras=extras.Extras(takes=("/data/out",)))
        for node in "01":
            self.assertEqual((self.directory / f"guest{node}/data/out{node}").read_text(), f"{node}\n")
            self.assertFalse((self.directory / f"take{node}.tar").exists())

    def test_a_guest_that_fails_gives_it_too(self):
        report = self.failure(GOOD_SIM, self.GIVE + fakes.BOOT + fakes.end(3), guests=1,
                              extras=extras.Extras(takes=("/data/out",)))
        self.assertIn("guest 0: its command failed with status 3", report)
        self.assertTrue((self.directory / "guest0/data/out0").exists())

    def test_what_is_not_there_and_what_could_not_be_written_is_named(self):
        for says, because in (("echo '@exrnic-absent /a b'", "guest 1: there is no /a b to be taken out"),
                              ("echo @exrnic-lost", "what --take names could not be written: is it more than 1024 MiB"),
                              ("echo rubbish | dd bs=512 conv=sync of=take$node.tar 2>/dev/null",
                               "guest 1: what it gave is no archive: ")):
            qemu = self.GIVE + f"if [ $node = 1 ]; then {says}; fi\n" + fakes.BOOT + fakes.end(0)
            self.assertIn(because, self.failure(GOOD_SIM, qemu, extras=extras.Extras(takes=("/a b",))))

    def test_a_distribution_that_does_not_fit_the_kernel_is_told(self):
        report = self.failure(GOOD_SIM, fakes.BOOT + fakes.end(guest.NO_WORLD))
        self.assertIn("guest 0: it cannot mount its distribution; \"make guest-world\"", report)


class Disks(LaunchCase):
    def test_all_guests_read_one_distribution_and_each_writes_a_disk_of_its_own(self):
        world = self.scratch / "world"
        self.directory.mkdir()
        added = extras.Extras(takes=("/x",), world=world)
        first, second = (added.disks(self.directory, node) for node in range(2))
        self.assertEqual((first[0], first[0].read_only), (second[0], True))
        self.assertEqual([disks[1].file for disks in (first, second)], ["take0.tar", "take1.tar"])
        command = guest.qemu_command("qemu", "kernel", "initramfs", "socket", "true", disks=first)
        self.assertLess(command.index("-append"), command.index("-blockdev"))
        self.assertIn(f'"filename": "{world}/root.squashfs"', " ".join(command))


if __name__ == "__main__":
    unittest.main()
