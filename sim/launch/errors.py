# SPDX-License-Identifier: BSD-2-Clause
"""How a launch fails: with what happened, and the logs that show more."""

import os

_LAST_LINES = 15


class LaunchError(Exception):
    """What went wrong, as one line, and the log files that tell why. `status`: with which the launch ends."""

    def __init__(self, message, logs=(), status=1):
        super().__init__(message)
        self.status = status
        self.logs = list(logs)

    def report(self):
        """The message, then each log's path and last lines."""
        lines = [f"error: {self}"]
        lines += [f"the disk of {folder} is full" for folder in sorted({log.parent for log in self.logs})
                  if _is_full(folder)]
        for log in self.logs:
            lines.append(f"{log}, last lines:")
            lines += [f"  | {line}" for line in _tail(log)]
        return "\n".join(lines)


def _is_full(folder):
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False


def _tail(log):
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return ["(was never written)"]
    return [line for line in lines if line.strip()][-_LAST_LINES:] or ["(is empty)"]
