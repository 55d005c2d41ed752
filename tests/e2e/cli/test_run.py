"""`cleave run` is transparent to the program and to its parent process: exit status, signals, arguments, streams."""

import os
import signal
import subprocess
import sys

from command_test import CommandTest
from support.options import CLEAVE, FOLDER, main
from support.processes import clean_environment

ALL_BYTES = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)"
SHOW_ARGUMENTS = "import sys; print(sys.argv[1:])"


class ExitStatus(CommandTest):
    def test_is_that_of_the_program(self):
        for status in (0, 1, 2, 3, 126, 127, 255):
            done = self.cleave("run", "--", "sh", "-c", f"exit {status}")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, b"", b""))

    def test_127_if_the_program_is_not_found(self):
        for name in ("no-such-program", "./no-such-program"):
            done = self.cleave("run", name, cwd=self.folder)
            self.assertEqual(done.returncode, 127)
            self.assertRegex(done.stderr, rb"\Acleave: cannot run [^\n]*no-such-program: [^\n]+\n\Z")

    def test_126_if_the_program_cannot_be_executed(self):
        text = self.folder / "text"
        text.write_text("no program")
        text.chmod(0o644)
        for file in (text, self.folder):
            done = self.cleave("run", file)
            self.assertEqual(done.returncode, 126)
            self.assertRegex(done.stderr, rb"\Acleave: cannot run [^\n]+\n\Z")


class Sanitizers(CommandTest):
    """AddressSanitizer ends a program in which its library is not the first one."""

    SOURCE = ('#include <cstdio>\n#include <cstdlib>\n'
              'int main() { const char* p = std::getenv("LD_PRELOAD"); std::puts(p ? p : "nothing"); }')

    def program(self):
        program = self.compile("sanitized", self.SOURCE, "-fsanitize=address")
        if program is None:
            self.skipTest("the compiler has no sanitizers here")
        native = self.cleave(command=program)
        self.assertEqual((native.returncode, native.stdout), (0, b"nothing\n"), native.stderr)
        return program

    def test_program_starts_and_nothing_is_preloaded(self):
        for command in ((), (CLEAVE, "run", "--"), ("sh", "-c", f"exec '{CLEAVE}' run -- \"$0\"")):
            done = self.cleave("run", "--", *command, self.program())
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(done.stdout, b"nothing\n")

    def test_script_of_such_an_interpreter_starts(self):
        script = self.script("script", f"#!{self.program()}\n")
        done = self.cleave("run", "--", script)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"nothing\n", b""))

    def test_child_of_another_program_starts(self):
        done = self.cleave("run", "--", "sh", "-c", '"$0"; exit $?', self.program())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(str(FOLDER).encode(), done.stdout)

    def test_what_the_user_preloads_stays(self):
        environment = {"LD_PRELOAD": "libm.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"}
        done = self.cleave("run", "--", self.program(), environment=environment)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"libm.so.6\n", b""))


class Signals(CommandTest):
    def test_fatal_signals_are_reported_to_the_parent(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1):
            done = self.cleave("run", "--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(done.returncode, -number)

    def test_fatal_signals_are_reported_to_a_shell(self):
        line = f"'{CLEAVE}' run -- sh -c 'kill -TERM $$'; echo $?"
        done = subprocess.run(["sh", "-c", line], env=clean_environment(), capture_output=True, check=True)
        self.assertEqual(done.stdout, b"143\n")

    def test_are_delivered_to_the_program(self):
        answer = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.05; done"
        with subprocess.Popen(
            [CLEAVE, "run", "--", "sh", "-c", answer], env=clean_environment(), stdout=subprocess.PIPE
        ) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.terminate()
            self.assertEqual(process.wait(timeout=20), 42)


class Streams(CommandTest):
    def test_output_is_unchanged(self):
        native = subprocess.run([sys.executable, "-c", ALL_BYTES], capture_output=True, check=True)
        done = self.cleave("run", "--vms", "5", "--", sys.executable, "-c", ALL_BYTES)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, native.stdout)

    def test_input_goes_to_the_program(self):
        self.assertEqual(self.cleave("run", "cat", input=b"in\0put").stdout, b"in\0put")


class Arguments(CommandTest):
    def shown(self, *arguments):
        done = self.cleave("run", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode().strip()

    def test_of_the_program_are_passed_unchanged(self):
        theirs = ["--vms", "9", "--", "-h", "--help", "--stats", "run", "doctor", "", "a b", "--version"]
        for ours in ([], ["--"], ["--vms", "3"], ["--vms=3", "--stats", "--"], ["--stats", "--alpha", "2"]):
            self.assertEqual(self.shown(*ours, sys.executable, "-c", SHOW_ARGUMENTS, *theirs), str(theirs))

    def test_program_may_be_called_like_a_subcommand(self):
        for name in ("run", "doctor", "probe"):
            self.script(name, f"#!/bin/sh\necho program {name}\n")
            path = f"{self.folder}:{os.environ['PATH']}"
            done = self.cleave("run", "--vms", "2", name, environment={"PATH": path})
            self.assertEqual(done.stdout.decode(), f"program {name}\n")


class CommandLine(CommandTest):
    def rejected(self, *arguments):
        done = self.cleave(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
        self.assertRegex(done.stderr, rb"\Acleave: [^\n]+\n\Z")
        return done.stderr.decode()

    def test_invalid_values_are_named(self):
        bad = {
            "--vms": ["0", "-1", "x", "3x", "", "1.5", "99999999999999999999"],
            "--alpha": ["0", "-4", "much", "1e99"],
            "--policy": ["fixed", "fixed:", "fixed:0", "fixed:x", "offf", ""],
            "--launch": ["fast", ""],
            "--wait": ["rudely", ""],
            "--config": ["/no/such/file.toml", "/"],
        }
        for option, values in bad.items():
            for value in values:
                message = self.rejected("run", f"{option}={value}", "--", "true")
                if value:
                    self.assertIn(option, message)
                    self.assertIn(value, message)

    def test_unknown_options_and_missing_programs_are_named(self):
        self.assertIn("--bogus", self.rejected("run", "--bogus", "true"))
        self.assertIn("no program", self.rejected("run"))
        self.assertIn("no program", self.rejected("run", "--vms", "3", "--"))
        self.assertIn("nonsense", self.rejected("nonsense"))
        self.assertIn("--timeout", self.rejected("doctor", "--timeout", "soon"))

    def test_help_and_version_are_printed(self):
        self.assertRegex(self.cleave("--version").stdout, rb"\Acleave \d+\.\d+\.\d+\n\Z")
        for arguments in ([], ["--help"]):
            done = self.cleave(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"doctor", done.stdout)
            self.assertNotIn(b"probe", done.stdout)
        self.assertIn(b"[--] PROGRAM", self.cleave("run", "--help").stdout)


main()
