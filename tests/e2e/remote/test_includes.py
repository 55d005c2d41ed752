"""A program whose text includes files of its own machine builds through a server as it does beside its driver, and nothing
stays behind at the server."""

import os
import re
import shutil
from pathlib import Path

from compare import LIBRARIES, ComparedTest, main
from serving import Server

PROGRAM = Path(__file__).with_name("including.py")


class Includes(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "remote.icd").write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        cls.temporary = cls.folder / "temporary"
        cls.temporary.mkdir()

    def serve(self, name, **settings):
        environment = self.environment(POCL_CACHE_DIR=self.folder / name / "kernels", TMPDIR=self.temporary, **settings)
        server = Server(self.folder / name, environment)
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


if __name__ == "__main__":
    main()
