"""Where things lie: the programs' folder outside the repository, the drivers, and what a build of Cleave made."""

import os
from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).resolve().parent / "inputs"
DEBIAN_PYTHON = "/usr/bin/python3"
SYSTEM_LOADER = "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1"

# Each driver that is known by a name, with the Debian package that holds it. Any other one is given by its path.
DRIVERS = {
    "pocl": ("/etc/OpenCL/vendors/pocl.icd", "pocl-opencl-icd"),
    "oclgrind": ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", "oclgrind"),
}


def driver_path(name):
    return DRIVERS[name][0] if name in DRIVERS else name


class Cache:
    """The folder that keeps what was installed, and the runs' files."""

    def __init__(self, folder=None):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.folder = Path(folder) if folder else home / "cleave-programs"
        self.venv = self.folder / "venv"
        self.python = self.venv / "bin" / "python"
        self.sources = self.folder / "sources"
        self.runs = self.folder / "runs"
        self.drivers = self.folder / "driver-caches"


@dataclass(frozen=True)
class Cleave:
    """A build or an installation, by its `cleave` command."""

    command: Path

    @property
    def libraries(self):
        return self.command.parent.parent / "lib"

    @property
    def drop_in(self):
        return self.libraries / "cleave" / "libOpenCL.so.1"

    @property
    def vendor(self):
        return self.libraries / "libcleave-icd.so"

    @property
    def remote_client(self):
        return self.libraries / "libcleave-remote.so"

    @property
    def serverd(self):
        return self.command.parent / "cleave-serverd"
