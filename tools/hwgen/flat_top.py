#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A module with interfaces at its ports becomes one with signals, for a test that is written in C++.

    flat_top.py BLOCK.sv INTERFACES OUT.sv [PORT=TYPE[,TYPE]]...

OUT.sv holds the module BLOCK_flat: the parameters and signals of BLOCK, and instead of its port PORT of an
interface (INTERFACES/NAME.sv) a signal PORT_SIGNAL_i or PORT_SIGNAL_o for each signal of the modport. An
interface with type parameters needs their types, in the order of its parameters: turn=qpn_t. Verilator
takes no interface at the top of a model.
"""

import pathlib
import re
import sys
from dataclasses import dataclass, field

from module_head import heads_of, without_comments


class FlatTopError(Exception):
    pass


@dataclass
class Interface:
    name: str
    types: list[str] = field(default_factory=list)  # its type parameters
    signals: dict[str, tuple[str, str]] = field(default_factory=dict)  # type, and words of an array
    modports: dict[str, dict[str, str]] = field(default_factory=dict)  # signal: "input" or "output"


def read_interface(text: str) -> Interface:
    text = without_comments(text)
    name = re.search(r"\binterface\s+(\w+)", text)
    if not name:
        raise FlatTopError("no interface in this file")
    interface = Interface(name[1], re.findall(r"parameter\s+type\s+(\w+)", text))
    for modport, ports in re.findall(r"\bmodport\s+(\w+)\s*\((.*?)\)\s*;", text, re.S):
        sides = interface.modports.setdefault(modport, {})
        side = ""
        for word in re.findall(r"\w+", ports):
            if word in ("input", "output"):
                side = word
            else:
                sides[word] = side
    body = re.sub(r"\bmodport\b.*?;", "", text[text.index(";", name.end()) + 1:], flags=re.S)
    # The first semicolon may be that of an import in the head.
    body = body[body.index(";") + 1:] if re.match(r"\s*\(\s*\)\s*;", body) else body
    for kind, packed, signal, words in re.findall(
            r"^\s*(\w+)((?:\s*\[[^\]]*\])*)\s+(\w+)((?:\s*\[[^\]]*\])*)\s*;", body, re.M):
        interface.signals[signal] = ((kind + " " + packed.strip()).strip(), words)
    return interface


def flat_top(block: str, interfaces: dict[str, Interface], types: dict[str, list[str]]) -> str:
    """The text of the flat module around that of `block`; types of the interfaces' parameters by port."""
    heads = heads_of(block)
    if not heads or not heads[0].ports:
        raise FlatTopError("no module with ports in this file")
    name, imports, parameters = heads[0].name, heads[0].imports, heads[0].parameters
    signals, instances, joins, connections = [], [], [], []
    for port in heads[0].ports:
        plain = re.match(r"(input|output)\b.*?(\w+)\s*(?:\[[^\]]*\]\s*)*$", port, re.S)
        joined = re.match(r"(\w+)\.(\w+)\s+(\w+)$", port)
        if plain:
            signals.append(" ".join(port.split()))
            connections.append(plain[2])
            continue
        if not joined:
            raise FlatTopError(f"{name}: the port '{port}' has no direction of its own, and no modport")
        kind, modport, port = joined.groups()
        if kind not in interfaces or modport not in interfaces[kind].modports:
            raise FlatTopError(f"{name}.{port}: {kind}.{modport} is not known")
        interface = interfaces[kind]
        given = types.get(port, [])
        if len(given) != len(interface.types):
            raise FlatTopError(f"{name}.{port}: {kind} needs {len(interface.types)} types, not {len(given)}: "
                               f"{port}=TYPE,...")
        of = dict(zip(interface.types, given))
        values = ", ".join(f".{parameter}({value})" for parameter, value in of.items())
        instances.append(f"  {kind} {f'#({values}) ' if values else ''}{port} ();")
        connections.append(port)
        for signal, side in interface.modports[modport].items():
            if signal not in interface.signals:
                raise FlatTopError(f"{kind}.{signal}: a modport has it, and the interface has not")
            of_signal, words = interface.signals[signal]
            flat = f"{port}_{signal}_{side[0]}"
            signals.append(f"{side} {of.get(of_signal, of_signal)} {flat}{words}")
            there, here = f"{port}.{signal}", flat
            joins.append(f"  assign {there} = {here};" if side == "input" else f"  assign {here} = {there};")
    unknown = set(types) - set(connections)
    if unknown:
        raise FlatTopError(f"{name} has no port {', '.join(sorted(unknown))}")
    own = re.findall(r"parameter\b[^=]*?(\w+)\s*=", parameters)
    passed = " #(" + ", ".join(f".{one}({one})" for one in own) + ")" if own else ""
    lines = [f"// Made by tools/hwgen/flat_top.py from {name}.sv.", f"module {name}_flat"]
    if imports:
        lines.append("  " + imports)
    lines += [f"#({parameters.rstrip()}\n)"] if parameters else []
    lines += ["(", ",\n".join("    " + signal for signal in signals), ");"]
    lines += [*instances, *joins, f"  {name}{passed} u_{name} (",
              ",\n".join(f"    .{one}" for one in connections), "  );", "endmodule", ""]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if len(arguments) < 3:
        print(__doc__.split("\n\n")[1].strip(), file=sys.stderr)
        return 2
    block, folder, out = (pathlib.Path(argument) for argument in arguments[:3])
    try:
        interfaces = {file.stem: read_interface(file.read_text()) for file in sorted(folder.glob("*.sv"))}
        types = {}
        for given in arguments[3:]:
            port, equals, values = given.partition("=")
            if not equals:
                raise FlatTopError(f"'{given}' is not PORT=TYPE")
            types[port] = values.split(",")
        text = flat_top(block.read_text(), interfaces, types)
    except (FlatTopError, OSError) as error:
        print(f"flat_top.py: {block}: {error}", file=sys.stderr)
        return 1
    if not out.exists() or out.read_text() != text:  # what is as it was is not built anew
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
