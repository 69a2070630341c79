# SPDX-License-Identifier: BSD-2-Clause
"""Experiments on simulated RNICs: see README.md beside this package, or help(exrnic.Experiment)."""

from exrnic.errors import ExrnicError
from exrnic.experiment import Experiment
from exrnic.results import Result, Rows
from exrnic.simulator import Simulator
from exrnic.sweeps import sweep

__all__ = ["Experiment", "ExrnicError", "Result", "Rows", "Simulator", "sweep"]
