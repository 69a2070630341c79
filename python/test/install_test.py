# SPDX-License-Identifier: BSD-2-Clause
"""What "make install" and "make wheel" give works without the clone."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

_CLONE = pathlib.Path(__file__).resolve().parents[2]
_SCRIPT = """
import exrnic, importlib.metadata
entry, = (each for each in importlib.metadata.entry_points(group="pytest11") if each.name == "exrnic")
result = exrnic.Experiment("exrnic-pingpong --node {node} --oob {oob} --sizes 8 --rounds 5", core="ref").run()
print(exrnic.__file__, entry.load().__name__, result.rows[0]["verified"])
"""


def run(command, directory, **environment):
    kept = {key: value for key, value in os.environ.items() if key not in ("EXRNIC_BUILD", "PYTHONPATH")}
    result = subprocess.run([str(word) for word in command], cwd=directory, text=True, env={**kept, **environment},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="exrnic-install-")
        cls.addClassCleanup(scratch.cleanup)
        cls.directory = pathlib.Path(scratch.name)
        run(["cmake", "--install", os.environ["EXRNIC_CMAKE"], "--prefix", cls.directory / "prefix"], cls.directory)
        run([_CLONE / "python/wheel.sh", cls.directory / "wheel"], cls.directory, PYTHON=sys.executable)

    def expect_an_experiment(self, packages, **environment):
        said = run([sys.executable, "-c", _SCRIPT], self.directory, PYTHONPATH=str(packages), **environment)
        self.assertEqual(said.split(), [f"{packages}/exrnic/__init__.py", "exrnic.pytest_plugin", "5"])

    def test_an_installed_package_uses_the_programs_of_its_prefix(self):
        packages, = self.directory.glob("prefix/lib/python3*/dist-packages")
        self.expect_an_experiment(packages)

    def test_the_launcher_is_a_command(self):
        said = run([self.directory / "prefix/bin/exrnic-launch", "--processes", "--sim-argument=--core",
                    "--sim-argument=ref", "run", "exrnic-pingpong --node {node} --oob {oob} --sizes 8 --rounds 5"],
                   self.directory)
        self.assertIn("OK: all processes ended with status 0", said)
        self.assertTrue((self.directory / "exrnic-run/run/sim.log").is_file())
        self.assertIn("usage: exrnic-launch ", run([self.directory / "prefix/bin/exrnic-launch", "--help"], self.directory))

    def test_a_wheel_uses_the_programs_in_path(self):
        wheel, = self.directory.glob("wheel/*.whl")
        packages = self.directory / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
        self.expect_an_experiment(packages, PATH=f"{self.directory}/prefix/bin:{os.environ['PATH']}")

    def test_without_a_simulator_it_says_what_to_do(self):
        packages, = self.directory.glob("prefix/lib/python3*/dist-packages")
        run(["cp", "-r", packages, self.directory / "copy"], self.directory)
        said = run([sys.executable, "-c", "import exrnic\ntry: exrnic.Simulator()\n"
                    "except exrnic.ExrnicError as error: print(error)"], self.directory,
                   PYTHONPATH=str(self.directory / "copy"), PATH="")
        self.assertIn("there is no exrnic-sim in PATH", said)


if __name__ == "__main__":
    unittest.main()
