"""Base of the tests of the `cleave` command: runs it in a clean environment, compiles and installs what it examines."""

import shutil
import subprocess

from support.options import CLEAVE, LAYER, LIBRARIES, OPTIONS
from support.processes import FolderTest, clean_environment, run


class CommandTest(FolderTest):
    def cleave(self, *arguments, command=CLEAVE, environment=None, **others):
        """Runs `cleave` to its end. Standard output and error are bytes."""
        return run(command, *arguments, environment=clean_environment(**(environment or {})), timeout=120, text=False,
                   **others)

    def doctor(self, *arguments, **environment):
        """Runs `cleave doctor`, which must print nothing on standard error. Returns its exit status and its report."""
        done = self.cleave("doctor", *arguments, environment=environment)
        self.assertEqual(done.stderr, b"")
        return done.returncode, done.stdout.decode()

    def compile(self, name, source, *flags):
        """Compiles C++ to a file in the test's folder; None if this compiler cannot."""
        binary = self.folder / name
        command = [OPTIONS.cxx, "-x", "c++", "-", "-o", str(binary), *flags]
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
        return binary if done.returncode == 0 else None

    def script(self, name, text):
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    def copy_of_installation(self, name):
        """Copies the command and its libraries to a folder of that name. Returns the copied command."""
        root = self.folder / name
        (root / "bin").mkdir(parents=True)
        shutil.copy2(CLEAVE, root / "bin")
        shutil.copytree(LIBRARIES / "cleave", root / "lib" / "cleave")
        shutil.copy2(LAYER, root / "lib")
        return root / "bin" / CLEAVE.name
