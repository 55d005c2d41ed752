"""A program prints the same on a server's devices as on the server's driver itself."""

from support.options import OPTIONS, main
from support.remote import RemoteTest


class SameOutput(RemoteTest):
    def test_output_is_the_native_one(self):
        server = self.start_server("server")
        native = self.run_native(*OPTIONS.program)
        for transport in ("tcp", "unix"):
            self.assertSameRemotely(native, "native", server.addresses[transport], *OPTIONS.program)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
