# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the launcher, with programs of fakes.py in place of exrnic-sim and QEMU.

    python3 -m unittest discover -s sim/launch -p '*_test.py'
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import cosim
from errors import LaunchError
import fakes
import found
import guest
import push_report
import records

_LAUNCHER = pathlib.Path(__file__).resolve().parent
_SETTLE_SECONDS = 10


def wait_until(condition, what):
    deadline = time.monotonic() + _SETTLE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {_SETTLE_SECONDS} s for {what}")
        time.sleep(0.02)


class LaunchCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.directory = self.scratch / "run"
        for name in ("vmlinuz", "initramfs"):
            (self.scratch / name).write_bytes(b"")
        self.rows = []

    def settings(self, sim, qemu_script, **changes):
        values = {
            "directory": self.directory, "command": "work {node}",
            "sim": fakes.program(self.scratch, "sim", sim),
            "qemu": str(fakes.program(self.scratch, "qemu", fakes.FIND_NODE + qemu_script)),
            "kernel": self.scratch / "vmlinuz", "initramfs": self.scratch / "initramfs",
            "sim_seconds": 5, "boot_seconds": 5, "run_seconds": 5}
        values.update(changes)
        return cosim.Settings(**values)

    def run_it(self, sim, qemu_script, **changes):
        runner = cosim.CoSim(self.settings(sim, qemu_script, **changes),
                             lambda node, row: self.rows.append((node, row)), lambda text: None)
        runner.run()

    def failure(self, sim, qemu, **changes):
        """Runs what must fail and leave nothing behind; returns the report."""
        with self.assertRaises(LaunchError) as caught:
            self.run_it(sim, qemu, **changes)
        self.assertEqual(fakes.survivors(self.directory), [])
        return caught.exception.report()


GOOD_SIM = fakes.READY + fakes.SERVE
GOOD_GUEST = fakes.BOOT + fakes.row() + fakes.end(0)


class Outcome(LaunchCase):
    def test_guests_that_end_well_are_a_success_and_their_rows_arrive(self):
        self.run_it(GOOD_SIM, GOOD_GUEST)
        self.assertEqual(sorted(node for node, _ in self.rows), [0, 1])
        self.assertEqual(self.rows[0][1]["size"], 4096)
        self.assertEqual(fakes.survivors(self.directory), [])

    def test_guests_leave_a_processor_to_the_simulator_where_there_are_too_few(self):
        note = 'echo "$(nice) $(ps -o sid= -p $$)" > '
        for processors, cpus, behind in ({0, 1}, 1, 5), ({0, 1, 2}, 1, 0), ({0, 1, 2, 3}, 2, 5):
            with unittest.mock.patch("cosim.os.sched_getaffinity", return_value=processors):
                self.run_it(note + "simulator\n" + GOOD_SIM, note + "guest$node\n" + GOOD_GUEST,
                            cpus=cpus)
            (simulator, session), *guests = ((self.directory / name).read_text().split()
                                             for name in ("simulator", "guest0", "guest1"))
            for nice, of in guests:
                self.assertEqual(int(nice), int(simulator) + behind)
                self.assertEqual(of, session)  # else the scheduler may not compare them

    def test_a_path_longer_than_a_socket_address_does_no_harm(self):
        bind = ("python3 -c 'import socket; "
                "socket.socket(socket.AF_UNIX).bind(\"node0.sock\")' || exit 3\n")
        self.directory = self.scratch / ("deep" * 20) / ("folder" * 20)
        self.run_it(bind + GOOD_SIM, GOOD_GUEST)

    def test_an_end_marker_counts_although_the_kernel_prints_into_its_line(self):
        self.run_it(GOOD_SIM, fakes.BOOT + "echo '[ 1.0] hello @exrnic-end 0'\n")

    def test_the_guests_share_a_channel_that_is_connected_from_the_start(self):
        talk = ('for a in "$@"; do case $a in socket,id=channel,fd=*) fd=${a##*=};; esac; done\n'
                'eval "echo from-$node >&$fd; read -r word <&$fd"\n'
                'echo "heard $word"; test "$word" = "from-$((1-node))" || exit 5\n')
        self.run_it(GOOD_SIM, fakes.BOOT + talk + fakes.end(0))


    def test_with_ethernet_each_guest_hears_its_addresses_and_else_none(self):
        note = 'echo "$*" > guest$node\n'
        for ethernet in (True, False):
            self.run_it(GOOD_SIM, note + GOOD_GUEST, ethernet=ethernet)
            for node in (0, 1):
                said = (self.directory / f"guest{node}").read_text()
                self.assertEqual(f" exrnic.ipv4=10.101.0.{node}/8 " in said, ethernet)
                self.assertEqual(f" exrnic.ipv6=fd45:5852:4943::101:{node}/64 " in said, ethernet)

    def test_no_two_nodes_have_an_address(self):
        every = {guest.ethernet_arguments(node) for node in range(1 << 16)}
        self.assertEqual(len(every), 1 << 16)
        self.assertIn(" exrnic.ipv4=10.101.1.44/8 exrnic.ipv6=fd45:5852:4943::101:12c/64", every)

    def test_with_a_network_each_guest_has_an_address_of_it_and_else_none(self):
        network = guest.Network("239.1.2.3:4711")
        for given in (network, None):
            self.run_it(GOOD_SIM, 'echo "$*" > guest$node\n' + GOOD_GUEST, network=given)
            for node in (0, 1):
                said = (self.directory / f"guest{node}").read_text()
                self.assertEqual(f" exrnic.network=172.31.0.{node}/15 " in said, given is not None)
                self.assertEqual(f"mcast=239.1.2.3:4711,localaddr=127.0.0.1 -device virtio-net-pci,netdev=network,mac=52:45:58:00:00:0{node}"
                                 in said, given is not None)

    def test_no_two_nodes_have_an_address_of_the_network_and_no_two_launches_a_group(self):
        network = guest.Network.anew()
        every = [" ".join([network.kernel_arguments(node), *network.arguments(node)]) for node in range(1 << 16)]
        for pattern in (r"exrnic.network=\S+", r"mac=\S+"):
            self.assertEqual(len({re.search(pattern, line)[0] for line in every}), 1 << 16)
        self.assertRegex(network.group, r"^239\.\d+\.\d+\.\d+:2\d{4}$")
        self.assertNotEqual(network.group, guest.Network.anew().group)

    def test_with_three_guests_the_pair_shares_the_channel_and_the_third_idles(self):
        talk = ('for a in "$@"; do case $a in socket,id=channel,fd=*) fd=${a##*=};; esac; done\n'
                'if [ $node = 1 ]; then case "$*" in *rest*) echo resting;; *) exit 4;; esac\n'
                '[ -z "$fd" ] || exit 6\n'
                'else case "$*" in *"work $node"*) ;; *) exit 4;; esac\n'
                'eval "echo from-$node >&$fd; read -r word <&$fd"\n'
                'test "$word" = "from-$((2-node))" || exit 5; fi\n')
        self.run_it(GOOD_SIM, fakes.BOOT + talk + fakes.end(0), guests=3, pair=(0, 2),
                    idle_command="rest")
        self.assertIn("resting", (self.directory / "guest1.log").read_text())


class Table(unittest.TestCase):
    ROW = {"size": 8, "ops": 1, "verified": 1, "latency_us": 1, "bandwidth_mbps": 1, "wall_s": 0}

    def test_rows_have_one_order_whichever_console_is_read_first(self):
        printed = []
        report = push_report.PushReport(printed.append, (2, 0))
        for source, target, size in ((2, 0, 8), (0, 2, 8), (2, 0, 64), (0, 2, 64)):
            report.add(source, {**self.ROW, "from": source, "to": target, "size": size})
        self.assertIsNone(report.problem())
        self.assertEqual([line.split()[:5] for line in printed[2:]],
                         [["guest", str(source), "->", "guest", str(2 - source)]
                          for source in (0, 2, 0, 2)])

    def test_stores_through_windows_have_one_order_too_below_the_rows(self):
        printed = []
        report = push_report.PushReport(printed.append)
        for source in (1, 0):
            report.add(source, {"from": source, "to": 1 - source, "stores": 8, "read_back": 8,
                                "verified": 8})
            report.add(source, {**self.ROW, "from": source, "to": 1 - source})
        self.assertIsNone(report.problem())
        self.assertEqual([line.split()[1] for line in printed[2:]], ["0", "1", "0", "1"])
        self.assertIn("guest 0 -> guest 1: 8 of 8 stores", printed[4])

    def test_a_row_whose_turn_never_comes_is_printed_in_the_end(self):
        printed = []
        report = push_report.PushReport(printed.append)
        report.add(1, {**self.ROW, "from": 1, "to": 0})
        self.assertEqual(printed, [])
        self.assertEqual(report.problem(), "no result for guest 0 -> guest 1")
        self.assertIn("guest 1 -> guest 0", printed[-1])


class Failure(LaunchCase):
    def test_a_guest_that_never_boots_is_named_with_its_limit_and_log(self):
        report = self.failure(GOOD_SIM, "echo firmware\n" + fakes.SLEEP, boot_seconds=0.5)
        self.assertIn("guest 0: no boot to user space within 0.5 s", report)
        self.assertIn(f"{self.directory}/guest0.log", report)
        self.assertIn("| firmware", report)

    def test_a_command_that_never_ends_is_named(self):
        report = self.failure(GOOD_SIM, fakes.BOOT + fakes.SLEEP, run_seconds=0.5)
        self.assertIn("guest 0: no end of its command within 0.5 s", report)

    def test_a_command_that_fails_is_named_at_once_though_its_peer_waits(self):
        start = time.monotonic()
        report = self.failure(
            GOOD_SIM, fakes.BOOT + f"if [ $node = 0 ]; then {fakes.SLEEP} fi\n" + fakes.end(7),
            run_seconds=60)
        self.assertIn("guest 1: its command failed with status 7", report)
        self.assertLess(time.monotonic() - start, 10)

    def test_a_module_that_does_not_load_is_named(self):
        report = self.failure(GOOD_SIM, "echo @exrnic-boot\n" + fakes.end(96))
        self.assertIn("the kernel module did not load", report)

    def test_a_clock_source_that_does_not_follow_is_refused_with_what_to_do(self):
        report = self.failure(GOOD_SIM, "echo @exrnic-boot\n" + fakes.end(97))
        self.assertIn("its kernel's clock does not follow simulated time; take a kernel that keeps the TSC, "
                      "or TIME=free", report)

    def test_a_guest_that_dies_before_its_end_is_named(self):
        report = self.failure(GOOD_SIM, fakes.BOOT + "echo 'Kernel panic'; exit 1\n")
        self.assertRegex(report, r"guest [01]: QEMU ended with status 1 before")
        self.assertIn("Kernel panic", report)

    def test_a_guest_that_does_not_power_off_is_named(self):
        cosim._POWER_OFF_SECONDS, before = 0.3, cosim._POWER_OFF_SECONDS
        self.addCleanup(setattr, cosim, "_POWER_OFF_SECONDS", before)
        report = self.failure(GOOD_SIM, fakes.BOOT + "echo @exrnic-end 0\n" + fakes.SLEEP)
        self.assertIn("guest 0 did not power off within 0.3 s", report)

    def test_a_simulator_that_is_never_ready_is_named(self):
        report = self.failure("echo thinking\n" + fakes.SLEEP, GOOD_GUEST, sim_seconds=0.5)
        self.assertIn("exrnic-sim did not say that it is ready within 0.5 s", report)
        self.assertIn("| thinking", report)

    def test_a_simulator_that_refuses_to_start_is_named_with_its_reason(self):
        report = self.failure("echo 'no profile x' >&2; exit 2\n", GOOD_GUEST)
        self.assertIn("exrnic-sim ended with status 2", report)
        self.assertIn("| no profile x", report)

    def test_a_simulator_that_dies_is_blamed_before_the_guests(self):
        report = self.failure(fakes.READY + "sleep 0.3; kill -SEGV $$\n", fakes.BOOT + fakes.SLEEP)
        self.assertIn("exrnic-sim was killed by SIGSEGV", report)

    def test_a_simulator_that_crashes_while_it_stops_is_a_failure(self):
        report = self.failure(fakes.READY + fakes.SERVE.replace("exit 0", "kill -ABRT $$"),
                              GOOD_GUEST)
        self.assertIn("exrnic-sim was killed by SIGABRT", report)

    def test_a_full_disk_is_named(self):
        full = unittest.mock.Mock(f_bavail=0)
        with unittest.mock.patch("errors.os.statvfs", return_value=full):
            report = self.failure(GOOD_SIM, fakes.BOOT + "exit 1\n")
        self.assertIn(f"the disk of {self.directory} is full", report)

    def test_what_is_not_built_is_named(self):
        with self.assertRaisesRegex(LaunchError, "there is no guest image at .*nowhere"):
            self.run_it(GOOD_SIM, GOOD_GUEST, initramfs=self.scratch / "nowhere")

    def test_a_qemu_that_is_not_there_is_named(self):
        with self.assertRaisesRegex(LaunchError, "there is no QEMU at qemu-of-nobody"):
            self.run_it(GOOD_SIM, GOOD_GUEST, qemu="qemu-of-nobody")

    def test_a_command_with_a_double_quote_is_one_line_that_says_what_to_write(self):
        report = self.failure(GOOD_SIM, GOOD_GUEST, command='echo "a"')
        self.assertEqual(report, "error: the guests' command holds a double quote, which a kernel's arguments "
                                 "cannot carry; write '...': echo \"a\"")


class CommandLine(LaunchCase):
    """The launcher as its own process."""

    def start(self, sim, qemu, *arguments, cwd=None):
        settings = self.settings(sim, qemu)
        return subprocess.Popen(
            [sys.executable, str(_LAUNCHER), *arguments, "--directory", str(self.directory),
             "--sim", str(settings.sim), "--qemu", settings.qemu,
             "--kernel", str(settings.kernel), "--initramfs", str(settings.initramfs)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)

    def finish(self, launcher):
        out, err = launcher.communicate(timeout=30)
        return launcher.returncode, out, err

    def stop_by(self, signal_number):
        """Stops a launch in full flight, a grandchild included; returns its exit status."""
        launcher = self.start(fakes.LEAVE_GRANDCHILD + GOOD_SIM, fakes.BOOT + fakes.SLEEP, "push")
        pids = self.directory / "pids"
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 4,
                   "simulator, its child and two guests")
        launcher.send_signal(signal_number)
        status, _, err = self.finish(launcher)
        return status, err

    def assert_no_survivors(self):
        # A grandchild that was killed is gone only when the init process has reaped it.
        wait_until(lambda: not fakes.survivors(self.directory), "the end of all children")

    def test_the_simulator_has_a_control_socket_and_captures_when_asked(self):
        sim = 'echo "$*" > arguments\nmkdir capture\n' + GOOD_SIM
        status, out, _ = self.finish(self.start(sim, GOOD_GUEST, "push", "--capture"))
        self.assertEqual(status, 0)
        arguments = (self.directory / "arguments").read_text()
        self.assertIn("--capture capture", arguments)
        self.assertIn("--control control.sock", arguments)
        self.assertIn(f"{os.path.relpath(self.directory)}/capture: captures; ", out)

    def test_ctrl_c_leaves_no_process_behind(self):
        status, err = self.stop_by(signal.SIGINT)
        self.assert_no_survivors()
        self.assertEqual(status, 130)
        self.assertIn("stopped by SIGINT", err)
        self.assertNotIn("Traceback", err)

    def test_sigterm_leaves_no_process_behind(self):
        status, _ = self.stop_by(signal.SIGTERM)
        self.assert_no_survivors()
        self.assertEqual(status, 128 + signal.SIGTERM)

    def test_a_launcher_that_is_killed_takes_simulator_and_guests_along(self):
        launcher = self.start(GOOD_SIM, fakes.BOOT + fakes.SLEEP, "push")
        pids = self.directory / "pids"
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 3,
                   "simulator and two guests")
        launcher.kill()
        self.finish(launcher)
        self.assert_no_survivors()

    def test_push_prints_a_table_and_a_verdict(self):
        status, out, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push"))
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"guest 0 -> guest 1 +4 KiB +10 +10 +2\.50 us +900\.0 MB/s")
        self.assertIn("OK: all 20 PUSHes arrived intact", out)

    def test_push_says_how_stores_into_the_other_guest_went(self):
        def guest(verified):
            stores = (f"echo '@exrnic {{\"from\": '$node', \"to\": '$((1-node))', \"stores\": 8, "
                      f"\"read_back\": 8, \"verified\": {verified}}}'\n")
            return fakes.BOOT + fakes.row() + stores + fakes.end(0)
        status, out, err = self.finish(self.start(GOOD_SIM, guest(8), "push"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("guest 1 -> guest 0: 8 of 8 stores into a remote window are in", out)
        status, _, err = self.finish(self.start(GOOD_SIM, guest(7), "push"))
        self.assertEqual(status, 1)
        self.assertIn("of 8 stores into a remote window only 7 arrived", err)

    def test_push_fails_if_one_byte_was_wrong(self):
        status, out, err = self.finish(
            self.start(GOOD_SIM, fakes.BOOT + fakes.row(verified=9) + fakes.end(0), "push"))
        self.assertEqual(status, 1)
        self.assertIn("4 KiB: only 9 of 10 operations arrived intact", err)
        self.assertNotIn("OK", out)

    def test_push_fails_if_a_direction_is_missing(self):
        one_way = fakes.BOOT + f"if [ $node = 0 ]; then {fakes.row()} fi\n" + fakes.end(0)
        status, _, err = self.finish(self.start(GOOD_SIM, one_way, "push"))
        self.assertEqual(status, 1)
        self.assertIn("no result for guest 1 -> guest 0", err)

    def test_push_fails_if_a_size_is_missing_in_one_direction(self):
        uneven = fakes.BOOT + fakes.row() + f"if [ $node = 0 ]; then {fakes.row(size=8)} fi\n" + fakes.end(0)
        status, _, err = self.finish(self.start(GOOD_SIM, uneven, "push"))
        self.assertEqual(status, 1)
        self.assertIn("guest 0 has results of 2 sizes, guest 1 of 1: some are missing", err)

    def test_push_fails_if_a_row_cannot_be_read(self):
        broken = fakes.BOOT + "echo '@exrnic {\"size\": 8, \"ops'\n" + fakes.row() + fakes.end(0)
        status, _, err = self.finish(self.start(GOOD_SIM, broken, "push"))
        self.assertEqual(status, 1)
        self.assertIn("cannot be read", err)

    def test_push_between_a_pair_of_three_guests_is_judged_by_that_pair(self):
        row = fakes.row(to="'$((2-node))'")
        qemu = fakes.BOOT + f"if [ $node != 1 ]; then {row} fi\n" + fakes.end(0)
        arguments = ("push", "--guests", "3", "--topology", "star")
        status, out, err = self.finish(self.start(GOOD_SIM, qemu, *arguments, "--pair", "0,2"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("guest 0 -> guest 2", out)
        status, _, err = self.finish(self.start(GOOD_SIM, qemu, *arguments, "--pair", "2,1"))
        self.assertEqual(status, 1)
        self.assertIn("no result for guest 2 -> guest 1", err)

    def test_the_topology_reaches_the_simulator(self):
        sim = 'case "$*" in *"--topology ring"*) ;; *) exit 3;; esac\n' + GOOD_SIM
        status, _, err = self.finish(
            self.start(sim, GOOD_GUEST, "push", "--topology", "ring"))
        self.assertEqual((status, err), (0, ""))

    def test_the_size_of_the_window_bar_reaches_the_simulator_even_if_it_is_none(self):
        for size in ("1G", ""):
            sim = f'while [ "$1" != --window-bar ]; do shift || exit 3; done; [ "$2" = "{size}" ] || exit 3\n'
            status, _, err = self.finish(
                self.start(sim + GOOD_SIM, GOOD_GUEST, "push", "--window-bar", size))
            self.assertEqual((status, err), (0, ""))

    def test_a_file_is_found_from_where_the_launcher_was_started(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        sim = 'echo "$*" > arguments\n' + GOOD_SIM
        for names in (("mine.json", "nets/mine.json"), ("../mine", "nets/mine")):
            status, _, err = self.finish(self.start(
                sim, GOOD_GUEST, "push", "--profile", names[0], "--topology", names[1], cwd=elsewhere))
            self.assertEqual((status, err), (0, ""))
            self.assertIn(f"--profile {os.path.normpath(elsewhere / names[0])} "
                          f"--topology {elsewhere / names[1]} ", (self.directory / "arguments").read_text())
        self.assertEqual(found.from_here("star:8"), "star:8")

    def test_qemu_and_kernel_are_found_from_there_too_and_a_bare_name_in_the_path(self):
        parser = argparse.ArgumentParser()
        found.add_options(parser)
        options = parser.parse_args(["--qemu", "mine/qemu", "--kernel", "vmlinuz"])
        self.assertEqual((options.qemu, options.kernel),
                         (f"{os.getcwd()}/mine/qemu", pathlib.Path("vmlinuz").resolve()))
        self.assertEqual(parser.parse_args(["--qemu", "qemu-system-x86_64"]).qemu, "qemu-system-x86_64")

    def test_what_the_set_up_has_found_is_found_without_the_environment(self):
        env = self.scratch / "env.sh"
        env.write_text('export QEMU="${QEMU:-/of/the set-up}"\n')
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("QEMU", None)
            self.assertEqual(found.found("QEMU", env), "/of/the set-up")
            self.assertIsNone(found.found("EXRNIC_NONE", env))
            self.assertIsNone(found.found("QEMU", self.scratch / "nowhere"))
            os.environ["QEMU"] = "/mine"
            self.assertEqual(found.found("QEMU", env), "/mine")

    def test_the_processors_of_a_guest_reach_qemu(self):
        for arguments, smp in ((), "1"), (("--cpus", "2"), "2"):
            qemu = f'case "$*" in *"-smp {smp} "*) ;; *) exit 3;; esac\n' + GOOD_GUEST
            status, _, err = self.finish(self.start(GOOD_SIM, qemu, "push", *arguments))
            self.assertEqual((status, err), (0, ""))

    def test_trace_and_waves_reach_the_simulator_and_are_named_at_the_end(self):
        sim = ('case "$*" in *"--trace trace.json --waves waves.fst,node=1"*) ;; *) exit 3;; esac\n'
               "echo > trace.json; echo > waves.fst.gtkw\n" + GOOD_SIM)
        status, out, err = self.finish(
            self.start(sim, GOOD_GUEST, "push", "--trace", "--waves", "node=1"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("trace.json: open it", out)
        self.assertRegex(out, r": gtkwave \S+waves\.fst\.gtkw")

    def test_what_the_simulator_could_not_write_is_told_and_the_run_is_good(self):
        trouble = "waves waves.fst: incomplete; is the disk full?"
        sim = f"echo 'exrnic-sim: {trouble}' >&2\n" + GOOD_SIM
        status, out, err = self.finish(
            self.start(sim, GOOD_GUEST, "push", "--capture", "--trace", "--waves"))
        self.assertEqual((status, err), (0, ""))
        for name in ("capture", "trace.json", "waves.fst.gtkw"):
            self.assertIn(f"{name} was not written", out)
        self.assertIn("\n" + trouble + "\n", out)

    def test_a_folder_that_cannot_be_made_is_one_line(self):
        (self.scratch / "file").touch()
        self.directory = self.scratch / "file/run"
        status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push"))
        self.assertEqual((status, err.count("\n")), (1, 1), err)
        self.assertIn("file/run cannot be made anew: ", err)

    def test_a_folder_of_somebody_else_stays_as_it_is(self):
        self.directory.mkdir()
        thesis = self.directory / "thesis"
        lock = self.scratch / "run.lock"
        for path in (thesis, lock):
            path.write_text("years of work")
        status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push"))
        self.assertEqual((status, err.count("\n")), (1, 1), err)
        self.assertIn("run is no folder of a launch: it has no sim.log", err)
        self.assertEqual([path.read_text() for path in (thesis, lock)], ["years of work"] * 2)
        thesis.unlink()
        for _ in range(2):  # one that is empty may be taken, and taken anew
            status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push"))
            self.assertEqual(lock.read_text(), "years of work")
            self.assertTrue((self.directory / "sim.log").exists(), err)

    def test_programs_that_tell_stories_empty_no_folder_of_somebody_else_either(self):
        self.directory.mkdir()
        thesis = self.directory / "thesis.tex"
        thesis.write_text("years of work")
        for name in ("guest_reboot_test.py", "guest_removal_test.py"):
            refused = subprocess.run([sys.executable, _LAUNCHER.parents[1] / "tests/guest" / name, "--directory",
                                      self.directory], capture_output=True, text=True, check=False)
            self.assertEqual((refused.returncode, thesis.read_text()), (1, "years of work"))
            self.assertIn("run is no folder of a launch", refused.stderr)

    def test_a_viewer_that_is_missing_is_told_with_its_package(self):
        options = argparse.Namespace(capture=False, trace=False, page=False, waves="")
        self.directory.mkdir()
        (self.directory / "waves.fst.gtkw").touch()
        with unittest.mock.patch("shutil.which", return_value=None):
            lines = records.describe(options, self.directory)
        self.assertEqual(len(lines), 1)
        self.assertIn("gtkwave is not installed; on Debian: apt-get install gtkwave", lines[0])
        capture = self.scratch / "node0.pcap"
        capture.touch()
        tools = self.scratch / "tools"  # of a machine without Wireshark
        tools.mkdir()
        for name in ("bash", "realpath", "dirname"):
            (tools / name).symlink_to(shutil.which(name))
        shown = subprocess.run(
            [_LAUNCHER.parents[1] / "tools/wireshark/view.sh", capture], capture_output=True,
            text=True, check=False, env={"PATH": str(tools), "DISPLAY": ":0"})
        self.assertEqual((shown.returncode, shown.stderr), (
            1, "view.sh: neither wireshark nor tshark is installed; on Debian: apt-get install "
               "wireshark\n"))

    def test_guests_that_cannot_be_are_refused_by_number(self):
        for arguments, because in (
                (("--guests", "1"), "--guests 1"), (("--pair", "0,2"), "--pair 0,2"),
                (("--pair", "1,1"), "--pair 1,1"), (("--pair", "1"), "'1': write two guests"),
                (("--cpus", "0"), "--cpus 0: a guest has 1 or more"),
                (("--cpus", "2", "--time", "sync"), "--cpus 2: in synchronised time a guest has 1"),
                (("--network", "--time", "sync"), "--network: it has no simulated time")):
            status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push", *arguments))
            self.assertEqual(status, 2)
            self.assertIn(because, err)

    def test_a_network_without_its_modules_is_told_with_what_makes_them(self):
        arguments = ("--network", "--world-folder", "/none", "push")
        status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, *arguments))
        self.assertEqual(status, 1)
        self.assertIn('--network: there is no /none/network with its modules ("make guest-world" makes it)', err)

    def test_two_launches_do_not_share_a_folder(self):
        first = self.start(GOOD_SIM, fakes.BOOT + fakes.SLEEP, "push")
        pids = self.directory / "pids"
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 3, "the first launch")
        status, _, err = self.finish(self.start(GOOD_SIM, GOOD_GUEST, "push"))
        first.send_signal(signal.SIGTERM)
        self.finish(first)
        self.assertEqual(status, 1)
        self.assertIn("another launch is using", err)


if __name__ == "__main__":
    os.chdir(_LAUNCHER)
    unittest.main()
