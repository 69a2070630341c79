# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's monitor (QMP), at a unix socket."""

import json
import socket

from errors import LaunchError

_SECONDS = 20


def execute(path, command, arguments=None):
    """One command; returns what it returns. Raises LaunchError if QEMU refuses it, or does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SECONDS)
        try:
            connection.connect(str(path))
            with connection.makefile("rw", encoding="utf-8") as lines:
                _answer(lines)  # the greeting
                _ask(lines, {"execute": "qmp_capabilities"})
                return _ask(lines, {"execute": command, "arguments": arguments or {}})
        except (OSError, ValueError) as error:
            raise LaunchError(f"QEMU's monitor at {path}: {error}") from None
        except _Refusal as error:
            raise LaunchError(f"QEMU's monitor at {path} refuses {command}: {error}") from None


class _Refusal(Exception):
    pass


def _ask(lines, request):
    lines.write(json.dumps(request) + "\n")
    lines.flush()
    while True:
        answer = _answer(lines)
        if "error" in answer:
            raise _Refusal(answer["error"].get("desc", "no reason given"))
        if "return" in answer:
            return answer["return"]


def _answer(lines):
    line = lines.readline()
    if not line:
        raise ValueError("it was closed")
    return json.loads(line)
