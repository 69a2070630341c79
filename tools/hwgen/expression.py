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
        value = eval(text, {"__builtins__": {}, "clog2": clog2, "max": max}, numbers)
        whole = int(value)
    except (ArithmeticError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise SpecError(f"{where}: '{text}': {error}") from error
    if whole != value:  # C++ and SystemVerilog would cut it off
        raise SpecError(f"{where}: '{text}': {value} is no whole number")
    return whole
