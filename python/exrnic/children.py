# SPDX-License-Identifier: BSD-2-Clause
"""Programs that do not outlive the Python that has started them."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None, use_errno=True)  # loaded before any fork


def die_with_parent():
    """In the child, before it becomes the program."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
