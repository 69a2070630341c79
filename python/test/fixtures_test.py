# SPDX-License-Identifier: BSD-2-Clause
"""The fixtures, by pytest (-p exrnic.pytest_plugin where the package is not installed)."""

import pathlib

import exrnic
import pytest

_MODULES = pathlib.Path(__file__).resolve().parents[2] / "build/kmod/kmod"


def test_a_program_survives_a_bad_line(exrnic_sim):
    simulator = exrnic_sim(nodes=2, arguments=["--faults", "drop=0.05"])
    programs = [simulator.run(node, f"exrnic-pingpong --node {node} --oob unix:oob.sock --sizes 64 --rounds 30")
                for node in (0, 1)]
    assert [program.wait() for program in programs] == [0, 0]
    assert sum(row["retransmits"] for row in simulator.counters()) > 0


def test_two_simulators_may_run_in_one_test(exrnic_sim):
    first, second = exrnic_sim(nodes=1), exrnic_sim(nodes=3)
    assert len(first.sockets) == 1 and len(second.devices) == 3
    assert first.directory != second.directory


def test_a_driver_from_outside_binds_in_guests(exrnic_guests):
    modules = [_MODULES / "exrnic.ko", _MODULES / "exrnic_cdev.ko"]
    result = exrnic_guests(
        "insmod /mine/exrnic.ko && insmod /mine/exrnic_cdev.ko && exrnic-push --node {node} --oob {oob} --sizes 4096 --ops 4",
        put=[f"{module}:/mine/" for module in modules], driver=False)
    assert [row["verified"] for row in result.rows.where(size=4096)] == [4, 4]
    assert result.counter("node0", "wqes") > 0

    with pytest.raises(exrnic.ExrnicError, match="status 1"):
        exrnic_guests("test ! -e /dev/exrnic0", nodes=1)
