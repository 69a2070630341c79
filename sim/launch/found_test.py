# SPDX-License-Identifier: BSD-2-Clause
"""Where a launcher looks: in its clone, or in the prefix that it is installed in."""

import pathlib
import tempfile
import unittest

import found


class Places(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name).resolve()

    def make(self, *files):
        for file in files:
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            (self.root / file).touch()

    def test_a_clone_has_all_in_its_build_even_inside_of_a_prefix(self):
        self.make("bin/exrnic-sim", "src/exrnic/Makefile")
        places = found.places(self.root / "src/exrnic/sim/launch")
        self.assertEqual(places.sim, self.root / "src/exrnic/build/host/sim/exrnic-sim")
        self.assertEqual(places.runs, self.root / "src/exrnic/build/run")
        self.assertIsNone(places.kernel)

    def test_an_installed_launcher_uses_its_prefix_and_runs_where_it_is_called(self):
        self.make("bin/exrnic-sim")
        here = self.root / "lib/python3.11/dist-packages/exrnic/launch"
        places = found.places(here)
        self.assertEqual((places.sim, places.programs), (self.root / "bin/exrnic-sim", (self.root / "bin",)))
        self.assertEqual(places.runs, pathlib.Path.cwd() / "exrnic-run")
        self.assertIsNone(places.kernel)
        self.make("share/exrnic/guest/kernel")
        self.assertEqual(found.places(here).kernel, self.root / "share/exrnic/guest/kernel")


if __name__ == "__main__":
    unittest.main()
