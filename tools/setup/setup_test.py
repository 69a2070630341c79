# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the set-up's decisions, on machines that are described, not present.

    python3 -m unittest discover -s tools/setup -p '*_test.py'
"""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

_CLONE = pathlib.Path(__file__).resolve().parents[2]

BOOKWORM = ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
            'VERSION_CODENAME=bookworm\n')
TRIXIE = ('PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
          'VERSION_CODENAME=trixie\n')


SID = 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nID=debian\nVERSION_CODENAME=forky\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 43"\nID=fedora\nVERSION_ID=43\n'


class SetupCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def write(self, name, text):
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def set_up(self, folder, *arguments, os_release=BOOKWORM, path="/usr/bin:/bin", **environment):
        """Runs setup.sh of a copy of the scripts in `folder`; returns (status, stdout, stderr)."""
        shutil.copytree(_CLONE / "tools/setup", folder / "tools/setup")
        result = subprocess.run(
            [folder / "tools/setup/setup.sh", *arguments], capture_output=True, text=True, check=False,
            env={"PATH": path, "OS_RELEASE": str(self.write("os-release", os_release)), **environment})
        return result.returncode, result.stdout, result.stderr

    def shell(self, script, os_release=BOOKWORM, **environment):
        """Runs bash code with the parts of the set-up; returns (status, stdout, stderr)."""
        parts = "".join(f". tools/setup/{part}.sh\n"
                        for part in ("common", "apt", "catch2", "qemu", "kernel", "world"))
        result = subprocess.run(
            ["bash", "-c", "set -euo pipefail\n" + parts + "find_debian\n" + script],
            cwd=_CLONE, capture_output=True, text=True, check=False,
            env={"PATH": f"{self.scratch}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                 "OS_RELEASE": str(self.write("os-release", os_release)), **environment})
        return result.returncode, result.stdout.strip(), result.stderr.strip()


class OwnValues(SetupCase):
    def test_what_an_earlier_set_up_found_is_not_taken_for_the_user_s_wish(self):
        show = 'forget_own_values; echo "${QEMU:-none} ${KERNEL:-none}"'
        self.assertEqual(self.shell(show, QEMU=f"{_CLONE}/build/deps/qemu/qemu", KERNEL="/mine"),
                         (0, "none /mine", ""))


class Release(SetupCase):
    def test_debian_12_and_13_are_known(self):
        show = 'echo "$DEBIAN_RELEASE $DEBIAN_SUITE"'
        self.assertEqual(self.shell(show), (0, "12 bookworm", ""))
        self.assertEqual(self.shell(show, TRIXIE), (0, "13 trixie", ""))

    def test_another_system_is_refused_by_name(self):
        for text in ('PRETTY_NAME="Debian 11"\nID=debian\nVERSION_ID="11"\n',
                     'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nVERSION_ID="24.04"\n'):
            status, _, err = self.shell("true", text)
            self.assertEqual(status, 1)
            self.assertIn(text.split('"')[1], err)
            self.assertIn("OWN_PACKAGES=1", err)

    def test_a_debian_without_a_number_is_newer_than_all_that_have_one(self):
        status, out, err = self.shell('echo "$DEBIAN_SUITE"; wanted_packages "$DEBIAN_RELEASE"; ensure_catch2',
                                      SID)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.split()[0], "forky")
        self.assertIn("catch2", out.split())

    def test_catch2_is_a_package_of_13_and_a_private_copy_on_12(self):
        self.assertNotIn("catch2", self.shell("wanted_packages 12")[1].split())
        self.assertIn("catch2", self.shell("wanted_packages 13")[1].split())
        self.assertEqual(self.shell("ensure_catch2", TRIXIE)[0], 0)


class Newcomer(SetupCase):
    def test_a_suite_that_nobody_knows_is_refused_with_those_there_are(self):
        for suite in "", "woody":
            result = subprocess.run([_CLONE / "tools/newcomer.sh", suite], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn("take one of bookworm trixie sid", result.stderr)


class OwnPackages(SetupCase):
    """On a system that the set-up does not know nothing is installed, fetched, or asked of dpkg."""

    def test_what_has_no_guest_needs_only_the_user_s_word(self):
        clone = self.scratch / "clone"
        self.assertEqual(self.set_up(clone, "host", os_release=FEDORA, OWN_PACKAGES="1"), (0, "", ""))
        self.assertEqual(self.set_up(self.scratch / "other", "host", os_release=FEDORA)[0], 1)
        self.assertTrue((clone / "build/deps/env.sh").exists())

    def test_guests_need_a_qemu_and_a_kernel_from_the_user(self):
        names = iter("abc")

        def said(**environment):
            return self.set_up(self.scratch / next(names), os_release=FEDORA, OWN_PACKAGES="1",
                               path=f"{self.scratch}/bin:/usr/bin:/bin", **environment)

        self.write("bin/qemu-system-x86_64", Qemu.OLD)
        self.assertIn("QEMU=<program>", said()[2])
        qemu = str(self.write("mine", Qemu.NEW))
        self.assertIn("KDIR=<folder of its headers> KERNEL=<its image>", said(QEMU=qemu)[2])
        self.write("kdir/Makefile", "")
        self.write("kdir/include/generated/utsrelease.h", "")
        self.assertEqual(said(QEMU=qemu, KDIR=str(self.scratch / "kdir"), KERNEL=str(self.write("vmlinuz", ""))),
                         (0, "", ""))


class Clone(SetupCase):
    def test_a_character_that_the_build_cannot_take_is_named_before_anything_is_done(self):
        for character in " ':$":
            folder = self.scratch / f"a{character}b"
            status, out, err = self.set_up(folder)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(f"'{folder}'", err)
            self.assertIn(f"with '{character}' in its name", err)
            self.assertFalse((folder / "build").exists())

    def test_env_sh_works_from_any_folder_and_after_the_clone_has_moved(self):
        folder = self.scratch / "before"
        qemu = folder / "build/deps/qemu/qemu-system-x86_64"
        qemu.parent.mkdir(parents=True)
        self.set_up(folder, "host", OWN_PACKAGES="1")
        script = ("for part in common catch2 environment; do . tools/setup/$part.sh; done\n"
                  "FOUND_QEMU=$DEPS/qemu/qemu-system-x86_64; write_env")
        subprocess.run(["bash", "-euc", script], cwd=folder, check=True)
        for shell in "bash", "sh":
            self.assertEqual(self.qemu_of(shell, folder), str(qemu))
        folder.rename(self.scratch / "after")
        self.assertEqual(self.qemu_of("bash", self.scratch / "after"),
                         str(qemu).replace("before", "after"))

    @staticmethod
    def qemu_of(shell, clone):
        """What a shell that stands elsewhere has in QEMU when it has read env.sh."""
        return subprocess.run([shell, "-c", f'. "{clone}/build/deps/env.sh"; echo "$QEMU"'], cwd="/",
                              env={"PATH": "/usr/bin:/bin"}, text=True, capture_output=True,
                              check=True).stdout.strip()


class Mirror(SetupCase):
    """apt is asked, so each case needs only apt's own configuration."""

    def mirror(self, os_release=BOOKWORM):
        config = self.write("apt.conf", f'Dir::Etc::sourcelist "{self.scratch}/etc/sources.list";\n'
                                        f'Dir::Etc::sourceparts "{self.scratch}/etc/parts";\n'
                                        f'Dir::State "{self.scratch}/state";\n')
        for folder in ("etc/parts", "state/lists/partial"):
            (self.scratch / folder).mkdir(parents=True, exist_ok=True)
        return self.shell("debian_mirror", os_release, APT_CONFIG=str(config))[1]

    def test_one_line_sources_are_read(self):
        self.write("etc/sources.list",
                   "# deb http://off.example/debian bookworm main\n"
                   "deb [arch=amd64] http://one.example/debian bookworm main contrib\n")
        self.assertEqual(self.mirror(), "http://one.example/debian/")

    def test_deb822_sources_are_read_and_disabled_ones_are_not(self):
        self.write("etc/parts/a.sources",
                   "Types: deb\nURIs: http://off.example/debian\nSuites: trixie\n"
                   "Components: main\nEnabled: no\n")
        self.write("etc/parts/b.sources",
                   "Types: deb deb-src\nURIs: http://two.example/debian\n"
                   "Suites: trixie trixie-updates\nComponents: main\n")
        self.assertEqual(self.mirror(TRIXIE), "http://two.example/debian/")

    def test_the_archive_of_the_system_s_suite_wins_over_other_sources(self):
        self.write("etc/sources.list",
                   "deb http://security.example/debian-security bookworm-security main\n"
                   "deb http://vendor.example/tools stable main\n")
        self.write("etc/parts/debian.list", "deb http://right.example/debian bookworm main\n")
        self.assertEqual(self.mirror(), "http://right.example/debian/")

    def test_no_archive_at_all_is_said_plainly(self):
        status, _, err = self.shell(
            f"debian_mirror() {{ :; }}; private_sources {self.scratch}/list trixie")
        self.assertEqual(status, 1)
        self.assertIn("MIRROR=", err)


class Packages(SetupCase):
    def test_only_what_is_missing_is_named(self):
        packages = self.write("packages.txt", "# comment\n\ndpkg all x\nexrnic-nonesuch all x\n"
                                              "later-nonesuch 13+ x\n")
        self.assertEqual(self.shell("missing_packages 12", PACKAGES_FILE=str(packages))[1],
                         "exrnic-nonesuch")
        self.assertEqual(self.shell("missing_packages 13", PACKAGES_FILE=str(packages))[1],
                         "exrnic-nonesuch\nlater-nonesuch")

    def test_a_package_that_no_source_has_is_named(self):
        status, _, err = self.shell("name_unavailable dpkg exrnic-nonesuch")
        self.assertEqual(status, 1)
        self.assertIn("do not have: exrnic-nonesuch\n", err)


class Qemu(SetupCase):
    OLD = '#!/bin/sh\necho \'name "virtio-net-pci", bus PCI\'\n'
    NEW = '#!/bin/sh\necho \'name "vfio-user-pci", bus PCI\'\n'
    FIND = ("QEMU_DIR={0}/private; fetch_qemu() {{ echo fetched; }}\n"
            "ensure_qemu; echo \"${{FOUND_QEMU:-none}}\"")

    def find(self, **environment):
        return self.shell(self.FIND.format(self.scratch), **environment)

    def test_a_system_qemu_with_vfio_user_is_used(self):
        qemu = self.write("bin/qemu-system-x86_64", self.NEW)
        self.assertEqual(self.find(), (0, str(qemu), ""))

    def test_an_older_system_qemu_is_replaced_by_a_private_one(self):
        self.write("bin/qemu-system-x86_64", self.OLD)
        self.assertEqual(self.find(),
                         (0, f"fetched\n{self.scratch}/private/qemu-system-x86_64", ""))

    def test_the_user_s_qemu_is_checked_and_never_replaced(self):
        old, new = self.write("old", self.OLD), self.write("new", self.NEW)
        self.assertEqual(self.find(QEMU=str(new)), (0, "none", ""))
        self.assertIn("takes QEMU 10.1", self.find(QEMU=str(old))[2])
        self.assertIn("no such program", self.find(QEMU="/nowhere/qemu")[2])

    def test_the_wrapper_finds_its_qemu_after_the_folder_has_moved(self):
        self.write("before/root/usr/lib64/ld-linux-x86-64.so.2", '#!/bin/sh\necho "$@"\n')
        self.shell(f"qemu_wrapper > {self.write('before/qemu', '')}")
        (self.scratch / "before").rename(self.scratch / "after")
        result = subprocess.run([self.scratch / "after/qemu", "-x"], capture_output=True,
                                text=True, check=True)
        self.assertIn(f"{self.scratch}/after/root/usr/bin/qemu-system-x86_64", result.stdout)


class Kernel(SetupCase):
    def headers(self, release):
        self.write("kdir/Makefile", "")
        self.write("kdir/include/generated/utsrelease.h", f'#define UTS_RELEASE "{release}"\n')
        return str(self.scratch / "kdir")

    def ensure(self, **environment):
        return self.shell(
            f"installed_headers() {{ echo {self.headers('6.12.9+deb13-cloud-amd64')}; }}\n"
            f"KERNEL_DIR={self.scratch}/kernel\n"
            'dpkg-query() { [[ ${!#} == linux-headers-6.12.9+deb13-cloud-amd64 ]] && echo 6.12.9-1; }\n'
            'fetch_image() { echo "fetch $1 $2"; }\n'
            'ensure_kernel; echo "${FOUND_KERNEL:-none}"', TRIXIE, **environment)

    def test_the_image_has_exactly_the_version_of_the_headers(self):
        self.assertEqual(
            self.ensure(),
            (0, "fetch 6.12.9+deb13-cloud-amd64 6.12.9-1\n"
                f"{self.scratch}/kernel/6.12.9+deb13-cloud-amd64_6.12.9-1/vmlinuz", ""))

    def test_an_image_that_is_there_is_not_fetched_again(self):
        image = self.write("kernel/6.12.9+deb13-cloud-amd64_6.12.9-1/vmlinuz", "")
        self.assertEqual(self.ensure(), (0, str(image), ""))

    def test_an_image_is_taken_from_where_its_packages_have_it(self):
        for place in "boot/vmlinuz-6.12.9-cloud-amd64", "usr/lib/modules/7.2.13-cloud-amd64/vmlinuz":
            self.write(f"root/{place}", place)
            self.assertEqual(self.shell(f"take_image {self.scratch}/root {self.scratch}/taken"), (0, "", ""))
            self.assertEqual((self.scratch / "taken").read_text(), place)
            (self.scratch / "taken").unlink()
        status, _, err = self.shell(f"take_image {self.scratch}/root {self.scratch}/taken")
        self.assertEqual(status, 1)
        self.assertIn("hold no image", err)

    def test_an_image_that_was_unpacked_is_booted_so(self):
        self.write("kernel/6.12.9+deb13-cloud-amd64_6.12.9-1/vmlinuz", "")
        image = self.write("kernel/6.12.9+deb13-cloud-amd64_6.12.9-1/vmlinux", "")
        self.assertEqual(self.ensure(), (0, str(image), ""))

    def test_the_user_s_kernel_is_taken_and_a_missing_one_is_named(self):
        self.assertEqual(self.ensure(KERNEL=str(self.write("mine", ""))), (0, "none", ""))
        self.assertIn("KERNEL=/nowhere cannot be read", self.ensure(KERNEL="/nowhere")[2])

    def test_headers_of_no_package_need_an_image_from_the_user(self):
        script = "ensure_image 6.99-mine"
        status, _, err = self.shell(script)
        self.assertEqual(status, 1)
        self.assertIn("KERNEL=<file>", err)

    def test_a_folder_without_headers_is_named(self):
        status, _, err = self.ensure(KDIR=str(self.scratch))
        self.assertEqual(status, 1)
        self.assertIn(f"KDIR={self.scratch} is not a folder of kernel headers", err)


class World(SetupCase):
    """The guests' distribution."""

    KERNEL = f"{_CLONE}/build/deps/kernel/6.1.0-9-cloud-amd64_6.1.9-2/vmlinux"

    def test_packages_are_those_of_the_list_and_those_asked_for_each_once(self):
        _, packages, _ = self.shell("world_packages fio a-package another one")
        packages = packages.split("\n")
        self.assertEqual(packages, sorted(set(packages)))
        self.assertLessEqual({"fio", "perftest", "a-package", "another", "one"}, set(packages))
        self.assertFalse([name for name in packages if "#" in name or " " in name])

    def test_the_modules_are_those_of_the_guests_kernel(self):
        show = 'find_kernel; echo "$RELEASE $KERNEL_VERSION"'
        self.assertEqual(self.shell(show, KERNEL=self.KERNEL), (0, "6.1.0-9-cloud-amd64 6.1.9-2", ""))
        modules = self.scratch / "6.9-mine"
        status, _, err = self.shell(show, KERNEL="/mine")
        self.assertEqual(status, 1)
        self.assertIn("KERNEL=/mine, is not from the set-up: give MODULES=", err)
        self.assertIn("has no folder \"kernel\"", self.shell(show, KERNEL="/mine", MODULES=str(modules))[2])
        (modules / "kernel").mkdir(parents=True)
        self.assertEqual(self.shell(show, KERNEL="/mine", MODULES=str(modules)), (0, "6.9-mine", ""))

    def test_what_mounts_it_is_loaded_behind_what_it_needs_and_once(self):
        self.write("modules.dep", "kernel/fs/squashfs/squashfs.ko: kernel/lib/b.ko kernel/lib/a.ko\n"
                   "kernel/fs/overlayfs/overlay.ko: kernel/lib/a.ko\nkernel/fs/xoverlay.ko:\n")
        self.assertEqual(self.shell(f"modules_with_needs {self.scratch} squashfs overlay")[1].split(),
                         ["kernel/lib/a.ko", "kernel/lib/b.ko", "kernel/fs/squashfs/squashfs.ko",
                          "kernel/fs/overlayfs/overlay.ko"])
        self.write("modules.dep", "")  # the kernel has them built in
        self.assertEqual(self.shell(f"modules_with_needs {self.scratch} squashfs"), (0, "", ""))

    def test_it_is_made_anew_for_other_packages_kernels_and_suites_only(self):
        make = ('make_world() { key "$@" >"$WORLD/key"; echo made; }; '
                f"WORLD={self.scratch}; WORLD_SUITE=${{SUITE:-bookworm}}; ensure_world ")
        for arguments, environment, made in (("", {}, "made"), ("", {}, ""), ("more", {}, "made"), ("more", {}, ""),
                                             ("more", {"KERNEL": self.KERNEL.replace("_6.1.9-2", "_6.1.10-1")}, "made"),
                                             ("", {}, "made"), ("", {"SUITE": "trixie"}, "made")):
            self.assertEqual(self.shell(make + arguments, **{"KERNEL": self.KERNEL, **environment}), (0, made, ""))


if __name__ == "__main__":
    unittest.main()
