"""Processes: a clean environment, temporary folders, deadlines."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.options import CLEAVE
from support.polling import TIMEOUT, wait_until  # noqa: F401


# What Cleave, a loader, a driver or the dynamic linker would read.
_REMOVED = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "POCL_", "OCLGRIND_", "PYOPENCL_", "XDG_CONFIG_HOME")


def clean_environment(**changes):
    """This process's environment without anything that would change what is tested, and with `changes`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED)}
    environment.update((name, str(value)) for name, value in changes.items())
    return environment


def require_installed(path, package):
    """The path of something that a Debian package holds. A test that lacks it fails and names the package."""
    found = shutil.which(path)
    if found is None and Path(path).exists():
        found = path
    if found is None:
        raise AssertionError(f"{path} is missing: install the package {package}")
    return str(found)


def run(*command, environment=None, timeout=TIMEOUT, text=True, **options):
    """Runs a command to its end and captures its output, in a clean environment unless another one is given."""
    if environment is None:
        environment = clean_environment()
    return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=text,
                          timeout=timeout, check=False, **options)


def cleave(*arguments, **options):
    return run(CLEAVE, *arguments, **options)


def process_status(process):
    """The fields of /proc/PID/stat behind the name, or None if the process has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def command_line(process):
    """Its arguments; none of one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def resources_of(process):
    status = Path(f"/proc/{process}/status").read_text()
    return {
        "kib": int(status.partition("VmRSS:")[2].split()[0]),
        "threads": int(status.partition("Threads:")[2].split()[0]),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
    }


def processes_of_session(session):
    found = []
    for entry in Path("/proc").iterdir():
        fields = process_status(entry.name) if entry.name.isdigit() else None
        if fields is not None and int(fields[3]) == session:
            found.append(int(entry.name))
    return found


class FolderTest(unittest.TestCase):
    """A test with an empty folder of its own, `self.folder`."""

    longMessage = True
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
