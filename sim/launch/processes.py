# SPDX-License-Identifier: BSD-2-Clause
"""Child processes that never outlive their parent, however the parent ends.

Each child leads its own process group, which is killed as a whole. All are of one session: where
sessions are groups of the kernel's scheduler, priorities count within them only. Should the parent itself be
killed, the kernel kills the children (PR_SET_PDEATHSIG; that signal is tied to the thread that
started the child, so start children from the main thread only).
"""

import ctypes
import os
import signal
import subprocess
import time

from errors import LaunchError

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None, use_errno=True)  # loaded before any fork
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked us to stop. Not an Exception: no handler of errors shall swallow it."""

    def __init__(self, signal_number):
        super().__init__(signal.Signals(signal_number).name)
        self.signal_number = signal_number


def stop_on_signals():
    """From here on a stop signal raises Stopped in the main thread, once."""
    def handler(signal_number, _frame):
        ignore_signals()  # the clean-up that follows is not to be interrupted
        raise Stopped(signal_number)

    for number in _STOP_SIGNALS:
        signal.signal(number, handler)


def ignore_signals():
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_with(parent):
    """From here on we get SIGTERM when `parent` ends, the process that started us; now, if it has."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


class Processes:
    """The children of one launch; leaving the `with` block ends them all."""

    def __init__(self, directory):
        self._directory = directory
        self._children = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_all()

    def start(self, command, log, pass_fds=(), nice=0, environment=None):
        """Starts `command` in our directory, all its output going to the file `log`. `nice` is added
        to our own; `environment` is in place of ours."""
        try:
            with open(log, "ab") as output:
                child = subprocess.Popen(
                    command, cwd=self._directory, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, process_group=0, pass_fds=pass_fds, env=environment,
                    preexec_fn=_die_with(os.getpid(), nice))
        except OSError as error:
            raise LaunchError(f"{command[0]} does not start: {error.strerror}") from error
        self._children.append(child)
        return child

    def kill_all(self):
        """SIGKILL: nobody here has state worth a farewell once we end this way."""
        for child in self._children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for child in self._children:
            child.wait()


def _die_with(parent, nice):
    def in_child():
        os.nice(nice)
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return in_child


def await_end(child, seconds):
    """Returns the exit status, None if it still runs after `seconds`."""
    deadline = time.monotonic() + seconds
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return child.poll()


def stop_politely(child, seconds):
    """SIGTERM, then as await_end()."""
    child.terminate()
    return await_end(child, seconds)
