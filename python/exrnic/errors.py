# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong, for people."""


class ExrnicError(Exception):
    """One line, and after it the last lines of the logs that tell more."""
