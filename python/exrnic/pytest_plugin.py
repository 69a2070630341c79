# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures for the tests of a driver or of a program. pytest finds them when the package is installed; otherwise:
pytest -p exrnic.pytest_plugin"""

import pytest

from exrnic.experiment import Experiment
from exrnic.simulator import Simulator


@pytest.fixture
def exrnic_sim():
    """A function: exrnic_sim(nodes=2, core="ref", ...) starts a Simulator, which ends with the test."""
    running = []

    def start(*arguments, **options):
        running.append(Simulator(*arguments, **options).__enter__())
        return running[-1]

    yield start
    for simulator in reversed(running):
        simulator.__exit__(None, None, None)


@pytest.fixture
def exrnic_guests(tmp_path):
    """A function: exrnic_guests("insmod mine.ko && test", put=["mine.ko"]) runs the command in guests, and returns the
    Result; one that ends with another status than 0 fails the test. `driver`: whether the guests have loaded this
    project's driver before. More options are an Experiment's."""
    runs = []

    def run(command, put=(), nodes=2, core="ref", driver=True, launcher=(), **options):
        more = [word for each in put for word in ("--put", str(each))]
        if not driver:
            more += ["--kernel-arguments", "exrnic.load=0"]
        runs.append(command)
        return Experiment(command, nodes=nodes, core=core, guests=True, launcher=(*more, *launcher),
                          **options).run(tmp_path / f"exrnic{len(runs)}")

    return run
