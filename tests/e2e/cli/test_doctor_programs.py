"""`cleave doctor PROGRAM`: whether Cleave would intercept the program's calls, and if not, why."""

import os
import random
import shutil
import struct
import sys

from command_test import CommandTest
from support.options import OPTIONS, main

EMPTY_PROGRAM = "int main() {}"
OPENCL_PROGRAM = 'extern "C" int clGetPlatformIDs(unsigned, void*, unsigned*);\nint main() { clGetPlatformIDs(0, 0, 0); }'


class Programs(CommandTest):
    def examine(self, program, **environment):
        """The report's lines about the program. Without drivers, which are slow and do not matter here."""
        vendors = self.folder / "no-drivers"
        vendors.mkdir(exist_ok=True)
        _, report = self.doctor(program, OCL_ICD_VENDORS=str(vendors), **environment)
        self.assertIn(f"Program {program}\n", report)
        return report.split(f"Program {program}\n")[1].split("\n\n")[0]

    def assertIntercepted(self, lines):
        self.assertNotRegex(lines, r"(?m)^  problem ")
        self.assertIn("start it with: cleave run -- ", lines)

    def assertNotIntercepted(self, lines, why):
        self.assertRegex(lines, rf"(?m)^  problem  [^\n]*{why}[^\n]*\n +-> \S")
        self.assertNotIn("start it with", lines)

    def test_exit_status_includes_the_program(self):
        self.assertEqual(self.doctor("sh")[0], 0)
        self.assertEqual(self.doctor("no-such-program")[0], 1)


class Elf(Programs):
    def write(self, name, contents):
        file = self.folder / name
        file.write_bytes(contents)
        file.chmod(0o755)
        return file

    def test_program_linked_against_opencl_is_intercepted(self):
        program = self.compile("linked", OPENCL_PROGRAM, "-lOpenCL", "-Wl,-rpath,/nowhere")
        lines = self.examine(program)
        self.assertIntercepted(lines)
        self.assertIn("it is linked against libOpenCL.so.1: intercepted by the preloaded library", lines)
        self.assertRegex(lines, r"note +DT_RUNPATH /nowhere|note +DT_RPATH /nowhere")

    def test_program_with_a_sanitizer_is_intercepted_without_preloading(self):
        program = self.compile("sanitized", OPENCL_PROGRAM, "-fsanitize=address", "-lOpenCL")
        if program is None:
            self.skipTest("the compiler has no sanitizers here")
        lines = self.examine(program)
        self.assertIntercepted(lines)
        self.assertRegex(lines, "it needs lib[^ ]*asan[^ ]*, which must be the first of its libraries: nothing is preloaded")

    def test_program_not_linked_against_opencl_is_intercepted(self):
        lines = self.examine(self.compile("unlinked", EMPTY_PROGRAM))
        self.assertIntercepted(lines)
        self.assertIn("it is not linked against OpenCL itself", lines)

    def test_statically_linked_program_is_not_intercepted(self):
        program = self.compile("static", EMPTY_PROGRAM, "-static")
        if program is None:
            self.skipTest("the compiler cannot link statically here")
        self.assertNotIntercepted(self.examine(program), "statically linked")

    def test_32_bit_program_is_not_intercepted(self):
        identity = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
        header = struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 0, 0, 0, 0)
        self.assertNotIntercepted(self.examine(self.write("old", identity + header)), "32-bit x86 program")

    def test_program_for_another_processor_is_not_intercepted(self):
        identity = b"\x7fELF" + bytes([2, 2, 1]) + bytes(9)
        header = struct.pack(">HHIQQQIHHHHHH", 2, 21, 1, 0, 64, 0, 0, 64, 56, 0, 0, 0, 0)
        self.assertNotIntercepted(self.examine(self.write("big", identity + header)), "64-bit PowerPC program")

    def test_damaged_program_is_not_intercepted(self):
        with open(sys.executable, "rb") as file:
            start = file.read(4096)
        for size in (4, 16, 19, 40, 63, 100):
            self.assertNotIntercepted(self.examine(self.write(f"short{size}", start[:size])), "damaged")

    def test_any_file_contents_get_a_report(self):
        whole = self.compile("whole", OPENCL_PROGRAM, "-lOpenCL").read_bytes()
        chance = random.Random(4)
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 30)):
                damaged[chance.randrange(16, 4096 if chance.random() < 0.2 else 1000)] = chance.choice((0, 1, 127, 255))
            self.assertTrue(self.examine(self.write("damaged", damaged)))


class Scripts(Programs):
    def test_interpreter_is_examined(self):
        for line in ("#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "#!/usr/bin/env -S A=1 sh -e"):
            lines = self.examine(self.script("script", f"{line}\ntrue\n"))
            self.assertIntercepted(lines)
            self.assertRegex(lines, r"note +it is a script, run by /\S*/sh;")

    def test_script_without_its_interpreter_is_not_intercepted(self):
        for line in ("#!/no/such/interpreter", "#!/usr/bin/env no-such-interpreter", "#!"):
            self.assertNotIntercepted(self.examine(self.script("script", f"{line}\n")), "interpreter")

    def test_interpreter_that_is_itself_a_script_is_not_followed(self):
        inner = self.script("inner", "#!/bin/sh\n")
        self.assertIn("not examined further", self.examine(self.script("outer", f"#!{inner}\n")))

    def test_file_that_is_neither_program_nor_script_is_named_so(self):
        self.assertNotIntercepted(self.examine(self.script("text", "words\n")), "neither")


class Files(Programs):
    def test_program_that_is_not_found_is_named(self):
        self.assertNotIntercepted(self.examine("no-such-program"), "is not in PATH")
        self.assertNotIntercepted(self.examine("/no/such/program"), "does not exist")
        self.assertNotIntercepted(self.examine(self.folder), "is not a file")

    def test_program_without_the_right_to_execute_is_named(self):
        file = self.script("program", "#!/bin/sh\n")
        file.chmod(0o644)
        self.assertNotIntercepted(self.examine(file), "is not executable")

    def test_program_is_found_in_path(self):
        self.script("my-program", "#!/bin/sh\n")
        lines = self.examine("my-program", PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertIn(f"the file is {self.folder}/my-program", lines)


ASKING = 'extern "C" int clGetPlatformIDs(unsigned, void*, unsigned*);\nint main(int n, char**) { return n != 3 || clGetPlatformIDs(0, 0, 0); }'
OPENING = '''#include <dlfcn.h>
int main(int, char** arguments) {
  auto* f = reinterpret_cast<int (*)(unsigned, void*, unsigned*)>(dlsym(dlopen(arguments[1], RTLD_NOW), "clGetPlatformIDs"));
  unsigned count = 0;
  f(0, nullptr, &count);
}'''


class Loaders(Programs):
    """`cleave doctor --run`: the program's loader natively and under Cleave."""

    def compare(self, *command, **environment):
        vendors = self.folder / "no-drivers"
        vendors.mkdir(exist_ok=True)
        environment.setdefault("OCL_ICD_VENDORS", str(vendors))
        _, report = self.doctor("--timeout", "60", "--run", *command, **environment)
        return report.split(f"Loader of {command[0]}\n")[1].split("\n\n")[0]

    def test_same_for_a_linked_program_that_gets_its_arguments(self):
        lines = self.compare(self.compile("asking", ASKING, "-lOpenCL"), "--run", "-x")
        self.assertIn(f"natively: {OPTIONS.loader}\n", lines)
        self.assertIn(f"under Cleave: {OPTIONS.loader}\n", lines)
        self.assertIn("ok       Cleave changes nothing about the loader", lines)

    def test_same_for_programs_that_open_it(self):
        program = self.compile("opening", OPENING)
        self.assertIn("Cleave changes nothing", self.compare(program, "libOpenCL.so.1"))
        lines = self.compare(program, OPTIONS.loader)
        self.assertIn("Cleave changes nothing", lines)
        self.assertIn("by its path: Cleave is in the loader's layer", lines)

    def test_difference_that_the_user_asks_for(self):
        other = shutil.copy(OPTIONS.loader, self.folder / "libOpenCL-other.so.1")
        lines = self.compare(self.compile("opening", OPENING), "libOpenCL.so.1", CLEAVE_NEXT=other)
        self.assertIn(f"under Cleave: {other}\n", lines)
        self.assertIn("they differ, as CLEAVE_NEXT asks for", lines)

    def test_program_that_does_not_use_opencl(self):
        self.assertIn("it did not use OpenCL in this run", self.compare("true"))

    def test_program_that_is_missing_in_the_command_line(self):
        done = self.cleave("doctor", "--run")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"cleave doctor --run PROGRAM", done.stderr)


class Privileges(Programs):
    def test_set_uid_to_another_user_is_not_intercepted(self):
        if os.getuid() != 0:
            self.skipTest("only root can give files away")
        program = self.compile("raised", EMPTY_PROGRAM)
        os.chown(program, 65534, 0)
        program.chmod(0o4755)
        self.assertNotIntercepted(self.examine(program), "set-uid")
        os.chown(program, 0, 65534)
        program.chmod(0o2755)
        self.assertNotIntercepted(self.examine(program), "set-gid")

    def test_set_uid_to_the_same_user_is_harmless(self):
        program = self.compile("same", EMPTY_PROGRAM)
        program.chmod(0o4755)
        self.assertIntercepted(self.examine(program))

    def test_recommended_copy_is_intercepted(self):
        program = self.compile("raised", EMPTY_PROGRAM)
        if os.getuid() == 0:
            os.chown(program, 65534, 0)
        program.chmod(0o4755)
        self.assertIntercepted(self.examine(shutil.copyfile(program, self.script("copy", ""))))


main()
