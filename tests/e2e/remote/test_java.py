"""A Java program that reaches OpenCL through JNA and knows nothing of Cleave: through the drop-in, split, and on a server's
device it computes what it does natively."""

import shutil
from pathlib import Path

from support.options import main, skip
from support.processes import run
from support.programs import RUN_TIMEOUT
from support.remote import RemoteTest

JNA = Path("/usr/share/java/jna.jar")
SOURCE = Path(__file__).resolve().parent.parent / "programs" / "MatrixProduct.java"
# Little memory, and no compiler or collector with threads of its own: many tests run at a time.
JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")


class Java(RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        classes = cls.folder / "classes"
        compiled = run("javac", "-cp", JNA, "-d", classes, SOURCE, timeout=RUN_TIMEOUT)
        if compiled.returncode != 0:
            raise AssertionError(compiled.stderr)
        cls.program = (*JAVA, "-cp", f"{JNA}:{classes}", "MatrixProduct")

    def test_drop_in_splits_its_launch(self):
        native = self.run_native(*self.program)
        for method in ("run", "library_path"):
            split = self.assertUnchanged(native, method, *self.program, CLEAVE_SPLIT="fixed:5", CLEAVE_MIN_ITEMS="0",
                                         CLEAVE_VMS="2")
            self.assertSplit(split, launches=1)

    def test_servers_device_computes_the_same(self):
        native = self.run_native(*self.program)
        server = self.start_server("server")
        for method, transport in (("run", "tcp"), ("native", "unix")):
            self.assertSameRemotely(native, method, server.addresses[transport], *self.program)


if __name__ == "__main__":
    if shutil.which("javac") is None or not JNA.exists():
        skip("no JDK, or no JNA (Debian's default-jdk-headless and libjna-java)")
    main()
