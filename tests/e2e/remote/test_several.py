"""A context over the devices of two servers does what one over a single device does, and when a server goes, the other goes on."""

import subprocess

from compare import LIBRARIES, OPTIONS, ComparedTest, main
from serving import Server

# A driver on which nothing overtakes a command that waits.
IN_TURN = (OPTIONS.programs / "in_turn_stand_in.so").resolve(strict=True)

LOST = """\
what waits for the lost one ends with an error
the lost one's own: not available
a launch there: not available
finishing there: not available
a launch on the other with what was lost: not available
with its own: well
with new contents: well
"""


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

    def start(self, name, *options):
        server = Server(self.folder / f"{self.id()}-{name}", self.environment(), *options)
        self.addCleanup(server.end)
        return server

    def run_remote(self, way, transports, *command, **settings):
        places = ",".join(s.addresses[t] for s, t in zip(self.servers, transports))
        vendors = self.icd if way == "native" else f"{self.folder / 'empty'}/"
        return self.run_program(way, *command, OCL_ICD_VENDORS=vendors, CLEAVE_REMOTE=places, **settings)

    def assertLikeOneDevice(self, *program):
        native = self.native(*program)
        for way, transports in (("native", ("unix", "unix")), ("native", ("tcp", "unix")), ("preload", ("tcp", "tcp"))):
            run = self.run_remote(way, transports, *program)
            self.assertSame(native, run)
            self.assertEqual(run.err, "", run)
        for server in self.servers:
            self.assertNotIn("crashed", server.log.read_text())

    def test_results_are_those_of_one_device(self):
        self.assertLikeOneDevice(OPTIONS.programs / "several_servers")

    def test_facts_are_those_of_one_device(self):
        self.assertLikeOneDevice(OPTIONS.programs / "several_facts")

    def test_edges_are_those_of_one_device(self):
        self.assertLikeOneDevice(OPTIONS.programs / "several_edges")

    def test_threads_do_not_fill_the_windows_for_each_other(self):
        self.assertLikeOneDevice(OPTIONS.programs / "several_threads")

    def test_many_threads_are_those_of_one_device(self):
        self.assertLikeOneDevice(OPTIONS.programs / "many_threads", "100", "3", "6")

    def test_edges_of_one_server_are_those_of_one_device(self):
        self.servers = self.servers[:1]
        self.assertLikeOneDevice(OPTIONS.programs / "several_edges")

    def test_nothing_overtakes_on_some_drivers(self):
        self.servers = [self.start(name, "--opencl", IN_TURN) for name in ("three", "four")]
        self.assertLikeOneDevice(OPTIONS.programs / "several_edges")
        self.assertLikeOneDevice(OPTIONS.programs / "many_threads", "150", "5", "6")

    def lose(self, lost):
        """The server of that number is killed in the middle; what the program prints from there on."""
        places = [server.addresses["tcp"] for server in self.servers]
        environment = self.environment(OCL_ICD_VENDORS=self.icd, CLEAVE_REMOTE=",".join(places), CLEAVE_REMOTE_TIMEOUT=3)
        with subprocess.Popen([OPTIONS.programs / "losing_servers"], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            self.addCleanup(program.kill)
            self.assertEqual(program.stdout.readline(), "lose\n")
            self.servers[lost].kill()
            out, err = program.communicate("lost\n", timeout=60)
        self.assertEqual((program.returncode, err), (0, ""), out)
        return out

    def test_when_one_server_is_killed_the_other_goes_on(self):
        out = self.lose(0)
        self.assertTrue(out.startswith(LOST), out)
        self.assertTrue(out.endswith("a new buffer: well\nwith that: well\nsetting the event: well\nfinishing: well\n"), out)


if __name__ == "__main__":
    main()
