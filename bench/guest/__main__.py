"""A guest under Cleave's vendor library follows the host's monitor, while other domains start and stop.

    python3 bench/guest [BUILD FOLDER [GUEST FOLDER]]

Everything is real but the processor: libvirt, QEMU without hardware virtualisation, the daemon, PoCL in the guest. Takes a
minute or two. Prints a table; the exit status is 0 if every step was followed, 77 where something is missing that it needs.
The guest folder has what tests/e2e/domains/fetch_guest puts there (build/guest).
"""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.extend([str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/domains")])

import private_libvirt  # noqa: E402
from initramfs import archive  # noqa: E402
from private_libvirt import ProcessOwner, Libvirt  # noqa: E402
from root import DRIVER, guest  # noqa: E402

ALPHA = 4  # slices for each domain, Cleave's own default
MEMORY = 2048  # MiB: the guest's root is in there, with LLVM
START = 900  # seconds until PoCL has compiled the first kernel
STEP = 120  # seconds until a change is followed
PROCESSOR = "<cpu mode='maximum'/>"
PORT = """<controller type='virtio-serial' index='0'/><channel type='unix'><source mode='connect' path='{path}'>
<reconnect enabled='yes' timeout='1'/></source><target type='virtio' name='cleave.monitor'/></channel>"""


MISSING = 77  # the exit status where it cannot be done here


def stop(text, status=1):
    print(f"bench/guest: {text}", file=sys.stderr)
    sys.exit(status)


def check_needs(build, folder):
    needs = {
        build / "bin/cleave-monitord": "build Cleave, with the daemon",
        build / "bench/steady": "build Cleave with -DCLEAVE_BENCH=ON",
        private_libvirt.LIBVIRTD or Path("libvirtd"): "install libvirt-daemon",
        private_libvirt.QEMU_DRIVER or Path("libvirt_driver_qemu.so"): "install libvirt-daemon-driver-qemu",
        private_libvirt.VIRSH or Path("virsh"): "install libvirt-clients",
        private_libvirt.QEMU or Path("qemu-system-x86_64"): "install qemu-system-x86",
        DRIVER: "install pocl-opencl-icd",
        folder / "vmlinuz": f"run {ROOT}/tests/e2e/domains/fetch_guest {folder}",
    }
    for file, remedy in needs.items():
        if not Path(file).exists() and not shutil.which(str(file)):
            stop(f"{file} is missing: {remedy}", MISSING)


class Guest:
    """Its console output so far."""

    def __init__(self, libvirt, name):
        self.libvirt, self.name = libvirt, name

    def lines(self):
        file = self.libvirt.console(self.name)
        return file.read_text(errors="replace").replace("\r", "").split("\n")[:-1] if file.exists() else []

    def says(self, pattern):
        return [line for line in self.lines() if re.search(pattern, line)]

    def seen(self):
        """What `cleave top` has shown: how many virtual machines, launches and slices, each time."""
        for line in self.says(r'^\{"version"'):
            shown = json.loads(line)
            for process in shown["processes"]:
                if process["program"] == "steady":
                    yield process["vms"], process["launches"], process["slices"]

    def now(self):
        """(virtual machines, slices of a launch) of late: as many slices as a launch was cut into, 1 where it stayed whole."""
        seen = list(self.seen())
        last = next((entry for entry in reversed(seen) if entry[1] < seen[-1][1]), None) if seen else None
        if last is None:
            return None
        launches, slices = seen[-1][1] - last[1], seen[-1][2] - last[2]
        return seen[-1][0], slices / launches if slices else 1

    def wait_for(self, what, is_so, patience):
        began = time.monotonic()
        while not is_so():
            if time.monotonic() - began > patience:
                last = "\n".join(self.lines()[-15:])
                stop(f"not within {patience} s: {what}\n{last}")
            time.sleep(0.1)
        return time.monotonic() - began


def idle_guest(folder):
    """The archive of a domain that only has to be counted."""
    init = (ROOT / "tests/e2e/domains/guest_init").read_bytes()
    return archive({"init": init, "bin/busybox": (folder / "busybox").read_bytes()})


def follow(libvirt, watched, idle):
    """Each step, and how long it took until a launch had followed it."""
    steps = [
        ("the guest alone", 1, lambda: None),
        ("a second domain starts", 2, lambda: libvirt.create("second", idle)),
        ("a third starts", 3, lambda: libvirt.create("third", idle)),
        ("the third is suspended", 2, lambda: libvirt.virsh("suspend", "third")),
        ("it resumes", 3, lambda: libvirt.virsh("resume", "third")),
        ("a fourth starts", 4, lambda: libvirt.create("fourth", idle)),
        ("the second is destroyed", 3, lambda: libvirt.virsh("destroy", "second")),
        ("QEMU of the third is killed", 2, lambda: libvirt.kill_qemu("third")),
        ("the fourth is destroyed", 1, lambda: libvirt.virsh("destroy", "fourth")),
    ]
    print(f"{'step':30} {'domains':>7} {'guest says':>10} {'slices':>7} {'seconds':>8}")
    for what, running, act in steps:
        act()
        wanted = (running, running * ALPHA if running > 1 else 1)
        took = watched.wait_for(f"{what}: {wanted}", lambda wanted=wanted: watched.now() == wanted, STEP)
        vms, slices = watched.now()
        print(f"{what:30} {running:7} {vms:10} {slices:7.0f} {took:8.1f}", flush=True)


def main():
    build = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve()
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "build/guest").resolve()
    check_needs(build, folder)
    owner = ProcessOwner()
    daemon = None
    try:
        libvirt = Libvirt(owner, folder / "vmlinuz")
        path = libvirt.folder / "monitor.sock"
        daemon = subprocess.Popen(
            [build / "bin/cleave-monitord", "--config", "/dev/null", "--connect", libvirt.uri, "--listen", f"unix:{path}"],
            stderr=subprocess.DEVNULL)
        idle = libvirt.put("idle.initrd", idle_guest(folder))
        libvirt.create("guest", libvirt.put("guest.initrd", guest(build, folder)), devices=PORT.format(path=path),
                       memory=MEMORY, processor=PROCESSOR)
        watched = Guest(libvirt, "guest")
        took = watched.wait_for("the first launch", lambda: watched.says(r"^steady: \d+ right"), START)
        for line in watched.says(r"^(registered|wrapped|Installed|steady: platform)"):
            print(line)
        print(f"first launch {took:.0f} s after the guest's start\n", flush=True)
        follow(libvirt, watched, idle)
        wrong = watched.says(r"^steady: (?!platform|\d+ right)")
        if wrong:
            stop(wrong[0])
        print(f"\n{len(watched.says('right$'))} launches, all results right")
    finally:
        if daemon:
            daemon.terminate()
            daemon.wait()
        owner.end()


if __name__ == "__main__":
    main()
