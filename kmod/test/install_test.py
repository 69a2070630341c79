#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What "make -C kmod install" puts where, and whether it can be used: the headers by a C program, the
rule by udev."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

_KMOD = pathlib.Path(__file__).resolve().parents[1]
_CLONE = _KMOD.parent
_RULES = _KMOD / "60-exrnic.rules"

_PROGRAM = """
#include <exrnic/exrnic.h>
#include <exrnic/exrnic_hw.h>
int main(void) { return EXRNIC_IOCTL_QUERY == EXRNIC_DOORBELL_CQ_ARM; }
"""

# What a rule of ours may match and set, of udev(7).
_MATCHES = r"(?:KERNEL|SUBSYSTEM|SUBSYSTEMS|ATTR\{[a-z_]+\})(?:==|!=)"
_ASSIGNMENTS = r"(?:MODE=|SYMLINK\+=|GOTO=|LABEL=)"
_ITEM = re.compile(rf'(?:{_MATCHES}|{_ASSIGNMENTS})"[^"]*"')


def rules(text):
    """The rules of a file, each a list of its items; comments and empty lines are none."""
    lines = (line.strip() for line in text.splitlines())
    return [line.split(", ") for line in lines if line and not line.startswith("#")]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if "KDIR" not in os.environ:
            raise AssertionError("KDIR is needed: the headers of a kernel (build/deps/env.sh sets it)")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.root = pathlib.Path(scratch.name)
        installed = cls.make(f"DESTDIR={cls.root}", "PREFIX=/usr")
        if installed.returncode:
            raise AssertionError(installed.stdout + installed.stderr)

    @staticmethod
    def make(*arguments, target="install"):
        return subprocess.run(["make", "-s", "-C", str(_KMOD), target, *arguments],
                              capture_output=True, text=True, check=False)

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}

    def test_nothing_else_is_installed(self):
        modules = {name for name in self.files() if name.startswith("lib/modules/")}
        self.assertEqual(self.files() - modules, {
            "lib/firmware/exrnic/firmware.bin", "lib/udev/rules.d/60-exrnic.rules",
            "usr/include/exrnic/exrnic.h", "usr/include/exrnic/exrnic_hw.h"})
        # The kernel says where, and whether it is packed.
        self.assertEqual({re.sub(r"^lib/modules/[^/]+/[a-z]+/(\w+)\.ko(\.[a-z]+)?$", r"\1", name)
                          for name in modules}, {"exrnic", "exrnic_cdev", "exrnic_eth", "exrnic_ib"})

    def test_firmware_and_rule_are_whole_and_everybody_may_read_them(self):
        for name, source in (
                ("lib/firmware/exrnic/firmware.bin", _CLONE / "build/host/firmware/firmware.bin"),
                ("lib/udev/rules.d/60-exrnic.rules", _RULES)):
            self.assertEqual((self.root / name).read_bytes(), source.read_bytes())
            self.assertEqual((self.root / name).stat().st_mode & 0o777, 0o644)

    def test_a_program_compiles_with_the_headers(self):
        compiler = subprocess.run(
            ["cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c",
             "-I", str(self.root / "usr/include"), "-"],
            input=_PROGRAM, capture_output=True, text=True, check=False)
        self.assertEqual((compiler.returncode, compiler.stderr), (0, ""))

    def test_without_an_image_it_says_what_to_do_and_installs_nothing(self):
        with tempfile.TemporaryDirectory() as other:
            result = self.make(f"DESTDIR={other}", "FIRMWARE=/nowhere.bin")
            self.assertEqual(os.listdir(other), [])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('no firmware image at /nowhere.bin: "make host" builds it', result.stderr)

    def test_without_an_image_dkms_gets_nothing_either(self):
        with tempfile.TemporaryDirectory() as other:
            result = self.make(f"DESTDIR={other}", "FIRMWARE=/nowhere.bin", target="dkms_install")
            self.assertEqual(os.listdir(other), [])
        self.assertIn('no firmware image at /nowhere.bin', result.stderr)

    def test_firmware_can_be_left_out(self):
        with tempfile.TemporaryDirectory() as other:
            self.make(f"DESTDIR={other}", "FIRMWARE=").check_returncode()
            self.assertEqual(sorted(os.listdir(f"{other}/lib")), ["modules", "udev"])


class Sources(unittest.TestCase):
    """What DKMS gets: "make kmod-matrix" lets it build them."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        Installed.make(f"DESTDIR={scratch.name}", target="dkms_install").check_returncode()
        cls.root = pathlib.Path(scratch.name)
        (cls.sources,) = (cls.root / "usr/src").iterdir()

    def test_all_that_the_modules_were_built_of_is_there_and_no_link(self):
        built = _CLONE / "build/kmod"
        used = {path.relative_to(built) for path in built.rglob("*") if path.is_symlink() and path.exists()}
        used = {path for path in used if path.suffix in (".c", ".h") or path.name == "Kbuild"}
        there = {path.relative_to(self.sources) for path in self.sources.rglob("*") if path.is_file()}
        self.assertEqual({path for path in used if path.parts[:2] != ("kmod", "test")} - there, set())
        self.assertIn(pathlib.Path("kmod/ib/main.c"), there)
        self.assertFalse([path for path in self.sources.rglob("*") if path.is_symlink()])

    def test_dkms_is_told_of_every_module_and_of_the_version(self):
        modules = [name.removesuffix(".o") for name in
                   re.search(r"^obj-m := (.*)$", (_KMOD / "Kbuild").read_text(), re.MULTILINE)[1].split()]
        for config, more in (("# CONFIG_NTB is not set", []), ("CONFIG_NTB=m", ["exrnic_ntb"])):
            with tempfile.TemporaryDirectory() as kernel:
                pathlib.Path(kernel, ".config").write_text(f"{config}\nCONFIG_NTB_NETDEV=m\n")
                self.assertEqual(self.told(kernel), [
                    self.sources.name, " ".join(modules + more), f"{len(modules + more)} {len(modules + more)}"])

    def told(self, kernel):
        return subprocess.run(
            ["bash", "-c", f'kernel_source_dir={kernel} kernelver=none; . {self.sources}/dkms.conf; '
             'echo "$PACKAGE_NAME-$PACKAGE_VERSION"; echo "${BUILT_MODULE_NAME[@]}"; '
             'echo "${#BUILT_MODULE_LOCATION[@]} ${#DEST_MODULE_LOCATION[@]}"'],
            capture_output=True, text=True, check=True).stdout.splitlines()

    def test_firmware_rule_and_headers_are_installed_beside_them(self):
        self.assertEqual(
            {str(path.relative_to(self.root)) for path in self.root.rglob("*")
             if path.is_file() and self.sources not in path.parents},
            {"lib/firmware/exrnic/firmware.bin", "lib/udev/rules.d/60-exrnic.rules",
             "usr/local/include/exrnic/exrnic.h", "usr/local/include/exrnic/exrnic_hw.h"})


class Rule(unittest.TestCase):
    def test_udev_understands_it(self):
        if not shutil.which("udevadm"):
            self.skipTest("there is no udevadm")
        if subprocess.run(["udevadm", "verify", "--help"], capture_output=True,
                          check=False).returncode:
            self.skipTest("udevadm knows no \"verify\": it came with systemd 254")
        result = subprocess.run(["udevadm", "verify", "--resolve-names=never", str(_RULES)],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_it_has_keys_operators_and_values_only(self):
        for rule in rules(_RULES.read_text()):
            for item in rule:
                self.assertRegex(item, rf"^{_ITEM.pattern}$")

    def test_what_it_goes_to_is_there(self):
        items = [item for rule in rules(_RULES.read_text()) for item in rule]
        labels = {item[len("LABEL="):] for item in items if item.startswith("LABEL=")}
        self.assertEqual({item[len("GOTO="):] for item in items if item.startswith("GOTO=")}, labels)

    def test_it_reads_attributes_that_the_driver_has(self):
        text = _RULES.read_text()
        names = set(re.findall(r"(?:ATTR|\$attr)\{([a-z_]+)\}", text))
        self.assertTrue(names)
        for name in names:
            self.assertRegex((_KMOD / "core/sysfs.c").read_text(), rf"\b{name}\b")


if __name__ == "__main__":
    unittest.main()
