#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What an Ethernet interface relies on goes away under it: its link, its device, the simulator.

Two guests ping each other without end.

- The link is cut, and plugged in again: the carrier of both interfaces follows, and then they hear each
  other again.
- In guest 1 the device is taken off its bus under the pings; a rescan brings it back, with an interface.
- The simulator is killed: in both guests the modules can be unloaded while the interfaces are up. The
  kernel says no word of warning (it would panic).

What is tried is software: hence the reference model, which takes less time.
"""

import socket
import sys

from guest_removal_test import ask
from guest_reboot_test import parse_arguments, run

_BEGIN = "; ".join((
    "insmod /lib/exrnic_eth.ko || exit 1",
    "start() { ip link set eth0 up && ip addr add 10.101.0.{node}/8 dev eth0; }",
    "carrier() { cat /sys/class/net/eth0/carrier 2>/dev/null; }",
    "start",
    "(while :; do ping -c 1 -W 1 10.101.0.$((1 - {node})) >/dev/null && echo @pong; sleep 0.05; done) & true",
    "(while :; do new=$(carrier); [ x$new = x$old ] || echo @carrier-$new; old=$new; "
    "[ x$new != x0 ] || touch /cut; sleep 0.05; done) & true"))
_REMOVE = "; ".join((
    "while [ ! -e /cut ] || [ x$(carrier) != x1 ]; do sleep 0.05; done",
    "sleep 2",
    "function=$(readlink -f /sys/bus/pci/drivers/exrnic/0*)",
    "echo 1 > $function/remove",
    "[ ! -e /sys/class/net/eth0 ] || exit 2",
    "echo @unplugged",
    "echo 1 > /sys/bus/pci/rescan",
    "start || exit 3",
    "echo @back-on-the-bus"))
_END = "; ".join((
    "exrnic-kmod-test wait-for-the-end",
    "rmmod exrnic_eth exrnic_cdev exrnic || exit 4",
    "echo @unloaded",
    "sleep 1000"))


def count(log, text):
    return log.read_text(errors="replace").count(text)


def wait_for_more(story, text, logs):
    for log in logs:
        story.wait_for(text, log, count(log, text) + 3)


def change_link(story, directory, logs, up):
    text = f"@carrier-{int(up)}"
    before = [count(log, text) for log in logs]
    ask(directory, command="link", link="0-1", up=up)
    for log, times in zip(logs, before):
        story.wait_for(text, log, times + 1)


def tell(story, directory):
    logs = [directory / f"guest{node}.log" for node in (0, 1)]
    lines = socket.socketpair()
    story.start_sim()
    story.start_guest(0, f"{_BEGIN}; {_END}", lines[0], logs[0].name)
    story.start_guest(1, f"{_BEGIN}; {_REMOVE}; {_END}", lines[1], logs[1].name)
    wait_for_more(story, "@pong", logs)
    change_link(story, directory, logs, False)
    change_link(story, directory, logs, True)
    wait_for_more(story, "@pong", logs)
    print("the carrier follows the link, and they hear each other again", flush=True)
    story.wait_for("@back-on-the-bus", logs[1])
    wait_for_more(story, "@pong", logs)
    print("the interface goes with its device, and comes back", flush=True)
    # Without a carrier nothing is sent: QEMU does not like a simulator that dies with a store in its socket.
    change_link(story, directory, logs, False)
    story.kill_sim()
    for log in logs:
        story.wait_for("@unloaded", log)
    print("the modules can be unloaded when the device has vanished", flush=True)


def main():
    sys.exit(run(parse_arguments(__doc__, "guest_ethernet_removal_test", "ref"), tell))


if __name__ == "__main__":
    main()
