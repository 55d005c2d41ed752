"""A program whose text includes files of its own machine builds through a server as it does beside its driver, and nothing
stays behind at the server."""

import os
import re
import shutil
from pathlib import Path

from compare import LIBRARIES, ComparedTest, main
from serving import Server

PROGRAM = Path(__file__).with_name("including.py")
TOO_MUCH = """
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices())
program = cl._cl._Program(context, '#include "large.h"\\n#include NAMED(x)\\nkernel void nothing() {}')
try:
    program._build(b"-w", context.devices)
except cl.Error as error:
    print(error.code)
print(program.get_build_info(context.devices[0], cl.program_build_info.LOG))
print(program.get_build_info(context.devices[0], cl.program_build_info.OPTIONS))
"""


class Includes(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "remote.icd").write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        cls.temporary = cls.folder / "temporary"
        cls.temporary.mkdir()

    def serve(self, name, *options):
        environment = self.environment(POCL_CACHE_DIR=self.folder / name / "kernels", TMPDIR=self.temporary)
        server = Server(self.folder / name, environment, *options)
        self.addCleanup(server.end)
        return server

    def run_remote(self, server, transport, *command):
        return self.run_program("native", *command, OCL_ICD_VENDORS=self.folder / "remote.icd",
                                CLEAVE_REMOTE=server.addresses[transport])

    def work_folder(self, name="work"):
        work = self.folder / name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        return work

    def compare(self, name, *transports):
        native = self.native("/usr/bin/python3", PROGRAM, self.work_folder(name))
        server = self.serve("server")
        for transport in transports:
            run = self.run_remote(server, transport, "/usr/bin/python3", PROGRAM, self.work_folder(name))
            self.assertSame(native, run)
        self.assertEqual(os.listdir(self.temporary), [], "left behind")
        return native

    def test_programs_build_as_beside_the_driver(self):
        native = self.compare("work", "tcp", "unix")
        numbers = dict(re.findall(r"^(.+): (-?\d+), the same options$", native.out, re.MULTILINE))
        self.assertGreater(len(numbers), 25, "the native run says little\n" + native.out)

    def test_the_folders_name_may_be_unusual(self):
        self.compare("w%ork, ünusual", "unix")

    def test_what_cannot_be_had_is_said_in_the_log(self):
        work = self.work_folder("too much")
        (work / "large.h").write_text("// something\n" * 1000)
        server = self.serve("small", "--program-size", "4K")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(work)
        run = self.run_remote(server, "unix", "/usr/bin/python3", "-c", TOO_MUCH)
        self.assertEqual(run.status, 0, run)
        lines = run.out.splitlines()
        self.assertEqual(lines[0], "-11", run)
        self.assertIn("'large.h' file not found", run.out)
        self.assertIn("cleave: the server does not take so much of what programs include", lines)
        self.assertIn("cleave: a file that it includes is named by the expansion of a macro", lines)
        self.assertIn("-w", lines, "the program's own options")


if __name__ == "__main__":
    main()
