#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs.py in a guest, in step with the other one, and writes what came of each.

    in_guest.py NODE RESULTS LINE FACTOR [NAME...]
        LINE: the serial line between the two guests; FACTOR: how much longer than its row says each may take, which it
        finds in its environment for limits of its own; NAMEs: only these

RESULTS is a JSON list of {"name", "status", "output", "seconds", "goes"}; a status of null: it took too long.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import termios
import time
import tty

import programs

_LOOK_SECONDS = 0.2
# A server of which one cannot see that it listens does so by then.
_LISTEN_SECONDS = 20
_GOES = 3


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
        self.say(self._node)
        self.wait_for(1 - self._node)

    def say(self, what):
        """Heard by the other in this turn only."""
        os.write(self._file, self._word(what))

    def wait_for(self, *whats):
        """Which of them the other says."""
        while True:
            for what in whats:
                if self._hears(self._word(what), 1 / len(whats)):
                    return what

    def has(self, what):
        """Whether the other has said it, which can be waited for still."""
        return self._has(self._word(what), 0)

    def _greet(self):
        # Where a line is not open yet, bytes are lost: one asks until it is answered.
        if self._node == 1:
            while not self._hears(b"@hello;", 1):
                pass
            os.write(self._file, b"@here;")
            return
        while not self._hears(b"@here;", 0.2):
            os.write(self._file, b"@hello;")

    def _word(self, what):
        return f"@{what}.{self._turn};".encode()

    def _has(self, word, seconds):
        tty.setraw(self._file, termios.TCSANOW)  # a program may have made it something else
        if word not in self._heard and select.select([self._file], [], [], seconds)[0]:
            self._heard += os.read(self._file, 4096)
        return word in self._heard

    def _hears(self, word, seconds):
        found = self._has(word, seconds)
        if found:
            self._heard = self._heard.partition(word)[2]
        return found


def listens(session):
    """Whether a process of it waits for who comes by TCP or by rdma_cm."""
    said = [line for command in ("ss -Hltnp", "rdma resource show cm_id")
            for line in subprocess.run(command.split(), capture_output=True, text=True, check=False).stdout.splitlines()
            if "LISTEN" in line]
    return any(_session(int(pid)) == session for pid in re.findall(r"\bpid[= ](\d+)", "\n".join(said)))


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


class Server:
    """Tells the other guest when it listens, once; and hears that it is in vain."""

    def __init__(self, line, session, seconds):
        self._line = line
        self._session = session
        self._end = time.monotonic() + seconds
        self._told = False

    def look(self):
        """True: the client has to begin anew."""
        if not self._told and (listens(self._session) or time.monotonic() >= self._end):
            self.tell()
        return self._line.has("again")

    def tell(self):
        if not self._told:
            self._line.say("listens")
        self._told = True


def _watch(child, seconds, look):
    """Its output, and its status: None, if it takes longer, or `look` is true meanwhile."""
    end = time.monotonic() + seconds
    while True:
        try:
            return child.communicate(timeout=_LOOK_SECONDS)[0], child.returncode
        except subprocess.TimeoutExpired:
            if look() or time.monotonic() >= end:
                os.killpg(child.pid, signal.SIGKILL)
                return child.communicate()[0], None


def _run(program, node, line, factor):
    command = program.command(node).replace("{node}", str(node)).replace("{peer}", f"node{1 - node}")
    start = time.monotonic()
    child = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "FACTOR": str(factor)})
    if node == 0 and program.listens:
        server = Server(line, child.pid, _LISTEN_SECONDS * factor)
        output, status = _watch(child, program.seconds * factor, server.look)
        server.tell()
    else:
        output, status = _watch(child, program.seconds * factor, lambda: False)
    return {"name": program.name, "status": status, "output": output.decode(errors="replace"),
            "seconds": round(time.monotonic() - start, 1)}


def _begins_anew(program, node, line, result, may):
    """As node 1 sees it; node 0 is told."""
    if not program.again:
        return False
    if node == 0:
        return line.wait_for("again", "done") == "again"
    anew = bool(may and re.search(program.again, result["output"]))
    line.say("again" if anew else "done")
    return anew


def run(program, node, line, factor):
    """What comes of it; None: there is nothing to do for this node."""
    for go in range(1, _GOES + 1):
        line.meet()
        if program.command(node) is None:
            return None
        if node == 1 and program.listens:
            line.wait_for("listens")
        time.sleep(program.settle * node)
        result = _run(program, node, line, factor)
        if not _begins_anew(program, node, line, result, go < _GOES):
            break
    return {**result, "goes": go}


def main():
    node, results, line = int(sys.argv[1]), sys.argv[2], Line(sys.argv[3], int(sys.argv[1]))
    factor = int(sys.argv[4])
    done = []
    for program in programs.chosen(sys.argv[5:]):
        result = run(program, node, line, factor)
        if result is None:
            continue
        done.append(result)
        print(f"{program.name}: status {result['status']}, {result['seconds']} s", flush=True)
        with open(results, "w", encoding="utf-8") as file:
            json.dump(done, file)
    line.meet()  # the other may need this guest until it has ended, too


if __name__ == "__main__":
    main()
