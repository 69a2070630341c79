# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of the specification: as they stand, or expressions of its constants."""


class SpecError(Exception):
    """The specification contradicts itself."""


def clog2(value):
    return (value - 1).bit_length()


def number(where, text, numbers):
    """A number, or an expression of constants (`numbers`: theirs by name), clog2() and max()."""
    if isinstance(text, int):
        return text
    try:
        return int(eval(text, {"__builtins__": {}, "clog2": clog2, "max": max}, numbers))
    except (NameError, SyntaxError, TypeError) as error:
        raise SpecError(f"{where}: '{text}': {error}") from error
