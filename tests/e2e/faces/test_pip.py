"""PyOpenCL as pip installs it, in a virtual environment: it brings a loader, which also finds pip's PoCL. Under Cleave it has
the same platforms, whether there is a loader of the system's or not."""

import subprocess
from pathlib import Path

from support.options import OPTIONS, main, skip
from support.processes import require_installed
from support.programs import ProgramTest

PYTHON = OPTIONS.environment / "bin/python"
PROGRAM = Path(__file__).parent / "pip_program.py"


class PipsPyOpenCL(ProgramTest):
    def check(self, *prefix, platforms):
        # An empty variable is none for ocl-icd: the loader finds what it finds by itself.
        settings = {"OCL_ICD_VENDORS": "", "CLEAVE_SPLIT": "fixed:4", "CLEAVE_MIN_ITEMS": 0}
        native = self.run_native(*prefix, PYTHON, PROGRAM, **settings)
        self.assertEqual(len(native.out.splitlines()), platforms, f"what the test is about\n{native}")
        launches = native.out.count(" right\n")
        self.assertGreater(launches, 0, f"no driver could build\n{native}")
        for method in ("preload", "run"):
            with self.subTest(method):
                run = self.assertUnchanged(native, method, *prefix, PYTHON, PROGRAM, **settings)
                self.assertSplit(run, launches, 4 * launches)

    def test_platforms_of_pip_and_of_the_system(self):
        self.check(platforms=2)

    def test_without_a_loader_of_the_system(self):
        hidden = [require_installed("bwrap", "bubblewrap"), "--dev-bind", "/", "/", "--ro-bind", "/dev/null", OPTIONS.loader]
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no rights for a mount namespace")
        self.check(*hidden, platforms=2)


if __name__ == "__main__":
    if not (OPTIONS.environment / "complete").exists():
        skip(f"no PyOpenCL from PyPI: tests/e2e/faces/fetch_pyopencl {OPTIONS.environment} fetches it")
    main()
