"""Two network namespaces and the link between them. In the first a server runs, in the second clients.

VirtualCable: a pair of virtual interfaces, which netem can impair and `ip link` can take down. TunnelLink: two tunnel devices,
between which threads of the test drop, delay and reorder packets; for kernels without netem. Both need the rights to create
namespaces: Network.missing() says what is missing."""

import ctypes
import fcntl
import heapq
import os
import random
import shutil
import struct
import subprocess
import threading
import time

SERVER_ADDRESS, CLIENT_ADDRESS = "10.99.53.1", "10.99.53.2"
_NEWNET = 0x40000000
_SET_INTERFACE, _TUN, _NO_INFORMATION = 0x400454CA, 1, 0x1000


def _run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class Network:
    """Two namespaces, not connected."""

    def __init__(self):
        self.names = [f"cleave-{os.getpid()}-{end}" for end in ("server", "client")]
        self.created = []
        for name in self.names:
            _run("ip", "netns", "add", name)
            self.created.append(name)
            _run("ip", "-n", name, "link", "set", "lo", "up")

    @staticmethod
    def missing():
        """What is missing to create namespaces; empty if nothing is."""
        if shutil.which("ip") is None or shutil.which("tc") is None:
            return "the package iproute2"
        try:
            network = Network()
        except OSError as problem:
            return f"network namespaces ({problem})"
        network.close()
        return ""

    def inside(self, end):
        """The prefix of a command that is to run at that end: 0 or 1."""
        return ["ip", "netns", "exec", self.names[end]]

    def _address(self, end, interface):
        name = self.names[end]
        own, other = ((SERVER_ADDRESS, CLIENT_ADDRESS), (CLIENT_ADDRESS, SERVER_ADDRESS))[end]
        _run("ip", "-n", name, "address", "add", own, "peer", other, "dev", interface)
        _run("ip", "-n", name, "link", "set", interface, "mtu", 1500, "up")

    def close(self):
        for name in self.created:
            _run("ip", "netns", "del", name)
        self.created = []


class VirtualCable(Network):
    def __init__(self):
        super().__init__()
        server, client = self.names
        _run("ip", "-n", server, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", client)
        for end in (0, 1):
            self._address(end, "cable")

    def add_netem(self, *netem):
        """In both directions. OSError: the kernel has no netem."""
        for name in self.names:
            _run("tc", "-n", name, "qdisc", "replace", "dev", "cable", "root", "netem", *netem)

    def cut(self):
        _run("ip", "-n", self.names[1], "link", "set", "cable", "down")

    def restore(self):
        _run("ip", "-n", self.names[1], "link", "set", "cable", "up")


class TunnelLink(Network):
    """`rate`: bytes per second in each direction; 0: not limited. `loss`: the share of packets to drop. `delay`: seconds, without
    a rate up to a third more or less of it, so that packets are reordered. `is_cut`: all are dropped. OSError: there are no tunnel devices here."""

    QUEUE = 0.2  # seconds' worth of packets that a link with a rate holds, as routers do

    def __init__(self, seed):
        super().__init__()
        self.loss, self.delay, self.rate, self.is_cut = 0.0, 0.0, 0, False
        self.passed = self.lost = 0  # packets
        self.bytes = 0
        self.random = random.Random(seed)
        try:
            self.ends = [self._open(end) for end in (0, 1)]
        except OSError:
            super().close()
            raise
        self.closing = False
        self.threads = [threading.Thread(target=self._pass, args=(a, b), daemon=True)
                        for a, b in (self.ends, self.ends[::-1])]
        for thread in self.threads:
            thread.start()

    def _open(self, end):
        """A device belongs to the namespace of the thread that opens it."""
        opened = []

        def work():
            if not os.path.exists("/dev/net/tun"):
                return
            namespace = os.open(f"/run/netns/{self.names[end]}", os.O_RDONLY)
            ctypes.CDLL(None, use_errno=True).setns(namespace, _NEWNET)
            os.close(namespace)
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _SET_INTERFACE, struct.pack("16sH", b"wire", _TUN | _NO_INFORMATION))
            opened.append(device)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if not opened:
            raise OSError("no tunnel device")
        self._address(end, "wire")
        return opened[0]

    def _pass(self, source, target):
        waiting = []  # (due time, number, packet)
        number = 0
        free = 0.0  # when the link has sent all that it has taken
        while not self.closing:
            try:
                packet = os.read(source, 1 << 16)
            except BlockingIOError:
                packet = None
            now = time.monotonic()
            if packet is not None:
                number += 1
                if self.is_cut or self.random.random() < self.loss:
                    self.lost += 1
                elif not self.rate:
                    heapq.heappush(waiting, (now + self.delay * self.random.uniform(2 / 3, 4 / 3), number, packet))
                elif free - now > self.QUEUE:
                    self.lost += 1
                else:
                    free = max(free, now) + len(packet) / self.rate
                    heapq.heappush(waiting, (free + self.delay, number, packet))
            while waiting and waiting[0][0] <= now:
                try:
                    self.bytes += os.write(target, heapq.heappop(waiting)[2])
                    self.passed += 1
                except OSError:
                    self.lost += 1
            if packet is None:
                time.sleep(0.0005)

    def cut(self):
        self.is_cut = True

    def restore(self):
        self.is_cut = False

    def close(self):
        self.closing = True
        for thread in self.threads:
            thread.join()
        for device in self.ends:
            os.close(device)
        super().close()
