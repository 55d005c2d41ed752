"""How one job and its neighbours are isolated from each other while they share a few cores of the host.

    processes   plain processes, pinned to the same cores
    cgroups     the same, each in a control group of its own, all of equal weight, as a hypervisor gives it to its VMs

    domains     the neighbours as libvirt domains (domains.py); only on request, since each takes seconds to start

Another kind is a class with a name, `usable`, `start` and `close`, and its place in `prepare`.
"""

import os
import pathlib

from domains import Domains
from processes import Processes
from results import Unmeasured

ROOT = pathlib.Path("/sys/fs/cgroup")


def group_root():
    """The folder for control groups with a weight: version 2's, else version 1's; None if there is none."""
    try:
        if "cpu" in (ROOT / "cgroup.controllers").read_text().split():
            own = next(line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                       if line.startswith("0::"))
            return ROOT / own.strip("/")
    except (OSError, StopIteration):
        pass
    return ROOT / "cpu" if (ROOT / "cpu/cpu.shares").exists() else None


class Groups(Processes):
    name = "cgroups"

    def __init__(self, cores):
        super().__init__(cores)
        self.folder = group_root() / f"cleave-bench-{os.getpid()}"
        self.made = []
        self.make(self.folder)

    @staticmethod
    def usable():
        """Whether groups can be created and have a weight."""
        root = group_root()
        if root is None:
            return False
        try:
            Groups(set()).close()
        except OSError:
            return False
        return True

    def make(self, folder):
        folder.mkdir()
        self.made.append(folder)
        try:
            if folder == self.folder:
                self.enable_controller()
            else:
                self.set_weight(folder)
        except OSError:
            self.close()
            raise

    def enable_controller(self):
        """Version 2: enables the controller in the groups below."""
        if (self.folder / "cgroup.subtree_control").exists():
            (self.folder / "cgroup.subtree_control").write_text("+cpu")

    @staticmethod
    def set_weight(folder):
        weight = folder / "cpu.weight"
        if weight.exists():
            weight.write_text("100")
        else:
            (folder / "cpu.shares").write_text("1024")

    def preexec(self, name):
        group = self.folder / name
        if group not in self.made:
            self.make(group)
        pin = super().preexec(name)

        def enter():
            (group / "cgroup.procs").write_text(str(os.getpid()))
            pin()

        return enter

    def close(self):
        for folder in reversed(self.made):
            folder.rmdir()
        self.made = []


NAMES = ("auto", "processes", "cgroups", "domains")


def prepare(name, cores):
    """The ground of this name, or the fairest that can be used here without long preparation ("auto")."""
    for kind in (Groups, Processes, Domains):
        if name in ("auto", kind.name) and kind.usable():
            return kind(cores)
    raise Unmeasured(f"{name} cannot be had here")
