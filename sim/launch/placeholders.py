# SPDX-License-Identifier: BSD-2-Clause
"""What a command may leave open, so that one command is that of all nodes, with guests and without:

    {node}       the number of its node
    {nodes}      how many there are
    {oob}        a line between the two of a pair, for --oob: a serial line, or unix:PATH
    {addresses}  HOST:PORT of every node, separated by commas, for TCP
    {network}    the address of every guest on the network of --network, separated by commas
"""

import dataclasses
import os

import guest

_PORT = 7471


@dataclasses.dataclass(frozen=True)
class Values:
    nodes: int
    oob: str
    addresses: tuple
    network: tuple = ()

    def fill(self, command, node):
        for name, value in (("{node}", node), ("{nodes}", self.nodes), ("{oob}", self.oob),
                            ("{addresses}", ",".join(self.addresses)), ("{network}", ",".join(self.network))):
            command = command.replace(name, str(value))
        return command


def of_processes(nodes):
    """Each run has loopback addresses of its own, by its process number: runs at one time do not meet."""
    pid = os.getpid()
    host = f"127.{1 + pid // 256 % 254}.{pid % 256}"
    # A node has an address of the last byte, and a port where that is not enough.
    addresses = (f"{host}.{1 + node % 254}:{_PORT + node // 254}" for node in range(nodes))
    return Values(nodes, "unix:oob.sock", tuple(addresses))


def of_guests(nodes):
    """The addresses are there with --ethernet, those of the network with --network."""
    addresses = (f"{guest.ipv4(node)}:{_PORT}" for node in range(nodes))
    return Values(nodes, "/dev/ttyS1", tuple(addresses), tuple(map(guest.Network.ipv4, range(nodes))))
