"""Data of all sizes arrives complete, over a socket and through memory shared by client and server, and no command waits
for one that it does not depend on."""

import resource

from support.options import OPTIONS, main
from support.remote import RemoteTest


class Transfers(RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.new_server("server")
        cls.addClassCleanup(cls.server.stop)
        cls.native = None

    def assertTransfers(self, transport, memory, **settings):
        if Transfers.native is None:
            Transfers.native = self.run_native(*OPTIONS.program)
        run = self.assertSameRemotely(Transfers.native, "native", self.server.addresses[transport], *OPTIONS.program,
                                      **settings)
        self.assertEqual(run.err, memory + "\n")

    def test_unix_socket_uses_shared_memory(self):
        self.assertTransfers("unix", "shared")

    def test_tcp_does_not_use_shared_memory(self):
        self.assertTransfers("tcp", "not shared")

    def test_unix_socket_works_without_shared_memory(self):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, before[1]))  # inherited
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, before)
        self.assertTransfers("unix", "not shared")

    def test_many_queues_with_few_commands_each_give_native_results(self):
        program = OPTIONS.programs / "many_queues"
        native = self.run_native(program)
        for transport in ("tcp", "unix"):
            self.assertSameRemotely(native, "native", self.server.addresses[transport], program)

    def test_many_threads_get_native_results(self):
        narrow = self.start_server("narrow", "--commands-per-client", "64", "--data-per-client", "4K")
        for seed, server in (("1", self.server), ("2", narrow)):
            program = [OPTIONS.programs / "many_threads", "100", seed, "6"]
            native = self.run_native(*program)
            for transport in ("tcp", "unix"):
                self.assertSameRemotely(native, "native", server.addresses[transport], *program)


if __name__ == "__main__":
    main()
