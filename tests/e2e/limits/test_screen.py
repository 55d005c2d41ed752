"""The live screen of `cleave top`, on a terminal of tmux's, alongside processes of two tenants."""

import re
import shlex
import shutil
import subprocess

from limits_test import LimitsTest
from support.options import CLEAVE, OPTIONS, main, skip
from support.processes import wait_until

TMUX = shutil.which("tmux")
if TMUX is None:
    skip("tmux is not installed (Debian's package tmux)")

MARK = "this was here before"


class ScreenTest(LimitsTest):
    def setUp(self):
        super().setUp()
        self.place = self.own_folder()
        self.pids = {}
        for tenant in ("alice", "bob"):
            process = self.start(OPTIONS.programs.parent / "turns" / "turn_taker", 0, "paired", CLEAVE_TENANT=tenant,
                                 CLEAVE_CAP="50%", CLEAVE_MEMORY_LIMIT="64M", CLEAVE_MIN_ITEMS="0")
            self.pids[tenant] = process.pid
            self.play_rounds(process, 6 if tenant == "alice" else 1)
        command = " ".join(map(shlex.quote, [str(CLEAVE), "top", "--interval", "0.2"]))
        (self.place / "run").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (self.place / "run").chmod(0o755)
        (self.place / "tmux.conf").write_text("set -g default-shell /bin/sh\nset -g escape-time 0\n")
        self.tmux("new-session", "-d", "-x", "150", "-y", "24", "-c", self.place, "exec /bin/sh -i")
        self.addCleanup(self.tmux, "kill-server", check=False)
        self.type(f"stty -g > before; echo {MARK}")
        self.wait_for("(?m)^" + MARK)

    @staticmethod
    def play_rounds(process, rounds):
        for _ in range(rounds):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "next\n"

    def tmux(self, *words, check=True):
        command = [TMUX, "-u", "-S", self.place / "tmux", "-f", self.place / "tmux.conf", *words]
        environment = self.settings(PS1="$ ", LC_ALL="C.UTF-8", SHELL="/bin/sh")
        for name in ("ENV", "TMUX", "NO_COLOR"):
            environment.pop(name, None)
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        """At the shell's prompt: what is typed before is shown in front of it."""
        wait_until(lambda: self.screen().rstrip().split("\n")[-1] == "$", lambda: f"there is no prompt:\n{self.screen()}")
        self.tmux("send-keys", "-l", line)
        self.press("Enter")

    def wait_for(self, pattern):
        """Until the screen has it. Returns the screen."""
        seen = [""]

        def is_there():
            seen[0] = self.screen()
            return re.search(pattern, seen[0])

        wait_until(is_there, lambda: f"{pattern!r} is not on the screen:\n{seen[0]}")
        return seen[0]

    def start_top(self, *options, before=""):
        self.type(f"{before} ./run {' '.join(options)}; echo status $?; stty -g > after; echo over")
        self.wait_for("F10Quit")

    def wait_for_end(self):
        screen = self.wait_for("(?m)^over$")
        self.assertRegex(screen, "(?m)^status 0$")
        return screen

    def wait_for_tenants(self, *tenants):
        """Until the rows are those of these tenants, in that order."""
        wait_until(lambda: re.findall(r"\b(alice|bob)\b", self.screen().split("TENANT ", 1)[-1]) == list(tenants),
                   lambda: f"not {tenants}:\n{self.screen()}")

    def times_fall(self, rising=False):
        rows = re.findall(r"(?m)^\d+ .* (\d+):(\d+\.\d+) +\d+:\d+\.\d+ ", self.screen())
        times = [60 * int(minutes) + float(seconds) for minutes, seconds in rows]
        return len(times) == 2 and times == sorted(times, reverse=not rising)

    def settings_of_terminal(self, when):
        return (self.place / when).read_text()


class Keys(ScreenTest):
    def test_order_views_filter_and_size_follow_the_keys(self):
        self.start_top("--sort", "tenant")
        self.wait_for(r"2 processes by TENANT, rising")
        self.wait_for_tenants("alice", "bob")
        for tenant, pid in self.pids.items():
            self.wait_for(rf"(?m)^{pid} +\S+ +{tenant} +0 +norm +100 +50% ")
        self.wait_for(r"(?m)^ 0 .*held by .* booked")

        self.press("I")
        self.wait_for("by TENANT, falling")
        self.wait_for_tenants("bob", "alice")
        self.press("T")
        self.wait_for(r"by TIME\+, falling")
        wait_until(self.times_fall, lambda: f"TIME+ does not fall:\n{self.screen()}")
        self.press("I")
        self.wait_for(r"by TIME\+, rising")
        wait_until(lambda: self.times_fall(rising=True), lambda: f"TIME+ does not rise:\n{self.screen()}")
        self.press("<")
        self.wait_for("by WAIT%, falling")
        self.press("F6")
        self.wait_for("(?m)^> WAIT%")
        self.press("Home", "Enter")
        self.wait_for("by PID, rising")
        self.wait_for_tenants(*sorted(self.pids, key=self.pids.get))

        self.press("/", "B", "O", "B")
        self.wait_for("Filter: BOB_")
        self.wait_for_tenants("bob")
        self.press("Enter")
        self.wait_for("1 process by PID, .*, filter: BOB")
        self.press("F4", "Escape")
        self.wait_for_tenants(*sorted(self.pids, key=self.pids.get))

        self.press("t")
        self.assertNotIn("COMMAND", self.wait_for(r"(?m)^TENANT +DV PROCS .*HISTORY"))
        self.wait_for(r"(?m)^alice +0 +1 +100 +50% ")
        self.press("d")
        self.wait_for("2 tenants .*, device 0")
        self.press("d")
        self.wait_for(r"2 tenants [^\n]*every 0.2 s\n")

        self.press("F1")
        self.wait_for(r"(?m)^  t +tenants, or processes")
        self.press("PageDown")
        self.wait_for(r"(?m)^  COMMAND ")
        self.press("Escape")
        self.wait_for("(?m)^alice")

        self.press("p")
        self.wait_for("PAUSED")
        self.press("+", "Space")
        self.wait_for(r"every 0.5 s\n")
        self.press("s", "0", ".", "3", "Enter")
        self.wait_for(r"every 0.3 s\n")

        self.press("t")
        self.tmux("resize-window", "-x", "60", "-y", "9")
        narrow = self.wait_for(r"\nPID((?!HISTORY)[^\n])*COMMAND")
        self.assertLessEqual(max(map(len, narrow.splitlines())), 60)
        self.tmux("resize-window", "-x", "12", "-y", "3")
        self.wait_for("too small")
        self.tmux("resize-window", "-x", "150", "-y", "24")
        self.wait_for(r"(?m)^PID .*HISTORY")

        self.press("q")
        screen = self.wait_for_end()
        self.assertIn(MARK, screen)
        self.assertNotIn("PROCS", screen)
        self.assertEqual(self.settings_of_terminal("after"), self.settings_of_terminal("before"))


class Terminals(ScreenTest):
    def test_stopped_and_continued_it_gives_the_terminal_back_and_takes_it_again(self):
        self.start_top("--by", "tenant")
        self.press("C-z")
        stopped = self.wait_for("(?i)stopped")
        self.assertIn(MARK, stopped)
        self.assertNotIn("F10Quit", stopped)
        self.type("stty -g > stopped; echo looked")
        self.wait_for("(?m)^looked$")
        self.assertEqual(self.settings_of_terminal("stopped"), self.settings_of_terminal("before"))
        self.type("fg")
        self.wait_for(r"(?m)^TENANT(.|\n)*F10Quit")
        self.press("F1")
        self.wait_for("Keys ")
        self.press("C-c")
        # The shell went on behind the stopped command, so "over" is there already.
        self.type("stty -g > continued; echo ended")
        self.assertIn(MARK, self.wait_for("(?m)^ended$"))
        self.assertEqual(self.settings_of_terminal("continued"), self.settings_of_terminal("before"))

    def test_colours_and_blocks_are_for_terminals_that_have_them(self):
        colour = re.compile(r"\x1b\[[0-9;]*(?<![0-9])[34][0-7][;m]")
        self.start_top()
        self.assertRegex(self.screen("-e"), colour)
        self.press("q")
        self.wait_for_end()
        self.type("clear")
        self.start_top(before="NO_COLOR=1 LC_ALL=C")
        self.wait_for(r"(?m)^PID ")
        self.assertNotRegex(self.screen("-e"), colour)
        self.assertTrue(self.screen().isascii())
        self.press("F10")
        self.wait_for_end()

    def test_terminal_without_a_cursor_is_refused(self):
        for terminal in ("dumb", "no-such-terminal"):
            self.type(f"TERM={terminal} ./run; echo status of {terminal}: $?")
            self.assertIn(f"cleave: TERM={terminal} is unknown, or cannot place its cursor",
                          self.wait_for(f"(?m)^status of {terminal}: 2$"))


class Options(LimitsTest):
    def test_mistakes_are_refused_in_a_line(self):
        for options in (("--sort", "nothing"), ("--by", "user"), ("--device", "-1"), ("--device", "x"),
                        ("--once", "--sort", "pid"), ("--json", "--by", "tenant")):
            done = subprocess.run([str(CLEAVE), "top", *options], env=self.settings(), capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertRegex(done.stderr, r"\Acleave: [^\n]+\n\Z")


main()
