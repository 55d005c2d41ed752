"""Calls on which drivers differ return through a server what the server's driver returns."""

from support.options import OPTIONS, main
from support.remote import RemoteTest

PROGRAM = OPTIONS.programs / "driver_specific_calls"


class DriverSpecificCalls(RemoteTest):
    def test_return_values_are_the_drivers(self):
        server = self.start_server("server")
        native = self.run_native(PROGRAM)
        for transport in ("tcp", "unix"):
            self.assertSameRemotely(native, "native", server.addresses[transport], PROGRAM)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
