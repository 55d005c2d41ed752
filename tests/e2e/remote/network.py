"""Two network namespaces and what connects them. In the first a server runs, in the second clients.

Cable: a pair of virtual interfaces, which the kernel's netem can make worse and `ip link` can cut. Wire: two tunnel
devices, and between them a process of the test's own that loses, delays and reorders packets; for kernels without netem.
Both need the rights to make namespaces: why_not() says what is missing."""

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

NEAR, FAR = "10.99.53.1", "10.99.53.2"
_NEWNET = 0x40000000
_SET_INTERFACE, _TUN, _NO_INFORMATION = 0x400454CA, 1, 0x1000


def _run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def why_not():
    """Why there can be no namespaces here; empty if there can."""
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "the package iproute2"
    name = f"cleave-{os.getpid()}-probe"
    try:
        _run("ip", "netns", "add", name)
    except OSError as problem:
        return f"network namespaces ({problem})"
    try:
        _run("ip", "-n", name, "link", "set", "lo", "up")
    except OSError as problem:
        return f"network namespaces ({problem})"
    finally:
        _run("ip", "netns", "del", name)
    return ""


class Network:
    """Two namespaces, with nothing between them."""

    def __init__(self):
        self.names = [f"cleave-{os.getpid()}-{end}" for end in ("near", "far")]
        self.made = []
        for name in self.names:
            _run("ip", "netns", "add", name)
            self.made.append(name)
            _run("ip", "-n", name, "link", "set", "lo", "up")

    def inside(self, end):
        """What to put before a command that is to run at that end: 0 or 1."""
        return ["ip", "netns", "exec", self.names[end]]

    def _address(self, end, interface):
        name = self.names[end]
        own, other = ((NEAR, FAR), (FAR, NEAR))[end]
        _run("ip", "-n", name, "address", "add", own, "peer", other, "dev", interface)
        _run("ip", "-n", name, "link", "set", interface, "mtu", 1500, "up")

    def close(self):
        for name in self.made:
            _run("ip", "netns", "del", name)
        self.made = []


class Cable(Network):
    def __init__(self):
        super().__init__()
        near, far = self.names
        _run("ip", "-n", near, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", far)
        for end in (0, 1):
            self._address(end, "cable")

    def worsen(self, *netem):
        """In both directions. OSError: the kernel has no netem."""
        for name in self.names:
            _run("tc", "-n", name, "qdisc", "replace", "dev", "cable", "root", "netem", *netem)

    def cut(self):
        _run("ip", "-n", self.names[1], "link", "set", "cable", "down")

    def mend(self):
        name = self.names[1]
        _run("ip", "-n", name, "link", "set", "cable", "up")


class Wire(Network):
    """`loss`: what part of the packets is lost. `delay`: seconds, up to a third more or less of it, so that packets overtake
    each other. `is_cut`: none gets through. OSError: there are no tunnel devices here."""

    def __init__(self, seed):
        super().__init__()
        self.loss, self.delay, self.is_cut = 0.0, 0.0, False
        self.passed = self.lost = 0  # packets
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
            space = os.open(f"/run/netns/{self.names[end]}", os.O_RDONLY)
            ctypes.CDLL(None, use_errno=True).setns(space, _NEWNET)
            os.close(space)
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
        waiting = []  # (when, number, packet)
        number = 0
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
                else:
                    heapq.heappush(waiting, (now + self.delay * self.random.uniform(2 / 3, 4 / 3), number, packet))
            while waiting and waiting[0][0] <= now:
                try:
                    os.write(target, heapq.heappop(waiting)[2])
                    self.passed += 1
                except OSError:
                    self.lost += 1
            if packet is None:
                time.sleep(0.0005)

    def cut(self):
        self.is_cut = True

    def mend(self):
        self.is_cut = False

    def close(self):
        self.closing = True
        for thread in self.threads:
            thread.join()
        for device in self.ends:
            os.close(device)
        super().close()
