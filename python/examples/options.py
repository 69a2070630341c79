# SPDX-License-Identifier: BSD-2-Clause
"""What the examples have in common: where their rows go."""

import argparse


def of(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--core", default="rtl", help="rtl, or ref: the reference model, in less time")
    parser.add_argument("--few", action="store_true", help="fewer values: a few seconds")
    parser.add_argument("--csv", metavar="FILE", help="write the rows there, too")
    parser.add_argument("--plot", metavar="FILE", help="draw them, if matplotlib is installed")
    parser.add_argument("--cache", metavar="FOLDER", default=True, help="for results (default: ~/.cache/exrnic/results)")
    return parser.parse_args()


def show(rows, chosen, x, y, by):
    print(rows.table())
    if chosen.csv:
        rows.csv(chosen.csv)
    if chosen.plot:
        rows.plot(chosen.plot, x, y, by)
