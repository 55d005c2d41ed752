"""A context over the devices of two servers does what one over a single device does, and when a server goes, the other goes on."""

from compare import LIBRARIES, OPTIONS, ComparedTest, main
from serving import Server

PROGRAM = OPTIONS.programs / "several_servers"


class Several(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.icd = cls.folder / "remote.icd"
        cls.icd.write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        (cls.folder / "empty").mkdir()

    def setUp(self):
        super().setUp()
        self.servers = [self.start(name) for name in ("one", "two")]

    def start(self, name):
        server = Server(self.folder / f"{self.id()}-{name}", self.environment())
        self.addCleanup(server.end)
        return server

    def run_remote(self, way, transports, *command, **settings):
        places = ",".join(s.addresses[t] for s, t in zip(self.servers, transports))
        vendors = self.icd if way == "native" else f"{self.folder / 'empty'}/"
        return self.run_program(way, *command, OCL_ICD_VENDORS=vendors, CLEAVE_REMOTE=places, **settings)

    def test_results_are_those_of_one_device(self):
        native = self.native(PROGRAM)
        for way, transports in (("native", ("unix", "unix")), ("native", ("tcp", "unix")), ("preload", ("tcp", "tcp"))):
            run = self.run_remote(way, transports, PROGRAM)
            self.assertSame(native, run)
            self.assertEqual(run.err, native.err, run)
        for server in self.servers:
            self.assertNotIn("crashed", server.log.read_text())


if __name__ == "__main__":
    main()
