#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A terminal at the console of a guest of "sim/launch shell":

    python3 sim/launch/attach.py build/run/shell/console0.sock

Ctrl-] leaves it; the guest runs on. It ends with the guest.
"""

import contextlib
import os
import pathlib
import select
import socket
import sys
import termios
import tty

_LEAVE = b"\x1d"  # Ctrl-]
_BYTES = 4096


def attach(path, keyboard, screen):
    """Until one end closes, or Ctrl-] is typed at a terminal."""
    with socket.socket(socket.AF_UNIX) as console:
        # The path of a socket is limited to 107 bytes.
        os.chdir(path.parent)
        console.connect(path.name)
        console.sendall(b"\n")  # for a prompt
        ends = [console, keyboard]
        while True:
            for ready in select.select(ends, [], [])[0]:
                if ready is console:
                    said = console.recv(_BYTES)
                    if not said:
                        return
                    os.write(screen, said)
                    continue
                typed = os.read(keyboard, _BYTES)
                if not typed:
                    ends.remove(keyboard)  # what was typed is still answered
                elif _LEAVE in typed and os.isatty(keyboard):
                    return
                else:
                    console.sendall(typed)


@contextlib.contextmanager
def raw(terminal):
    if not os.isatty(terminal):
        yield
        return
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with raw(sys.stdin.fileno()):
            attach(pathlib.Path(sys.argv[1]), sys.stdin.fileno(), sys.stdout.fileno())
    except OSError as error:
        print(f"{sys.argv[1]}: {error.strerror}: is that guest there?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
