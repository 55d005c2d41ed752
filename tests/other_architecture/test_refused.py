"""A client whose byte order is not its server's is refused, and the program is told why in one line. `run` gives the client."""

from support import emulation
from support.options import OPTIONS, main
from support.remote import RemoteTest


class Refused(RemoteTest):
    def test_reason_is_one_line(self):
        self.assertTrue(emulation.IS_USED, "CLEAVE_TEST_CLIENTS does not say where the clients are")
        server = self.start_server("server")
        for transport, address in server.addresses.items():
            with self.subTest(transport):
                done = self.run_remotely("native", address, OPTIONS.programs / "driver_specific_calls")
                self.assertNotEqual(done.status, 0, done)
                self.assertIn(f"cleave: {address} cannot be used: the server refused: the client's machine is big-endian, and "
                              "this one is not\n", done.err)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
