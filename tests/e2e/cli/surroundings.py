"""What the tests of the `cleave` command share: a clean environment, a temporary folder, the compiler."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

_parser = argparse.ArgumentParser()
_parser.add_argument("--cleave", type=Path, required=True)
_parser.add_argument("--cxx", required=True)
_options, _rest = _parser.parse_known_args()

CLEAVE = _options.cleave.resolve()
LIBRARIES = CLEAVE.parent.parent / "lib"
DROP_IN = LIBRARIES / "cleave" / "libOpenCL.so.1"
STUB = LIBRARIES / "cleave" / "libOpenCL.so"
LAYER = LIBRARIES / "libcleave-layer.so"


def clean_environment(**changes):
    """Our environment without anything that Cleave, a loader or the dynamic linker would notice, and with `changes`."""
    noticed = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "XDG_CONFIG_HOME")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(noticed)}
    environment.update(changes)
    return environment


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def cleave(self, *arguments, command=CLEAVE, environment=None, **others):
        """Runs `cleave` to its end. Gives the finished process with standard output and error as bytes."""
        return subprocess.run(
            [str(command), *map(str, arguments)],
            env=clean_environment(**(environment or {})),
            capture_output=True,
            timeout=120,
            check=False,
            **others,
        )

    def doctor(self, *arguments, **environment):
        """Runs `cleave doctor`. Gives its exit status and its report; it must be silent on standard error."""
        done = self.cleave("doctor", *arguments, environment=environment)
        self.assertEqual(done.stderr, b"")
        return done.returncode, done.stdout.decode()

    def compile(self, name, source, *flags):
        """Compiles C++ to a file in the temporary folder; None where this compiler cannot."""
        binary = self.folder / name
        command = [_options.cxx, "-x", "c++", "-", "-o", str(binary), *flags]
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
        return binary if done.returncode == 0 else None

    def script(self, name, text):
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def copy_of_installation(self, name):
        """A copy of the command and its libraries in a folder of that name. Gives the copied command."""
        root = self.folder / name
        (root / "bin").mkdir(parents=True)
        shutil.copy2(CLEAVE, root / "bin")
        shutil.copytree(LIBRARIES / "cleave", root / "lib" / "cleave")
        shutil.copy2(LAYER, root / "lib")
        return root / "bin" / CLEAVE.name


def main():
    unittest.main(argv=[sys.argv[0], *_rest])
