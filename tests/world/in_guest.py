#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs.py in a guest, in step with the other one, and writes what came of each.

    in_guest.py NODE RESULTS LINE CORE [NAME...]
        LINE: the serial line between the two guests; CORE: as programs.FACTORS has it; NAMEs: only these

RESULTS is a JSON list of {"name", "status", "output", "seconds"}; a status of null: it took too long.
"""

import json
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty

import programs


class Line:
    """A serial line, which is open all the time: what the other sends early waits here."""

    def __init__(self, path, node):
        self._file = os.open(path, os.O_RDWR | os.O_NOCTTY)
        self._node = node
        self._turn = 0
        self._heard = b""
        self._greet()

    def meet(self):
        """Returns when the other is here, too. Programs may have left bytes of theirs on the line."""
        self._turn += 1
        os.write(self._file, self._word(self._node))
        while not self._hears(self._word(1 - self._node), 1):
            pass

    def _greet(self):
        # Where a line is not open yet, bytes are lost: one asks until it is answered.
        if self._node == 1:
            while not self._hears(b"@hello;", 1):
                pass
            os.write(self._file, b"@here;")
            return
        while not self._hears(b"@here;", 0.2):
            os.write(self._file, b"@hello;")

    def _word(self, node):
        return f"@{node}.{self._turn};".encode()

    def _hears(self, word, seconds):
        tty.setraw(self._file, termios.TCSANOW)  # a program may have made it something else
        if select.select([self._file], [], [], seconds)[0]:
            self._heard += os.read(self._file, 4096)
        _, found, behind = self._heard.partition(word)
        if found:
            self._heard = behind
        return bool(found)


def run(program, node, factor):
    command = program.command(node).replace("{node}", str(node)).replace("{peer}", f"node{1 - node}")
    start = time.monotonic()
    child = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = child.communicate(timeout=program.seconds * factor)
        status = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        status = None
    return {"name": program.name, "status": status, "output": output.decode(errors="replace"),
            "seconds": round(time.monotonic() - start, 1)}


def main():
    node, results, line = int(sys.argv[1]), sys.argv[2], Line(sys.argv[3], int(sys.argv[1]))
    core = sys.argv[4]
    done = []
    for program in programs.chosen(sys.argv[5:] or programs.of_core(core)):
        line.meet()
        time.sleep(program.settle * node)
        if program.command(node) is None:
            continue
        done.append(run(program, node, programs.FACTORS[core]))
        print(f"{program.name}: status {done[-1]['status']}, {done[-1]['seconds']} s", flush=True)
        with open(results, "w", encoding="utf-8") as file:
            json.dump(done, file)
    line.meet()  # the other may need this guest until it has ended, too


if __name__ == "__main__":
    main()
