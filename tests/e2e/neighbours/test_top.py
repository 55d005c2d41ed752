"""`cleave top`: its output, and its live screen, while real programs run."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time

from live_count_test import LiveCountTest
from scripted_monitor import ScriptedMonitor
from support.options import CLEAVE, main
from support.processes import cleave, wait_until

OWN_SCREEN = b"\x1b[?1049h"
SCREEN_BEFORE = b"\x1b[?1049l"


class TopTest(LiveCountTest):
    def top_environment(self, **settings):
        return self.environment(CLEAVE_REGISTRY=self.registry, CLEAVE_NEIGHBOURS=f"unix:{self.socket}", **settings)

    def top(self, *options, **settings):
        return cleave("top", *options, environment=self.top_environment(**settings))

    def once(self, **settings):
        done = self.top("--once", "--json", **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)


class Printed(TopTest):
    def test_json_has_the_figures_of_the_process_itself(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            program = self.start_program()
            program.launch_until(3)
            program.launch()
            monitor.count(1)
            program.launch_until(1)
            own = program.execute("ask")
            report = self.once()
            self.assertEqual((report["version"], report["vms"]), (1, 1))
            self.assertEqual(report["neighbours"], "monitor: connected")
            (listed,) = report["processes"]
            self.assertEqual((listed["pid"], listed["program"], listed["vms"]), (program.pid, "launch_server", 1))
            self.assertEqual(listed["devices"], 1)
            for figure in ("launches", "split", "slices", "added_ns"):
                self.assertEqual(listed[figure], own[figure], figure)
            self.assertEqual(listed["unsplit"], sum(own["unsplit"].values()))
            self.assertEqual(program.finish()[0], 0)
            self.assertEqual(self.once()["processes"], [])

    def test_killed_process_is_no_longer_listed(self):
        programs = [self.start_program(CLEAVE_VMS="2") for _ in range(2)]
        for program in programs:
            program.launch()
        self.assertEqual({each["pid"] for each in self.once()["processes"]}, {each.pid for each in programs})
        os.kill(programs[0].pid, signal.SIGKILL)
        os.waitpid(programs[0].pid, 0)
        self.assertEqual([each["pid"] for each in self.once()["processes"]], [programs[1].pid])

    def test_idle_and_opted_out_processes_are_not_listed(self):
        idle = self.start_program(CLEAVE_VMS="2")
        idle.execute("ask")
        hidden = [self.start_program(CLEAVE_VMS="2", **{name: value}) for name, value in
                  (("CLEAVE_REGISTRY", "off"), ("CLEAVE_DISABLE", "true"))]
        hidden[0].launch()
        self.assertEqual(self.once()["processes"], [])

    def test_text_has_a_line_for_each_process(self):
        program = self.start_program(CLEAVE_VMS="2")
        program.launch()
        done = self.top("--once", CLEAVE_VMS="7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("7 VMs on the host, 1 process under Cleave", done.stdout)
        self.assertRegex(done.stdout, rf"(?m)^ *{program.pid} launch_server +2 +1 ")

    def test_json_reports_until_its_output_is_closed(self):
        command = [str(CLEAVE), "top", "--json", "--interval", "0.1"]
        top = subprocess.Popen(command, env=self.top_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reports = [json.loads(top.stdout.readline()) for _ in range(3)]
        top.stdout.close()
        top.wait(30)
        top.stderr.close()
        self.assertEqual([report["version"] for report in reports], [1, 1, 1])

    def test_killed_leaves_no_file_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [str(CLEAVE), "top", "--json", "--interval", "0.1"]
            with subprocess.Popen(command, env=self.top_environment(TMPDIR=folder), stdout=subprocess.PIPE) as top:
                top.stdout.readline()
                top.kill()
            self.assertEqual(os.listdir(folder), [])

    def test_live_view_without_a_terminal_is_refused(self):
        done = self.top()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Acleave: [^\n]+--once[^\n]+\n\Z")

    def test_invalid_intervals_are_refused(self):
        for interval in ("0", "-1", "x", ""):
            self.assertEqual(self.top("--interval", interval).returncode, 2, interval)


class Screen:
    """`cleave top` on a terminal of its own."""

    def __init__(self, test, width=120, height=10, **settings):
        environment = test.top_environment(TERM="xterm", **settings)
        wait, go = os.pipe()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.read(wait, 1)
            os.execve(CLEAVE, ["cleave", "top", "--interval", "0.1"], environment)
        test.addCleanup(self.close)
        self.drawn_so_far = b""
        self.before = termios.tcgetattr(self.terminal)  # the program changes it
        os.write(go, b"x")
        os.close(wait)
        os.close(go)
        self.resize(width, height)

    def resize(self, width, height):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds=0.3):
        """What is drawn within that time, or until the program's end."""
        drawn = b""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                break
            try:
                drawn += os.read(self.terminal, 65536)
            except OSError:  # it has ended
                break
        self.drawn_so_far += drawn
        return drawn

    def wait_for(self, text):
        """Ctrl-L has everything drawn, and not only what has changed."""
        def is_drawn():
            os.write(self.terminal, b"\x0c")
            return text in self.read()

        wait_until(is_drawn, lambda: f"{text!r} was not drawn: {self.drawn_so_far[-2000:]!r}")

    def wait_for_exit(self):
        """Returns its exit status."""
        statuses = []

        def has_ended():
            self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                statuses.append(os.waitstatus_to_exitcode(status))
            return done

        wait_until(has_ended, "it does not end")
        self.pid = 0
        return statuses[0]

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        os.close(self.terminal)


class Live(TopTest):
    def test_count_and_processes_are_updated(self):
        with ScriptedMonitor(self.socket, count=3) as monitor:
            screen = Screen(self)
            screen.wait_for(b"3 VMs on the host (monitor: connected), 0 processes")
            self.assertIn(OWN_SCREEN, screen.drawn_so_far)
            monitor.count(5)
            screen.wait_for(b"5 VMs on the host")
            program = self.start_program()
            program.launch_until(5)
            screen.wait_for(str(program.pid).encode() + b" ")
            self.assertEqual(program.finish()[0], 0)
            screen.wait_for(b" 0 processes")

    def test_q_signals_and_control_c_restore_the_screen(self):
        for quit_by in (b"q", b"\x03", signal.SIGTERM, signal.SIGHUP):
            with self.subTest(quit_by):
                screen = Screen(self, CLEAVE_VMS="2")
                screen.wait_for(b"processes under Cleave")
                self.assertNotEqual(termios.tcgetattr(screen.terminal), screen.before)
                if isinstance(quit_by, bytes):
                    os.write(screen.terminal, quit_by)
                else:
                    os.kill(screen.pid, quit_by)
                self.assertEqual(screen.wait_for_exit(), 0)
                self.assertEqual(termios.tcgetattr(screen.terminal), screen.before)
                self.assertIn(SCREEN_BEFORE, screen.drawn_so_far.rpartition(OWN_SCREEN)[2])

    def test_lines_fit_the_terminal_and_follow_its_size(self):
        screen = Screen(self, width=40, height=2, CLEAVE_VMS="2")
        screen.wait_for(b"cleave top: 2 VMs on the host, 0 process")  # 40 characters
        self.assertNotIn(b"COMMAND", screen.drawn_so_far)
        screen.resize(60, 10)
        screen.wait_for(b"COMMAND")



main()
