"""Data of all sizes comes and goes whole, over a socket as through memory that client and server share, and nothing waits
for what it should not."""

import resource

from compare import LIBRARIES, OPTIONS, ComparedTest, main
from serving import Server


class Transfers(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.icd = cls.folder / "remote.icd"
        cls.icd.write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        cls.server = Server(cls.folder / "server", cls.environment(cls))
        cls.addClassCleanup(cls.server.end)

    def run_over(self, transport, program=None, server=None):
        return self.run_program("native", *(program or OPTIONS.program), OCL_ICD_VENDORS=self.icd,
                                CLEAVE_REMOTE=(server or self.server).addresses[transport])

    def test_over_a_unix_socket_through_shared_memory(self):
        run = self.run_over("unix")
        self.assertSame(self.native(*OPTIONS.program), run)
        self.assertEqual(run.err, "shared\n")

    def test_over_tcp_without(self):
        run = self.run_over("tcp")
        self.assertSame(self.native(*OPTIONS.program), run)
        self.assertEqual(run.err, "not shared\n")

    def test_over_a_unix_socket_where_no_memory_can_be_shared(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, before[1]))  # inherited
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)
        run = self.run_over("unix")
        self.assertSame(self.native(*OPTIONS.program), run)
        self.assertEqual(run.err, "not shared\n")

    def test_many_queues_with_a_little_on_each(self):
        program = [OPTIONS.programs / "many_queues"]
        for transport in ("tcp", "unix"):
            self.assertSame(self.native(*program), self.run_over(transport, program))

    def test_many_threads(self):
        narrow = Server(self.folder / "narrow", self.environment(), "--commands-per-client", "64", "--data-per-client", "4K")
        self.addCleanup(narrow.end)
        for seed, server in (("1", self.server), ("2", narrow)):
            program = [OPTIONS.programs / "many_threads", "200", seed, "6"]
            native = self.native(*program)
            for transport in ("tcp", "unix"):
                self.assertSame(native, self.run_over(transport, program, server))


if __name__ == "__main__":
    main()
