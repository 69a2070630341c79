#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the proofs of this folder, each with the proofs that it can fail, and prints a table.

    tests/proofs/proofs.py [--short] [--out FOLDER] [--cbmc PROGRAM] [NAME...]

A model of rtl-model/proofs is searched by SPIN. With a rule taken out of it (-DWITHOUT_RULE) SPIN has to find an
error: so a proof that shows nothing is found out. --short: of each model the least proof, without those.

A harness of c/ calls a handler of firmware, or a function of the data path, with any input, in any state that
its invariant allows; CBMC shows that no access is out of bounds, no number overflows that may not, and each
loop ends.
NAME: only proofs whose names begin like one of these. Exit status: 0 if all is as it has to be.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ROOT / "rtl-model/proofs"
MEGABYTES = 3000
DEPTH = 2_000_000
SECONDS = 600


@dataclasses.dataclass
class Proof:
    """A model with its sizes. `without`: rules that are taken out, each by itself."""

    model: str
    what: str
    sizes: str = ""
    without: tuple = ()
    short: bool = False


PROOFS = [
    Proof("reliable", "2 nodes, 1 message each, a peer that is given up",
          "MESSAGES=1 LOSSES=2 DOUBLES=1 OVERTAKES=1", short=True),
    Proof("reliable", "likewise, a time-out while the answer is under way",
          "MESSAGES=1 LOSSES=2 DOUBLES=1 OVERTAKES=1 EARLY=1"),
    Proof("reliable", "2 nodes, 2 messages each", "MESSAGES=2 LOSSES=1 DOUBLES=1 OVERTAKES=0",
          without=("ACK_STOPS", "PUTTING_OFF")),
    Proof("reliable", "a node is reset", "MESSAGES=1 LOSSES=1 DOUBLES=1 OVERTAKES=0 RESETS=1"),
    Proof("reliable", "peers are given up at once", "MESSAGES=1 LIMIT=0 LOSSES=0 DOUBLES=1 OVERTAKES=1 EARLY=1",
          without=("LATE_SESSIONS_ARE_DROPPED", "LATE_REFUSALS_ARE_IGNORED", "GIVEN_UP_IS_NOT_FORGOTTEN")),
    Proof("slots", "2 nodes", "NODES=2 WORK=3 SLOTS=4", short=True,
          without=("REFUSALS_WITHOUT_SLOTS", "REQUESTS_ARE_TAKEN")),
    Proof("slots", "3 nodes, one of them silent", "NODES=3 WORK=1 SLOTS=4 SILENT=1", without=("QUOTA",)),
    Proof("slots", "3 nodes", "NODES=3 WORK=1 SLOTS=3"),
    Proof("credits", "a receive is one slot", "WORK=3 SLOTS_OF_A_RECEIVE=1", short=True,
          without=("DISCARDING", "PROBES")),
    Proof("credits", "a receive is two slots: the limit is too high", "WORK=4 SLOTS_OF_A_RECEIVE=2"),
    Proof("lives", "queue pairs are reset once", "RESETS=1", short=True),
    Proof("lives", "twice, and their peers given up", "RESETS=2 GIVEN_UP=1", without=("BOTH_KNOW", "DST_GENERATION")),
    Proof("lives", "a node is reset", "RESETS=1 NODE_RESETS=1", without=("GENERATIONS_THAT_GO_ON",)),
    Proof("fence", "3 clients", "CLIENTS=3 ROUNDS=2", short=True,
          without=("WAITING_FOR_HOLDERS", "WAITING_FOR_READS", "ITS_OWN_FENCE", "LETTING_GO")),
    Proof("quiesce", "a command that takes memory away", "BELLS=2 STORES=2 TIMEOUTS=1", short=True,
          without=("STORES_WHILE_IT_COMES_TO_REST", "ROOM_CYCLES", "WAITING_FOR_READS",
                   "ORDER_OF_COMPLETIONS", "CUTTING_OFF")),
]


@dataclasses.dataclass(frozen=True)
class Code:
    """What harnesses are about: its sources (headers are included), and how they are preprocessed and read."""

    sources: tuple
    preprocessor: tuple
    machine: tuple = ()  # the one that it is for, if it is not this one


# As firmware is compiled, but that its registers are functions (hal/devices.h).
FIRMWARE = Code(
    tuple(f"firmware/{name}.c" for name in ("app/channel", "app/read", "app/receives", "app/reduce", "app/sends", "hal/port")),
    ("mipsel-linux-gnu-gcc", "-E", "-std=gnu11", "-ffreestanding", "-U__mips__", "-DFW_VERSION=0",
     "-Ifirmware", "-Irtl-model/gen"), ("--i386-linux",))
DATA_PATH = Code((), ("gcc", "-E", "-std=gnu11", "-Ilibverbs-lite/data_path", "-Irtl-model/gen"))


@dataclasses.dataclass
class Harness:
    """A function prove_FUNCTION of a file of c/; `without` as there. unwind: above the most steps of any of its loops."""

    file: str
    function: str
    what: str
    without: tuple
    code: Code = FIRMWARE
    unwind: int = 40

    @property
    def model(self):
        return f"c/{self.file}"


HARNESSES = [
    Harness("requests", "read", "an RDMA Read Request of any words", ("ROOM",)),
    Harness("receives", "done", "a DONE of any words and node, in any state", ("GOOD_STATE",)),
    Harness("receives", "close", "the end of a channel, in any state", ("GOOD_STATE",)),
    Harness("data_path", "complete", "a completion of any slot", ("LOOKING",), DATA_PATH),
    Harness("data_path", "put", "work of any size, in any state of its queue", ("ROOM",), DATA_PATH, 7),
    Harness("data_path", "drop", "a queue pair that goes, with CQEs of any words", ("DROPPING",), DATA_PATH, 7),
    Harness("data_path", "change_ring", "a ring that is changed, with CQEs of any words", ("CLEARING",), DATA_PATH, 10),
    Harness("data_path", "inline", "inline data of any elements", ("LIMIT",), DATA_PATH, 7),
    Harness("data_path", "shape", "queues of any shape", ("GRANT",), DATA_PATH),
    Harness("data_path", "capacity", "completion queues of any capacity", ("REPORTS",), DATA_PATH),
    Harness("data_path", "management", "a management frame of any bytes", ("HEADER",), DATA_PATH),
]
CHECKS = ("--bounds-check", "--pointer-check", "--pointer-overflow-check", "--signed-overflow-check",
          "--undefined-shift-check", "--div-by-zero-check", "--unwinding-assertions")


class Failed(Exception):
    """A run that has no result."""


def run(arguments, folder, seconds=SECONDS):
    """What it prints."""
    try:
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=seconds)
    except FileNotFoundError:
        raise Failed(f"there is no program {arguments[0]}: make proofs installs it") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{arguments[0]} takes more than {seconds} s") from None
    return done.stdout + done.stderr


def search(proof, without, out):
    """(error or "", states, seconds): one search of a model."""
    folder = out / f"{proof.model}-{'-'.join(proof.sizes.split() + [without])}".replace("=", "").rstrip("-")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.trail"):
        old.unlink()
    sizes = [f"-D{size}" for size in proof.sizes.split()] + ([f"-DWITHOUT_{without}"] if without else [])
    model = MODELS / f"{proof.model}.pml"
    begin = time.monotonic()
    said = run(["spin", "-a", *sizes, str(model)], folder)
    if not (folder / "pan.c").exists() or "rror" in said:
        raise Failed(f"spin: {said}")
    # The short ones take longer to compile than to run.
    said = run(["gcc", "-O0" if proof.short else "-O1", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEGABYTES}",
                "-o", "pan", "pan.c"], folder)
    if not (folder / "pan").exists():
        raise Failed(f"gcc: {said}")
    said = run(["./pan", f"-m{DEPTH}"], folder)
    (folder / "result.txt").write_text(said)
    found = re.search(r"pan:1: (.*) \(at depth", said)
    counted = re.search(r"^ *([0-9]+) states, stored", said, re.M)
    if not counted:
        raise Failed(f"pan: {said}")
    if not found and ("not completed" in said or "max search depth" in said or "errors: 0" not in said):
        raise Failed(f"the search of {folder} did not end: see its result.txt")
    return found[1] if found else "", int(counted[1]), time.monotonic() - begin


def check(harness, without, out, cbmc):
    """(error or "", properties, seconds): one run of CBMC."""
    folder = out / f"{harness.file}-{harness.function}-{without}".rstrip("-")
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    sources = []
    for source in (HERE / "c" / f"{harness.file}.c", *(ROOT / name for name in harness.code.sources)):
        of = "harness" if source.parent.name == "c" else source.parent.name
        sources.append(folder / f"{of}-{source.stem}.i")
        said = run([*harness.code.preprocessor, *([f"-DWITHOUT_{without}"] if without else []), str(source), "-o",
                    str(sources[-1])], ROOT)
        if said:
            raise Failed(said)
    said = run([cbmc, *harness.code.machine, *CHECKS, "--unwind", str(harness.unwind), "--drop-unused-functions", "--slice-formula",
                "--function", f"prove_{harness.function}", *map(str, sources)], folder)
    (folder / "result.txt").write_text(said)
    counted = re.search(r"^\*\* [0-9]+ of ([0-9]+) failed", said, re.M)
    if not counted:
        raise Failed(f"{cbmc} did not end: see result.txt in {folder}")
    found = re.search(r"^\[.*\] line (.*): FAILURE", said, re.M)
    return found[1] if found else "", int(counted[1]), time.monotonic() - begin


def rows_of_c(harness, out, cbmc):
    """As rows()."""
    for without in ("", *harness.without):
        error, properties, seconds = check(harness, without, out, cbmc)
        what = f"without {without.lower().replace('_', ' ')}" if without else harness.what
        yield bool(error) == bool(without), (
            harness.model, what, f"{properties:,}", f"{seconds:.1f}",
            "no error" if not error else "error found" if without else f"line {error}")


def rows(proof, short, out):
    """(good, columns) of the proof, and of each rule that is taken out of it."""
    for without in ("", *(() if short else proof.without)):
        error, states, seconds = search(proof, without, out)
        what = f"without {without.lower().replace('_', ' ')}" if without else f"{proof.what} ({proof.sizes})"
        result = "no error" if not error else "error found" if without else error
        yield bool(error) == bool(without), (
            proof.model, what, f"{states:,}", f"{seconds:.1f}", result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/proofs"))
    parser.add_argument("--cbmc", default="cbmc")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    chosen = [proof for proof in PROOFS if proof.short or not arguments.short]
    chosen += [] if arguments.short else HARNESSES
    if arguments.names:
        chosen = [proof for proof in chosen if proof.model.startswith(tuple(arguments.names))]
    if not chosen:
        parser.error(f"no proof is named {' '.join(arguments.names)}; there are "
                     + ", ".join(dict.fromkeys(proof.model for proof in [*PROOFS, *HARNESSES])))
    out = arguments.out.resolve()
    cbmc = os.path.abspath(shutil.which(arguments.cbmc) or arguments.cbmc)
    print("| proof | of what | states, or properties of C | s | result |\n|---|---|---|---|---|")
    bad = 0
    for proof in chosen:
        try:
            for good, columns in (rows(proof, arguments.short, out) if isinstance(proof, Proof)
                                  else rows_of_c(proof, out, cbmc)):
                bad += not good
                print(f"| {' | '.join(columns)}{'' if good else ', which it must not be'} |", flush=True)
        except Failed as failure:
            bad += 1
            print(f"| {proof.model} | {proof.what} | | | {failure} |", flush=True)
    print(f"proofs: {'FAIL: ' + str(bad) + ' of them' if bad else 'PASS'}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
