"""A driver that must be called by one thread at a time works behind a server, which has several."""

from support.options import OPTIONS, main
from support.remote import RemoteTest


class SerialDriver(RemoteTest):
    def test_reads_and_flushes_of_one_thread(self):
        program = OPTIONS.programs / "reads_and_flushes"
        native = self.run_native(program)
        server = self.start_server("server")
        for _ in range(3):
            self.assertSameRemotely(native, "native", server.addresses["unix"], program)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
