"""A program whose source includes files of the client's machine builds through a server as it does with a local driver,
and the server keeps nothing of it."""

import os
import re
import shutil
from pathlib import Path

from support.options import main
from support.programs import PYTHON
from support.remote import RemoteTest

PROGRAM = Path(__file__).with_name("include_programs.py")
TOO_LARGE = """
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


class Includes(RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.temporary = cls.folder / "temporary"
        cls.temporary.mkdir()

    def serve(self, name, *options):
        environment = self.environment(POCL_CACHE_DIR=self.folder / name / "kernels", TMPDIR=self.temporary)
        return self.start_server(name, *options, environment=environment)

    def work_folder(self, name):
        work = self.folder / name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        return work

    def assertBuildsAsNatively(self, name, transport, *arguments):
        native = self.run_native(PYTHON, PROGRAM, self.work_folder(name), *arguments)
        server = self.serve("server")
        self.assertSameRemotely(native, "native", server.addresses[transport], PYTHON, PROGRAM, self.work_folder(name), *arguments)
        server.wait_for(lambda: not server.left_in(self.temporary), "files are left behind")
        return native

    def test_programs_build_as_with_a_local_driver(self):
        native = self.assertBuildsAsNatively("work", "tcp")
        numbers = dict(re.findall(r"^(.+): (-?\d+), the same options$", native.out, re.MULTILINE))
        self.assertGreater(len(numbers), 25, "the native run built hardly anything\n" + native.out)

    def test_folder_with_an_unusual_name_builds_as_natively(self):
        self.assertBuildsAsNatively("w%ork, ünusual", "unix", "some")

    def test_log_names_includes_that_could_not_be_sent(self):
        work = self.work_folder("too large")
        (work / "large.h").write_text("// something\n" * 1000)
        server = self.serve("small", "--program-size", "4K")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(work)
        run = self.run_remotely("native", server.addresses["unix"], PYTHON, "-c", TOO_LARGE)
        self.assertEqual(run.status, 0, run)
        lines = run.out.splitlines()
        self.assertEqual(lines[0], "-11", run)
        self.assertIn("'large.h' file not found", run.out)
        self.assertIn("cleave: the included files are larger than the server accepts", lines)
        self.assertIn("cleave: a file that it includes is named by the expansion of a macro", lines)
        self.assertIn("-w", lines, "the program's own options")


if __name__ == "__main__":
    main()
