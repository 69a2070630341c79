# SPDX-License-Identifier: BSD-2-Clause
"""Guests with a shell to type at: what they run, and how the user gets to their consoles and their kernels.

With a terminal and tmux there is a pane for each guest; else the lines to attach to them are told.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import cosim

_ATTACH = pathlib.Path(__file__).resolve().parent / "attach.py"
_SECTIONS = (".text", ".data", ".rodata", ".bss")

# The addresses of the modules are for the debugger, who has their symbols. busybox' and util-linux' setsid alike
# make the serial line the terminal of the shell. However the shell ends, nothing has failed.
_COMMAND = (
    "for m in /sys/module/exrnic*; do for s in {sections}; do [ ! -r $m/sections/$s ] || "
    "echo @exrnic-section ${{m##*/}} $s $(cat $m/sections/$s); done; done; "
    "cd; echo @exrnic-shell; export PS1='\\h \\w # '; setsid -c {shell} -i </dev/ttyS0 >/dev/ttyS0 2>&1; true")


def command(world):
    """`world`: the guests have a distribution."""
    return _COMMAND.format(sections=" ".join(_SECTIONS), shell="bash --norc" if world else "sh")


class FrontEnd:
    """What a user sees from when the guests are up."""

    def __init__(self, directory, modules, gdb, write):
        self._directory = directory.resolve()
        self._modules = modules
        self._gdb = gdb
        self._write = write
        self._tmux = None  # the name of its server
        self._client = None

    def open(self, consoles):
        if self._gdb:
            for node, console in enumerate(consoles):
                self._write_gdb(node, console)
        lines = self._attach_lines(len(consoles))
        if sys.stdin.isatty() and sys.stdout.isatty() and shutil.which("tmux"):
            self._open_tmux(lines)
            return
        self._write("A terminal for each guest (Ctrl-] leaves it; \"exit\" ends the guest; Ctrl-C here ends all):")
        for line in [*lines, *self._gdb_lines(len(consoles))]:
            self._write(f"  {line}")

    def close(self):
        """The panes go with the guests."""
        if self._tmux:
            subprocess.run(["tmux", "-L", self._tmux, "kill-server"], stderr=subprocess.DEVNULL, check=False)
            self._client.wait()

    def _attach_lines(self, guests):
        return [f"{shlex.quote(sys.executable)} {shlex.quote(str(_ATTACH))} "
                f"{shlex.quote(str(self._directory / cosim.console_socket(node)))}" for node in range(guests)]

    def _gdb_lines(self, guests):
        return [f"gdb-multiarch -x {shlex.quote(str(self._directory / _gdb_file(node)))}"
                for node in range(guests)] if self._gdb else []

    def _open_tmux(self, lines):
        self._tmux = f"exrnic-{os.getpid()}"
        hints = "; ".join(["exit ends a guest, Ctrl-b o goes to the other", *self._gdb_lines(len(lines))])
        words = ["tmux", "-L", self._tmux, "-f", "/dev/null", "new-session", lines[0]]
        for line in lines[1:]:
            words += [";", "split-window", line, ";", "select-layout", "even-vertical"]
        words += [";", "set", "status-right", "", ";", "set", "status-left-length", "200", ";", "set", "status-left",
                  hints]
        self._client = subprocess.Popen(words)

    def _write_gdb(self, node, console):
        """What GDB has to know of that guest's modules. It is where sockets have short names, afterwards."""
        lines = ["set confirm off", "set architecture i386:x86-64", f"cd {self._directory}",
                 f"target remote {cosim.gdb_socket(node)}"]
        for module, sections in sorted(console.sections.items()):
            path = self._modules / f"{module}.ko"
            if ".text" not in sections or not path.is_file():
                continue
            others = " ".join(f"-s {name} {address}" for name, address in sections.items() if name != ".text")
            lines.append(f"add-symbol-file {path} {sections['.text']} {others}")
        (self._directory / _gdb_file(node)).write_text("\n".join(lines) + "\n")


def _gdb_file(node):
    return f"guest{node}.gdb"
