"""Isolation by `domains`: each neighbour is the first and only process of a libvirt domain of its own.

The image is made here: the neighbour's program, which needs no library, as `init` of an archive that a kernel of this host boots
(CLEAVE_BENCH_KERNEL, else the newest in /boot). The job stays a process of the host, pinned to the cores that the domains'
virtual processors share: to be in a domain it would have to have the GPU passed through.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import time

import programs
from processes import Processes
from results import Unmeasured

URI = os.environ.get("LIBVIRT_DEFAULT_URI", "qemu:///system")
PATIENCE = 120  # seconds until a domain has multiplied once
# A guest that is emulated on a busy host may find while it boots that its timer does not work, and panic.
DOMAIN = """<domain type='{kind}'><name>{name}</name><memory unit='MiB'>512</memory>
<vcpu placement='static' cpuset='{cores}'>4</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>{folder}/kernel</kernel><initrd>{folder}/initrd</initrd>
<cmdline>console=ttyS0 quiet panic=-1 no_timer_check -- {words}</cmdline></os>{cpu}
<on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>
<devices><serial type='file'><source path='{console}'/></serial><controller type='usb' model='none'/>
<memballoon model='none'/></devices></domain>"""


def kernel():
    named = os.environ.get("CLEAVE_BENCH_KERNEL")
    found = [pathlib.Path(named)] if named else sorted(pathlib.Path("/boot").glob("vmlinuz*"))
    readable = [file for file in found if os.access(file, os.R_OK)]
    return readable[-1] if readable else None


def virsh(*words):
    return subprocess.run(["virsh", "-q", "-c", URI, *map(str, words)], capture_output=True, text=True, check=False)


def archive(files):
    """In the kernel's "newc" format (Documentation/driver-api/early-userspace)."""
    parts = []
    for number, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        parts += [part + b"\0" * (-len(part) % 4) for part in (head, data)]
    return b"".join(parts)


class Domain:
    """One that runs, as if it were a process of ours that prints the host's time."""

    def __init__(self, name, console):
        self.name = name
        self.console = console
        self.returncode = None
        end = time.monotonic() + PATIENCE
        while not (times := self.times()):
            if time.monotonic() > end or self.poll() is not None:
                self.kill()
                raise Unmeasured(f"domain {name} has not multiplied within {PATIENCE} s: {console.read_text()[-300:]}")
            time.sleep(0.002)
        self.ahead = time.monotonic() - times[-1][1]  # of the guest's clock

    def times(self):
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        return [(float(begin), float(end)) for begin, end in re.findall(r"^(\d+\.\d{6}) (\d+\.\d{6})\r?$", text, re.M)]

    def poll(self):
        return None if virsh("domstate", self.name).stdout.strip() == "running" else 1

    def kill(self):
        self.returncode = -9 if virsh("destroy", self.name).returncode == 0 else 1

    def communicate(self):
        lines = [f"{begin + self.ahead:.6f} {end + self.ahead:.6f}\n" for begin, end in self.times()]
        self.console.unlink()
        return "".join(lines), None


class Domains(Processes):
    name = "domains"

    def __init__(self, cores):
        super().__init__(cores)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cleave-bench-", dir="/var/tmp"))
        self.folder.chmod(0o777 | stat.S_ISVTX)  # QEMU is another user, and writes its console here
        shutil.copy(kernel(), self.folder / "kernel")
        program = programs.place("cleave_neighbour").read_bytes()
        (self.folder / "initrd").write_bytes(archive([("init", stat.S_IFREG | 0o755, program)]))
        for file in ("kernel", "initrd"):
            (self.folder / file).chmod(0o644)
        # Emulated where the processor's virtualisation cannot be had, or is there and refused to QEMU's user.
        self.kinds = ["qemu"]  # in the order of preference
        if virsh("domcapabilities", "--virttype", "kvm").returncode == 0:
            self.kinds.insert(0, "kvm")

    @staticmethod
    def usable():
        return shutil.which("virsh") is not None and kernel() is not None and virsh("list").returncode == 0

    def start(self, name, *command, settings=None):
        if command[0] != "cleave_neighbour":
            return super().start(name, *command, settings=settings)
        domain, console = f"{self.folder.name}-{name}", self.folder / f"{name}.console"
        description = self.folder / f"{name}.xml"
        for kind in tuple(self.kinds):
            description.write_text(DOMAIN.format(
                kind=kind, name=domain, cores=",".join(map(str, sorted(self.cores))), folder=self.folder,
                words=" ".join(map(str, command[1:])), console=console,
                cpu="<cpu mode='host-passthrough'/>" if kind == "kvm" else ""))
            made = virsh("create", description)
            if made.returncode == 0:
                return Domain(domain, console)
            if kind != self.kinds[-1]:
                self.kinds.remove(kind)
        raise Unmeasured(f"no domain: {made.stderr.strip()}")

    def close(self):
        shutil.rmtree(self.folder)
