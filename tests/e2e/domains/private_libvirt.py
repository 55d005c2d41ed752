"""A libvirtd of the test's own, with its state in a temporary folder, apart from any libvirt of this machine.

It is an unprivileged ("session") libvirtd, whose environment says where everything lies. It and its QEMUs are children of the
process owner (process_owner.py).
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from support import polling

TIMEOUT = 90  # seconds until something that should happen is taken never to
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # users' own often lack sbin
QEMU_DRIVER = next(iter([
    driver for folder in ("/usr/lib*", "/usr/lib/*")
    for driver in glob.glob(f"{folder}/libvirt/connection-driver/libvirt_driver_qemu.so")
]), None)
LIBVIRTD = shutil.which("libvirtd", path=SYSTEM_PATH)
VIRSH = shutil.which("virsh", path=SYSTEM_PATH)
QEMU = shutil.which("qemu-system-x86_64", path=SYSTEM_PATH)

# Neither AppArmor nor virtlogd, which lie outside the folder.
QEMU_SETTINGS = 'security_driver = "none"\nstdio_handler = "file"\n'

# A guest that is emulated on a busy host may find while it boots that its timer does not work, and panic.
DOMAIN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>{memory}</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type><kernel>{kernel}</kernel><initrd>{initrd}</initrd>
<cmdline>console=ttyS0 quiet panic=-1 no_timer_check -- {words}</cmdline></os>{processor}
<on_poweroff>destroy</on_poweroff><on_reboot>destroy</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>{qemu}</emulator><serial type='file'><source path='{console}'/></serial>
<controller type='usb' model='none'/><memballoon model='none'/>{devices}</devices></domain>"""


def wait_until(condition, message):
    polling.wait_until(condition, message, TIMEOUT)


class ProcessOwner:
    """The process that owns all others, and their folder."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "process_owner.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the test, with which the owner ends
        )
        self.folder = Path(self._process.stdout.readline().rstrip("\n"))

    def start(self, output, environment, *command):
        """Returns the process id."""
        self._process.stdin.write(json.dumps([str(output), environment, [str(word) for word in command]]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def put(self, name, data):
        """A file that its processes can read, and its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        owner = self.folder.stat()
        for each in (path, *path.relative_to(self.folder).parents[:-1]):
            os.chown(self.folder / each, owner.st_uid, owner.st_gid)
        return path

    def end(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Libvirt:
    """libvirtd, and the domains it runs."""

    def __init__(self, owner, kernel):
        self.folder = owner.folder
        self._owner = owner
        self._kernel = owner.put("vmlinuz", kernel.read_bytes())
        self._environment = {
            "HOME": str(self.folder),
            "PATH": SYSTEM_PATH,
            **{f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("CONFIG", "CACHE", "DATA")},
            "XDG_RUNTIME_DIR": str(self.folder),
        }
        owner.put("config/libvirt/qemu.conf", QEMU_SETTINGS.encode())
        self.uri = f"qemu+unix:///session?socket={self.folder}/libvirt/libvirt-sock"
        self.start()

    def put(self, name, data):
        """A file that domains can read, and its path."""
        return self._owner.put(name, data)

    def start(self):
        self._pid = self._owner.start(self.folder / "libvirtd.log", self._environment, LIBVIRTD)
        wait_until(lambda: self._try("list")[0], f"an answer from libvirtd\n{self.log()}")

    def signal(self, number):
        os.kill(self._pid, number)

    def log(self):
        file = self.folder / "libvirtd.log"
        return file.read_text() if file.exists() else ""

    def create(self, name, initrd, words="idle", devices="", memory=96, processor=""):
        """Starts a domain that is gone when it ends. `words` are for its first process."""
        xml = DOMAIN.format(
            name=name,
            memory=memory,
            kernel=self._kernel,
            initrd=initrd,
            words=words,
            qemu=QEMU,
            console=self.console(name),
            devices=devices,
            processor=processor,
        )
        self.virsh("create", str(self._owner.put(f"{name}.xml", xml.encode())))

    def console(self, name):
        """The file that the domain's serial console goes to."""
        return self.folder / f"{name}.console"

    def qemu(self, name):
        """The process id of the domain's QEMU."""
        return int((self.folder / "libvirt/qemu/run" / f"{name}.pid").read_text())

    def kill_qemu(self, name):
        os.kill(self.qemu(name), signal.SIGKILL)

    def running(self):
        return self.virsh("list", "--name").split()

    def destroy_all(self):
        for name in self.virsh("list", "--name", "--all").split():
            self._try("destroy", name)  # it may be ending already
        wait_until(lambda: not self.virsh("list", "--name", "--all").split(), "no domain is left")

    def virsh(self, *words):
        done, output = self._try(*words)
        if not done:
            raise AssertionError(f"virsh {' '.join(words)}: {output}\n{self.log()}")
        return output

    def _try(self, *words):
        command = [VIRSH, "--connect", self.uri, "--quiet", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr
