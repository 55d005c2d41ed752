"""Real guests follow the host's daemon across the boundary of their VM, in two ways.

`network`: TCP through QEMU's user-mode network, whose address 10.0.2.2 is the host's loopback. In the guest is Cleave
itself. `port`: a virtio-serial port, whose other end QEMU connects with the daemon's unix socket; in the guest follow_port
(monitor/follow_port) keeps a file, and Cleave reads that. Both print the output of `cleave top` on their console.

In the guest `network` a program launches all the time besides, on a simulated driver, with the busy machines as its neighbours. Its
statistics, on the console too, say that it splits while another domain computes, and how soon.
"""

import json
import re
import socket
import time

from support.options import CLEAVE, FOLDER, OPTIONS, main
from host_test import HERE, HostTest, guest_files, skip_without_prerequisites
from initramfs import archive, libraries_of, without_debugging
from private_libvirt import wait_until

ROOT = HERE.parent.parent.parent
LAUNCH_SERVER = OPTIONS.programs / "launch_server"
PHASES = 4  # in which a domain computes
PROMPT = 2  # seconds from the beginning of load in a domain to more slices in another
MEMORY = 192  # MiB
NETWORK = "<interface type='user'><model type='virtio'/></interface>"
ORDERS = "<serial type='unix'><source mode='bind' path='{path}'/></serial>"
PORT = """<controller type='virtio-serial' index='0'/><channel type='unix'><source mode='connect' path='{path}'>
<reconnect enabled='yes' timeout='1'/></source><target type='virtio' name='cleave.monitor'/></channel>"""


def guest_with_cleave():
    """The archive of a guest that has the `cleave` command, its libraries, and the modules for the ways to the host."""
    files = guest_files() | libraries_of(CLEAVE, OPTIONS.loader)
    for program in (CLEAVE, *FOLDER.iterdir()):
        files[str("cleave" / program.relative_to(CLEAVE.parent.parent))] = without_debugging(program)
    files["usr/lib/x86_64-linux-gnu/libOpenCL.so.1"] = OPTIONS.loader.read_bytes()
    files |= libraries_of(LAUNCH_SERVER, OPTIONS.simulated)
    for program in (LAUNCH_SERVER, OPTIONS.simulated):
        files[f"launch/{program.name}"] = without_debugging(program)
    files["follow_port"] = (ROOT / "monitor/follow_port").read_bytes()
    for module in (OPTIONS.guest / "modules").iterdir():
        if re.search("ring|virtio.ko|pci|console|net|failover", module.name):
            files[f"modules/{module.name}"] = module.read_bytes()
    return archive(files)


class Guests(HostTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.guest = cls.libvirt.put("guest.initrd", guest_with_cleave())

    def setUp(self):
        super().setUp()
        self.path = self.libvirt.folder / "monitor.sock"  # where QEMU, which may have no rights, can connect to it

    def console(self, name):
        return self.libvirt.console(name).read_text(errors="replace")

    def counts(self, name):
        """The counts that the guest has printed so far."""
        lines = [line for line in self.console(name).split("\n")[:-1] if line.startswith('{"version"') and '"policy"' not in line]
        return [json.loads(line)["vms"] for line in lines]

    def expect_running(self, running):
        """The daemon and both guests report that so many run."""
        self.client.until_running(running)
        for name in ("network", "port"):
            wait_until(
                lambda name=name: self.counts(name)[-1:] == [running],
                lambda name=name: f"{name} says {running}:\n{self.console(name)[-2000:]}",
            )

    def slices(self):
        """Into how many slices the program in `network` split each launch that it has reported so far."""
        lines = [line for line in self.console("network").split("\n")[:-1] if line.startswith('{"version"') and '"policy"' in line]
        totals = [0, *(json.loads(line)["slices"] for line in lines)]
        return [after - before or 1 for before, after in zip(totals, totals[1:])]

    def said(self, name, word):
        """How often the domain has said that word."""
        return self.console(name).split().count(word)

    def create_load(self, name):
        """A domain that computes when it is told to; gives what tells it."""
        path = self.libvirt.folder / f"{name}.orders"
        self.libvirt.create(name, self.idle, "orders", ORDERS.format(path=path))
        orders = socket.socket(socket.AF_UNIX)
        self.addCleanup(orders.close)
        orders.connect(str(path))
        wait_until(lambda: self.said(name, "ready"), lambda: f"{name} takes orders:\n{self.console(name)[-2000:]}")

        def order(word):
            said = self.said(name, word)
            orders.sendall(f"{word}\n".encode())
            wait_until(lambda: self.said(name, word) > said, f"{name} says {word}")

        return order

    def expect_unsplit(self):
        wait_until(lambda: self.slices()[-1:] == [1], lambda: f"unsplit while nothing computes: {self.slices()[-40:]}")

    def expect_slices_to_follow_load(self, order):
        """Each time that the domain computes the program splits, and each time that it ends it does not. On a busy machine what
        is told may come late: one of several times it must be prompt."""
        delays = []
        self.expect_unsplit()
        for _ in range(PHASES):
            order("load")
            start = time.monotonic()
            wait_until(lambda: self.slices()[-1] > 1, lambda: f"split while another computes: {self.slices()[-40:]}")
            delays.append(time.monotonic() - start)
            order("idle")
            self.expect_unsplit()
        print(f"more slices {', '.join(f'{delay:.2f}' for delay in delays)} s after the beginning of load")
        self.assertLessEqual(min(delays), PROMPT, delays)

    def test_guests_follow_running_domains_and_a_restarted_daemon(self):
        self.start_daemon(f"unix:{self.path}", "tcp:127.0.0.1:0")
        tcp = self.daemon.address("tcp")
        there = tcp.replace("127.0.0.1", "10.0.2.2")
        self.libvirt.create("network", self.guest, f"network {there}", NETWORK, MEMORY)
        self.libvirt.create("port", self.guest, "port cleave.monitor", PORT.format(path=self.path), MEMORY)
        self.expect_running(2)
        order = self.create_load("a")
        self.expect_running(3)
        self.expect_slices_to_follow_load(order)
        self.libvirt.virsh("suspend", "a")
        self.expect_running(2)
        self.libvirt.virsh("resume", "a")
        self.expect_running(3)
        self.daemon.kill()
        self.create("b")
        self.start_daemon(f"unix:{self.path}", tcp)
        self.expect_running(4)
        self.libvirt.kill_qemu("a")
        self.expect_running(3)
        # No wrong count was ever printed.
        for name in ("network", "port"):
            self.assertLessEqual(set(self.counts(name)), {1, 2, 3, 4})


if __name__ == "__main__":
    skip_without_prerequisites()
    main()
