"""A program finds in shared virtual memory through a server what it finds there with a local driver."""

from support.options import OPTIONS, main
from support.remote import RemoteTest

PROGRAM = OPTIONS.programs / "shared_virtual_memory"


class SharedVirtualMemory(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server(self.own_folder())
        self.native = self.run_native(PROGRAM)

    def test_contents_are_the_native_ones(self):
        for method, transport in (("native", "tcp"), ("native", "unix"), ("preload", "tcp")):
            run = self.assertSameRemotely(self.native, method, self.server.addresses[transport], PROGRAM)
            self.assertEqual(run.err, self.native.err, run)
        self.assertNoCrash(self.server)

    def test_conflicting_addresses_are_replaced(self):
        """Addresses are random: where the client already uses one of the server's, the server must take another."""
        for _ in range(5):
            self.assertSameRemotely(self.native, "native", self.server.addresses["unix"], PROGRAM)


if __name__ == "__main__":
    main()
