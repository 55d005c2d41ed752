"""A program finds in shared virtual memory through a server what it finds there beside its driver."""

from compare import LIBRARIES, OPTIONS, ComparedTest, main
from serving import Server

PROGRAM = OPTIONS.programs / "shared_memory"


class SharedVirtualMemory(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "remote.icd").write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        (cls.folder / "empty").mkdir()

    def setUp(self):
        super().setUp()
        self.server = Server(self.folder / str(len(list(self.folder.iterdir()))), self.environment())
        self.addCleanup(self.server.end)

    def run_remote(self, way, transport, *command, **settings):
        vendors = self.folder / "remote.icd" if way == "native" else f"{self.folder / 'empty'}/"
        return self.run_program(way, *command, OCL_ICD_VENDORS=vendors,
                                CLEAVE_REMOTE=self.server.addresses[transport], **settings)

    def test_the_program_finds_the_same(self):
        native = self.native(PROGRAM)
        for way, transport in (("native", "tcp"), ("native", "unix"), ("preload", "tcp")):
            run = self.run_remote(way, transport, PROGRAM)
            self.assertSame(native, run)
            self.assertEqual(run.err, native.err, run)
        self.assertNotIn("crashed", self.server.log.read_text())

    def test_it_is_the_same_whichever_addresses_there_are(self):
        """They are random: where one of the server's is in use by the client it has to take another one."""
        native = self.native(PROGRAM)
        for _ in range(5):
            self.assertSame(native, self.run_remote("native", "unix", PROGRAM))


if __name__ == "__main__":
    main()
