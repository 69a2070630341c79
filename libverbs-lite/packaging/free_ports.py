# SPDX-License-Identifier: BSD-2-Clause
"""TCP ports for tests that start a program which listens."""

import random
import socket

# Below those that the kernel gives to connections (ip_local_port_range), as any of those may be given away before the program listens.
_FIRST = 20000
_END = 32000
_TRIES = 1000


def _is_free(port):
    try:
        with socket.create_server(("", port)):
            return True
    except OSError:
        return False


def free_ports(count=1):
    """The first of so many in a row that nobody listens on. Raises OSError: none was found."""
    for _ in range(_TRIES):
        first = random.randrange(_FIRST, _END - count)
        if all(_is_free(first + offset) for offset in range(count)):
            return first
    raise OSError(f"no {count} free TCP ports in a row from {_FIRST} to {_END} in {_TRIES} tries; who listens there?")
