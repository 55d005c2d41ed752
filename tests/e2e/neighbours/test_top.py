"""`cleave top`: what it prints, and its live screen, while real programs run."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from compare import CLEAVE, main
from following import FollowingTest
from monitor import ScriptedMonitor

OWN_SCREEN = b"\x1b[?1049h"
SCREEN_BEFORE = b"\x1b[?1049l"


class TopTest(FollowingTest):
    def top_environment(self, **settings):
        return self.environment(CLEAVE_REGISTRY=self.registry, CLEAVE_MONITOR=f"unix:{self.socket}", **settings)

    def top(self, *options, **settings):
        command = [str(CLEAVE), "top", *options]
        return subprocess.run(
            command, env=self.top_environment(**settings), capture_output=True, text=True, timeout=60, check=False
        )

    def once(self, **settings):
        done = self.top("--once", "--json", **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)


class Printed(TopTest):
    def test_json_says_what_the_process_itself_says(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            program = self.launches()
            program.launch_until(3)
            program.launch()
            monitor.count(1)
            program.launch_until(1)
            told = program.tell("ask")
            look = self.once()
            self.assertEqual((look["version"], look["vms"]), (1, 1))
            self.assertEqual(look["neighbours"], "monitor: connected")
            (seen,) = look["processes"]
            self.assertEqual((seen["pid"], seen["program"], seen["vms"]), (program.pid, "launches", 1))
            self.assertEqual(seen["devices"], 1)
            for figure in ("launches", "split", "slices", "added_ns"):
                self.assertEqual(seen[figure], told[figure], figure)
            self.assertEqual(seen["whole"], sum(told["whole"].values()))
            self.assertEqual(program.end()[0], 0)
            self.assertEqual(self.once()["processes"], [])

    def test_killed_process_is_gone_at_once(self):
        programs = [self.launches(CLEAVE_VMS="2") for _ in range(2)]
        for program in programs:
            program.launch()
        self.assertEqual({each["pid"] for each in self.once()["processes"]}, {each.pid for each in programs})
        os.kill(programs[0].pid, signal.SIGKILL)
        os.waitpid(programs[0].pid, 0)
        self.assertEqual([each["pid"] for each in self.once()["processes"]], [programs[1].pid])

    def test_who_has_not_launched_or_does_not_want_to_is_not_seen(self):
        idle = self.launches(CLEAVE_VMS="2")
        idle.tell("ask")
        hidden = [self.launches(CLEAVE_VMS="2", **{name: value}) for name, value in
                  (("CLEAVE_TOP", "false"), ("CLEAVE_REGISTRY", "off"), ("CLEAVE_DISABLE", "true"))]
        for program in hidden[:2]:
            program.launch()
        self.assertEqual(self.once()["processes"], [])

    def test_text_has_a_line_for_each_process(self):
        program = self.launches(CLEAVE_VMS="2")
        program.launch()
        done = self.top("--once", CLEAVE_VMS="7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("7 VMs on the host, 1 process under Cleave", done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^ *{program.pid} launches +2 +1 ")

    def test_json_goes_on_until_nobody_reads_it(self):
        command = [str(CLEAVE), "top", "--json", "--interval", "0.1"]
        top = subprocess.Popen(command, env=self.top_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        looks = [json.loads(top.stdout.readline()) for _ in range(3)]
        top.stdout.close()
        top.wait(30)
        top.stderr.close()
        self.assertEqual([look["version"] for look in looks], [1, 1, 1])

    def test_live_view_without_a_terminal_is_refused(self):
        done = self.top()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Acleave: [^\n]+--once[^\n]+\n\Z")

    def test_foolish_intervals_are_refused(self):
        for interval in ("0", "-1", "x", ""):
            self.assertEqual(self.top("--interval", interval).returncode, 2, interval)


class Screen:
    """`cleave top` on a terminal of its own."""

    def __init__(self, test, width=120, height=10, **settings):
        environment = test.top_environment(**settings)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(CLEAVE, ["cleave", "top", "--interval", "0.1"], environment)
        test.addCleanup(self.end)
        self.seen = b""
        self.before = termios.tcgetattr(self.terminal)
        self.resize(width, height)

    def resize(self, width, height):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds=0.3):
        """What is drawn within that time, or until the end."""
        drawn = b""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                break
            try:
                drawn += os.read(self.terminal, 65536)
            except OSError:  # it has ended
                break
        self.seen += drawn
        return drawn

    def wait_for(self, text, patience=20):
        end = time.monotonic() + patience
        while text not in self.read():
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} was not drawn: {self.seen[-2000:]!r}")

    def wait_for_its_end(self, patience=20):
        """Its exit status."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it does not end")

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        os.close(self.terminal)


class Live(TopTest):
    def test_count_processes_and_rates_are_live(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            screen = Screen(self)
            screen.wait_for(b"3 VMs on the host (monitor: connected), 0 processes")
            self.assertIn(OWN_SCREEN, screen.seen)
            monitor.count(5)
            screen.wait_for(b"5 VMs on the host")
            program = self.launches()
            program.launch_until(5)
            screen.wait_for(str(program.pid).encode() + b" launches ")
            self.assertEqual(program.end()[0], 0)
            screen.wait_for(b" 0 processes")

    def test_q_and_signals_and_control_c_leave_and_restore(self):
        for leave in (b"q", b"\x03", signal.SIGTERM, signal.SIGHUP):
            with self.subTest(leave):
                screen = Screen(self, CLEAVE_VMS="2")
                screen.wait_for(b"processes under Cleave")
                self.assertNotEqual(termios.tcgetattr(screen.terminal), screen.before)
                if isinstance(leave, bytes):
                    os.write(screen.terminal, leave)
                else:
                    os.kill(screen.pid, leave)
                self.assertEqual(screen.wait_for_its_end(), 0)
                self.assertEqual(termios.tcgetattr(screen.terminal), screen.before)
                self.assertTrue(screen.seen.rstrip().endswith(SCREEN_BEFORE), screen.seen[-100:])

    def test_lines_fit_the_terminal_and_follow_its_size(self):
        screen = Screen(self, width=40, height=2, CLEAVE_VMS="2")
        screen.wait_for(b"cleave top: 2 VMs on the host, 0 process\x1b[K")  # 40 characters
        screen.read()
        self.assertNotIn(b"program", screen.read())  # the heading is the third line
        screen.resize(60, 10)
        screen.wait_for(b"program")


main()
