"""What drivers think differently of is answered through a server as by the driver itself."""

from compare import LIBRARIES, OPTIONS, ComparedTest, main
from serving import Server

PROGRAM = OPTIONS.programs / "odd_calls"


class OddCalls(ComparedTest):
    def test_each_returns_what_it_returns_natively(self):
        icd = self.folder / "remote.icd"
        icd.write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
        server = Server(self.folder / "server", self.environment())
        self.addCleanup(server.end)
        native = self.native(PROGRAM)
        for transport in ("tcp", "unix"):
            run = self.run_program("native", PROGRAM, OCL_ICD_VENDORS=icd,
                                   CLEAVE_REMOTE=server.addresses[transport])
            self.assertSame(native, run)
        self.assertNotIn("crashed", server.log.read_text())


if __name__ == "__main__":
    main()
