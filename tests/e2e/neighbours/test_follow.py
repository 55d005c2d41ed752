"""A real program follows a monitor: the slices are those of the count, and whatever becomes of the monitor is survived."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from compare import main
from following import ALPHA, FollowingTest
from monitor import ScriptedMonitor


class Monitor(FollowingTest):
    def test_slices_follow_the_count_while_the_program_runs(self):
        for way in ("preload", "run"):
            with self.subTest(way), ScriptedMonitor(self.socket, count=3) as monitor:
                program = self.launches(way)
                program.launch_until(3)  # mostly the first launch; a busy machine may miss its moment
                for vms in (5, 1, 2):
                    monitor.count(vms)
                    program.launch_until(vms)
                told = program.tell("ask")
                self.assertEqual(told["vms"], 2)
                self.assertEqual(told["neighbours"]["source"], "monitor")
                self.assertEqual(told["neighbours"]["state"], "known")
                self.assertEqual(told["neighbours"]["changes"], 3)
                self.assertEqual(program.end()[0], 0)
                self.assertEqual(program.errors, "")

    def test_killed_server_falls_back_and_a_new_one_is_found(self):
        with ScriptedMonitor(self.socket, count=4):
            program = self.launches(CLEAVE_STALE="alone")
            program.launch_until(4)
        program.launch_until(1)
        self.assertEqual(program.tell("ask")["neighbours"]["state"], "stale")
        self.assertEqual(program.tell("ask")["neighbours"]["stale"], 1)
        with ScriptedMonitor(self.socket, count=6):
            program.launch_until(6)
        self.assertEqual(program.end()[0], 0)

    def test_last_count_stands_in_for_a_server_that_is_gone(self):
        with ScriptedMonitor(self.socket, count=4):
            program = self.launches()
            program.launch_until(4)
        while program.tell("ask")["neighbours"]["state"] != "stale":
            time.sleep(0.05)
        self.assertEqual(program.launch(), 4 * ALPHA)

    def test_server_that_no_longer_knows_falls_back(self):
        with ScriptedMonitor(self.socket, count=4) as monitor:
            program = self.launches(CLEAVE_STALE="2")
            program.launch_until(4)
            monitor.unknown()
            program.launch_until(2)
            monitor.count(5)
            program.launch_until(5)

    def test_stopped_server_falls_back_and_the_program_exits_at_once(self):
        server = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "monitor.py"), str(self.socket), "4"], stdout=subprocess.PIPE
        )
        try:
            server.stdout.readline()
            program = self.launches(CLEAVE_STALE="alone")
            program.launch_until(4)
            os.kill(server.pid, signal.SIGSTOP)
            program.launch_until(1)
            status, seconds = program.end()
            self.assertEqual(status, 0)
            self.assertLess(seconds, 20)
            late = self.launches(CLEAVE_STALE="alone")  # it connects, and is never greeted
            self.assertEqual(late.launch(), 1)
            self.assertEqual(late.end()[0], 0)
            os.kill(server.pid, signal.SIGCONT)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()

    def test_hostile_server_is_one_line_and_no_harm(self):
        for greeting in ("\x00\xff" * 2000, "cleave-monitor 7\n", "x" * 100_000, "count 1 5 0\n", "\n" * 10):
            with self.subTest(greeting[:20]), ScriptedMonitor(self.socket, greeting) as monitor:
                program = self.launches()
                self.assertEqual(program.launch(), 1)
                while monitor.accepted < 2:  # it comes back, and is told the same
                    time.sleep(0.02)
                self.assertEqual(program.launch(), 1)
                program.complaint()
                self.assertEqual(program.end()[0], 0)
                self.assertRegex(program.errors, r"\Acleave: neighbours\.monitor: unix:\S+ [^\n]+\n\Z")

    def test_nobody_there_is_one_line(self):
        program = self.launches()
        self.assertEqual(program.launch(), 1)
        program.complaint()
        self.assertEqual(program.end()[0], 0)
        self.assertRegex(program.errors, r"\Acleave: neighbours\.monitor: [^\n]+start cleave-monitord[^\n]+\n\Z")

    def test_nothing_configured_is_silent_and_alone(self):
        program = self.launches(CLEAVE_MONITOR="")
        program.launch()
        self.assertEqual(program.end()[0], 0)
        self.assertEqual(program.errors, "")

    def test_fork_leaves_the_parent_following(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            program = self.launches()
            program.launch_until(3)
            program.tell("fork")
            monitor.count(5)
            program.launch_until(5)
            self.assertEqual(monitor.accepted, 1)
            self.assertEqual(program.end()[0], 0)

    def test_threads_only_where_the_count_matters(self):
        for settings in ({"CLEAVE_VMS": "3"}, {"CLEAVE_SPLIT": "fixed:3"}, {"CLEAVE_SPLIT": "off"}):
            with self.subTest(settings), ScriptedMonitor(self.socket, count=7) as monitor:
                program = self.launches(**settings)
                program.launch()
                self.assertNotIn("cleave", self.threads_of(program))
                self.assertEqual((program.end()[0], monitor.accepted), (0, 0))

    def test_thread_takes_no_signals_and_there_is_one(self):
        with ScriptedMonitor(self.socket, count=7):
            program = self.launches()
            program.tell("ask")
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


class Others(FollowingTest):
    def test_file(self):
        file = self.folder / "vms"
        file.write_text("3\n")
        program = self.launches(CLEAVE_NEIGHBOURS=f"file:{file}")
        program.launch_until(3)
        file.write_text("5\n")
        program.launch_until(5)
        file.write_text("many\n")
        while program.tell("ask")["neighbours"]["state"] != "stale":
            time.sleep(0.05)
        self.assertEqual(program.launch(), 5 * ALPHA)
        self.assertEqual(program.end()[0], 0)
        self.assertRegex(program.errors, r"\Acleave: neighbours\.source: [^\n]+\n\Z")

    def test_peers(self):
        programs = [self.launches(CLEAVE_NEIGHBOURS="peers") for _ in range(3)]
        programs[0].launch_until(1)
        programs[1].launch_until(2)
        programs[2].launch_until(3)
        programs[0].launch_until(3)
        self.assertEqual(len(self.entries()), 3)
        os.kill(programs[1].pid, signal.SIGKILL)  # its entry frees itself
        programs[0].launch_until(2)
        self.assertEqual(programs[2].end()[0], 0)
        programs[0].launch_until(1)
        self.assertEqual(programs[0].end()[0], 0)
        newest = self.launches(CLEAVE_NEIGHBOURS="peers")
        newest.launch()
        self.assertEqual(len(self.entries()), 1)  # what the killed one left is swept
        self.assertEqual(newest.end()[0], 0)
        self.assertEqual(self.entries(), [])

    def test_largest_of_several_counts(self):
        file = self.folder / "several"
        file.write_text("3\n")
        with ScriptedMonitor(self.socket, count=2) as monitor:
            program = self.launches(CLEAVE_NEIGHBOURS=f"file:{file},monitor,peers")
            program.launch_until(3)
            monitor.count(6)
            program.launch_until(6)
            self.assertEqual(program.tell("ask")["neighbours"]["source"], f"monitor,peers,file:{file}")


main()
