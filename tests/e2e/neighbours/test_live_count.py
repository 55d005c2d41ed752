"""A real program follows a monitor: its slices are those of the count, and it survives every failure of the monitor."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from live_count_test import ALPHA, LiveCountTest
from scripted_monitor import ScriptedMonitor
from support.options import main
from support.processes import wait_until


class Monitor(LiveCountTest):
    def test_slices_follow_the_count_while_the_program_runs(self):
        for method in ("preload", "run"):
            with self.subTest(method), ScriptedMonitor(self.socket, count=3) as monitor:
                program = self.start_program(method)
                program.launch_until(3)
                for vms in (5, 1, 2):
                    monitor.count(vms)
                    program.launch_until(vms)
                info = program.execute("ask")
                self.assertEqual(info["vms"], 2)
                self.assertEqual(info["neighbours"]["source"], "monitor")
                self.assertEqual(info["neighbours"]["state"], "known")
                self.assertEqual(info["neighbours"]["changes"], 3)
                self.assertEqual(program.finish()[0], 0)
                self.assertEqual(program.errors, "")

    def test_last_count_is_used_until_a_new_monitor_is_found(self):
        with ScriptedMonitor(self.socket, count=4) as monitor:
            program = self.start_program()
            program.launch_until(4)
            monitor.unknown()
            self.assertEqual(program.launch(), 4 * ALPHA)
        self.assertEqual(program.launch(), 4 * ALPHA)
        with ScriptedMonitor(self.socket, count=6):
            program.launch_until(6)
        self.assertEqual(program.finish()[0], 0)

    def test_hung_monitor_does_not_delay_exit(self):
        server = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "scripted_monitor.py"), str(self.socket), "4"], stdout=subprocess.PIPE
        )
        try:
            server.stdout.readline()
            program = self.start_program()
            program.launch_until(4)
            os.kill(server.pid, signal.SIGSTOP)
            status, seconds = program.finish()
            self.assertEqual(status, 0)
            self.assertLess(seconds, 20, "it waited for the monitor")
            late = self.start_program()  # it connects, and never gets a greeting
            self.assertEqual(late.launch(), 1)
            self.assertEqual(late.finish()[0], 0)
            os.kill(server.pid, signal.SIGCONT)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    def test_invalid_monitor_messages_are_reported_in_one_line(self):
        for greeting in ("\x00\xff" * 2000, "cleave-monitor 7\n", "x" * 100_000, "count 1 5 0\n", "\n" * 10):
            with self.subTest(greeting[:20]), ScriptedMonitor(self.socket, greeting) as monitor:
                program = self.start_program()
                self.assertEqual(program.launch(), 1)
                wait_until(lambda: monitor.accepted >= 2, "it does not connect again")
                self.assertEqual(program.launch(), 1)
                program.read_error()
                self.assertEqual(program.finish()[0], 0)
                self.assertRegex(program.errors, r"\Acleave: neighbours\.source: unix:\S+ [^\n]+\n\Z")

    def test_missing_monitor_is_reported_in_one_line(self):
        program = self.start_program()
        self.assertEqual(program.launch(), 1)
        program.read_error()
        self.assertEqual(program.finish()[0], 0)
        self.assertRegex(program.errors, r"\Acleave: neighbours\.source: [^\n]+start cleave-monitord[^\n]+\n\Z")

    def test_without_a_monitor_configured_nothing_is_reported(self):
        program = self.start_program(CLEAVE_NEIGHBOURS="monitor")
        program.launch()
        self.assertEqual(program.finish()[0], 0)
        self.assertEqual(program.errors, "")

    def test_fork_leaves_the_parent_following(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            program = self.start_program()
            program.launch_until(3)
            program.execute("fork")
            monitor.count(5)
            program.launch_until(5)
            self.assertEqual(monitor.accepted, 1)
            self.assertEqual(program.finish()[0], 0)

    def test_thread_only_if_the_policy_uses_the_count(self):
        for settings in ({"CLEAVE_VMS": "3"}, {"CLEAVE_SPLIT": "fixed:3"}, {"CLEAVE_SPLIT": "off"}):
            with self.subTest(settings), ScriptedMonitor(self.socket, count=7) as monitor:
                program = self.start_program(**settings)
                program.launch()
                self.assertNotIn("cleave", self.threads_of(program))
                self.assertEqual((program.finish()[0], monitor.accepted), (0, 0))

    def test_single_thread_blocks_all_signals(self):
        with ScriptedMonitor(self.socket, count=7):
            program = self.start_program()
            program.execute("ask")
            self.assertNotIn("cleave", self.threads_of(program))
            program.launch_until(7)
            self.assertEqual(self.names_of_threads(program).count("cleave"), 1)
            blocked = int(self.threads_of(program)["cleave"], 16)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM):
                self.assertTrue(blocked >> (number - 1) & 1, number)

    @staticmethod
    def names_of_threads(program):
        return [(task / "comm").read_text().strip() for task in Path(f"/proc/{program.pid}/task").iterdir()]

    @staticmethod
    def threads_of(program):
        """The names of its threads with the signals that each blocks."""
        found = {}
        for task in Path(f"/proc/{program.pid}/task").iterdir():
            status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            found[status["Name"].strip()] = status["SigBlk"].strip()
        return found


class OtherSources(LiveCountTest):
    def test_count_file_is_followed(self):
        file = self.folder / "vms"
        file.write_text("3\n")
        program = self.start_program(CLEAVE_NEIGHBOURS=f"file:{file}")
        program.launch_until(3)
        file.write_text("5\n")
        program.launch_until(5)
        file.write_text("many\n")
        program.read_error()
        self.assertEqual(program.launch(), 5 * ALPHA)
        self.assertEqual(program.finish()[0], 0)
        self.assertRegex(program.errors, r"\Acleave: neighbours\.source: [^\n]+\n\Z")

    def test_peer_processes_are_counted(self):
        programs = [self.start_program(CLEAVE_NEIGHBOURS="peers") for _ in range(3)]
        programs[0].launch_until(1)
        programs[1].launch_until(2)
        programs[2].launch_until(3)
        programs[0].launch_until(3)
        self.assertEqual(len(self.entries()), 3)
        os.kill(programs[1].pid, signal.SIGKILL)  # its entry becomes free
        programs[0].launch_until(2)
        self.assertEqual(programs[2].finish()[0], 0)
        programs[0].launch_until(1)
        self.assertEqual(programs[0].finish()[0], 0)
        newest = self.start_program(CLEAVE_NEIGHBOURS="peers")
        newest.launch()
        self.assertEqual(len(self.entries()), 1)  # the killed one's entry is removed
        self.assertEqual(newest.finish()[0], 0)
        self.assertEqual(self.entries(), [])

    def test_largest_of_several_sources_counts(self):
        file = self.folder / "several"
        file.write_text("3\n")
        with ScriptedMonitor(self.socket, count=2) as monitor:
            program = self.start_program(CLEAVE_NEIGHBOURS=f"file:{file},unix:{self.socket},peers")
            program.launch_until(3)
            monitor.count(6)
            program.launch_until(6)
            self.assertEqual(program.execute("ask")["neighbours"]["source"], f"monitor,peers,file:{file}")


main()
