"""A driver that must be called by one thread at a time works behind a server, which has several."""

from pathlib import Path

from support.options import OPTIONS, VENDOR, main
from support.programs import DRIVERS
from support.remote import RemoteTest


class SerialDriver(RemoteTest):
    def test_reads_and_flushes_of_one_thread(self):
        program = OPTIONS.programs / "reads_and_flushes"
        native = self.run_native(program)
        server = self.start_server("server")
        for _ in range(3):
            self.assertSameRemotely(native, "native", server.addresses["unix"], program)
        self.assertNoCrash(server)

    def test_beside_another_driver_behind_the_vendor_library(self):
        program = OPTIONS.programs / "reads_and_flushes"
        native = self.run_native(program)
        wrapped = self.vendors("wrapped", first=DRIVERS["oclgrind"][0])
        Path(wrapped, "second.icd").symlink_to(DRIVERS["pocl"][0])
        server = self.start_server("both", environment=self.environment(
            OCL_ICD_VENDORS=self.vendors("vendor", cleave=VENDOR), CLEAVE_ICD_WRAP=wrapped))
        self.assertSameRemotely(native, "native", server.addresses["unix"], program)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
