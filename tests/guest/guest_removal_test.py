#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a guest relies on goes away under load: its peer's machine, the link, the device.

Two guests PUSH at each other without end.

- The QEMU of guest 1 is killed: guest 0 goes on with a new guest 1.
- In this the device is taken off its bus under its program, which ends; a rescan brings it back.
- The link is cut, and plugged in again: both guests are told each time, both programs fail meanwhile, and
  both work afterwards.
- The simulator is killed: in both guests whoever uses the RNIC hears of it, somebody who only waits
  included, and the module can be unloaded. The kernel says no word of warning (it would panic).
- The simulator starts again, and serves guests.

An error that is due comes within 5 seconds, each time. What is tried is software: hence the reference
model, which takes less time.
"""

import json
import socket
import sys
import time

from guest_reboot_test import LaunchError, parse_arguments, run

_LIMIT_SECONDS = 5

# QEMU 11.1 ends itself when the simulator is killed while the guest's stores wait in the socket
# (sim/vfio_user/README.md), in about one of three: guests, and what is tried, begin anew then.
_END_OF_QEMU = "error_setv: Assertion `*errp == NULL' failed"
_ATTEMPTS = 6

_PUSH = "exrnic-push --node {node} --oob /dev/ttyS1 --sizes 8,65536 --ops 8"
# The first end of the device: it leaves its bus under a program, and comes back.
_UNPLUG = "; ".join((
    f"(while {_PUSH}; do :; done; echo @failed; touch /over) & sleep 3",
    "function=$(readlink -f /sys/bus/pci/drivers/exrnic/0*)",
    "echo 1 > $function/remove",
    "echo @unplugged",
    "while [ ! -e /over ]; do sleep 0.1; done",
    "echo 1 > /sys/bus/pci/rescan",
    "echo @back-on-the-bus"))
# Until the device has gone for good; beside it somebody who waits for events only. A program that began
# when the peer's had ended waits for its line, not for the device.
_STEADY = "; ".join((
    "(exrnic-kmod-test wait-for-the-end && echo @told; touch /told) & waiter=$!",
    f"while [ ! -e /told ]; do timeout 20 {_PUSH} || echo @failed; done",
    "wait $waiter",
    "rmmod exrnic_cdev exrnic || exit 2",
    "echo @unloaded",
    "sleep 1000"))


def within_the_limit(story, what, since, text, logs, times=1):
    for log in logs:
        story.wait_for(text, log, times)
    took = time.monotonic() - since
    if took > _LIMIT_SECONDS:
        raise LaunchError(f"{what}: callers got no error within {_LIMIT_SECONDS} s, but after "
                          f"{took:.1f} s", logs)
    print(f"{what}: callers get an error after {took:.1f} s", flush=True)


def rows(log):
    return log.read_text(errors="replace").count("@exrnic {")


def wait_for_more(story, logs):
    """Each end sends one size after the other, so that two rows of each are both sizes."""
    for log in logs:
        story.wait_for("@exrnic {", log, rows(log) + 2)


def ask(directory, **request):
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(30)
        control.connect(str(directory / "control.sock"))
        control.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    if not answer["ok"]:
        raise LaunchError(f"{request}: {answer['error']}")


def lose_the_link(story, directory, logs):
    failures = [log.read_text(errors="replace").count("@failed") for log in logs]
    cut = time.monotonic()
    ask(directory, command="link", link="0-1", up=False)
    for log, before in zip(logs, failures):
        within_the_limit(story, f"the link is cut, {log.name}", cut, "@failed", [log], before + 1)
    for log in logs:
        story.wait_for("@link-down", log)
    ask(directory, command="link", link="0-1", up=True)
    for log in logs:
        story.wait_for("@link-up", log)
    wait_for_more(story, logs)
    print("they go on when it is plugged in again", flush=True)


def lose_the_bus(story, start, logs):
    """By a new guest 1, the old one being killed."""
    story.kill_guest(1)
    start(1, f"{_UNPLUG}; {_STEADY}")
    story.wait_for("@unplugged", logs[1])
    within_the_limit(story, "the device leaves its bus", time.monotonic(), "@failed", [logs[1]])
    story.wait_for("@back-on-the-bus", logs[1])
    wait_for_more(story, logs)
    print("a rescan brings it back; the other guest has gone on", flush=True)


def lose_the_simulator(story, logs):
    """False: QEMU has ended itself."""
    killed = time.monotonic()
    story.kill_sim()
    try:
        within_the_limit(story, "the simulator is killed", killed, "@told", logs)
        for log in logs:
            story.wait_for("@unloaded", log)
    except LaunchError:
        if not any(_END_OF_QEMU in log.read_text(errors="replace") for log in logs):
            raise
        return False
    finally:
        for node in (0, 1):
            story.kill_guest(node)
    print("the module can be unloaded", flush=True)
    return True


def tell(story, directory):
    ends = socket.socketpair()
    logs = [directory / f"guest{node}.log" for node in (0, 1)]

    def start(node, command):
        if logs[node].exists():
            logs[node].rename(logs[node].with_suffix(f".{time.monotonic_ns()}.log"))
        story.start_guest(node, command, ends[node], logs[node].name)

    def start_both():
        story.start_sim()
        for node in (0, 1):
            start(node, _STEADY)
        wait_for_more(story, logs)

    start_both()
    lose_the_bus(story, start, logs)
    lose_the_link(story, directory, logs)
    attempts = 1
    while not lose_the_simulator(story, logs):
        print("the simulator is killed: QEMU ends itself, which is QEMU's own fault; once more", flush=True)
        if attempts == _ATTEMPTS:
            raise LaunchError(f"QEMU has ended itself {attempts} times", logs)
        attempts += 1
        start_both()
    start_both()
    print("a simulator that was started again serves guests", flush=True)
    story.stop_sim()


def main():
    sys.exit(run(parse_arguments(__doc__, "guest_removal_test", "ref"), tell))


if __name__ == "__main__":
    main()
