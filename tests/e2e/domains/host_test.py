"""A host: a libvirtd with real domains (QEMU, emulated), the daemon that counts them, and programs that follow the count."""

import os
import platform
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "neighbours"))

import private_libvirt
from initramfs import archive
from live_count_test import ALPHA, LiveCountTest
from private_libvirt import TIMEOUT, Libvirt, ProcessOwner, wait_until
from support.options import OPTIONS, skip

HERE = Path(__file__).parent
KERNEL = OPTIONS.guest / "vmlinuz"
HEARTBEAT = 200  # milliseconds
INTERVAL = 400  # milliseconds between listings, and between samples of processor times


def skip_without_prerequisites():
    """There are no domains without these; the one line says how to get the first that is missing."""
    needs = (
        (platform.machine() == "x86_64", "an x86-64 machine"),
        (private_libvirt.LIBVIRTD, "libvirtd: install the package libvirt-daemon"),
        (private_libvirt.QEMU_DRIVER, "libvirt's QEMU driver: install the package libvirt-daemon-driver-qemu"),
        (private_libvirt.VIRSH, "virsh: install the package libvirt-clients"),
        (private_libvirt.QEMU, "qemu-system-x86_64: install the package qemu-system-x86"),
        (shutil.which("socat"), "socat: install the package socat"),
        (KERNEL.exists(), f"a kernel for guests: run {HERE}/fetch_guest {OPTIONS.guest}"),
    )
    for is_there, what in needs:
        if not is_there:
            skip(f"needs {what}")


def guest_files():
    """The files that every guest has."""
    return {"init": (HERE / "guest_init").read_bytes(), "bin/busybox": (OPTIONS.guest / "busybox").read_bytes()}


def slices_for(running):
    """Into how many slices a launch is split. A program on the host counts at least one VM."""
    return running * ALPHA if running > 1 else 1


class Daemon:
    """cleave-monitord. `log` has its lines, in case a test fails. `prefix` is a command that runs it."""

    def __init__(self, test, uri, *listen, prefix=()):
        self.log = []
        options = ["--heartbeat", str(HEARTBEAT), "--interval", str(INTERVAL), "--config", os.devnull, "--connect", uri]
        self.process = subprocess.Popen(
            [*prefix, str(OPTIONS.monitord), *options, "--listen", *listen], stderr=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self._reader.start()
        test.addCleanup(self.kill)

    def address(self, kind):
        """The address that it listens on, once it does."""
        pattern = re.compile(rf"listening on ({kind}:\S*[^\s,])")
        wait_until(lambda: any(map(pattern.search, self.log)), f"the daemon listens: {self.log}")
        return next(filter(None, map(pattern.search, self.log)))[1]

    def end(self):
        """Its exit status."""
        self.process.terminate()
        status = self.process.wait(TIMEOUT)
        self._reader.join()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()


class MonitorClient:
    """Reads the daemon's messages as they arrive."""

    def __init__(self, test, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._lines = queue.Queue()
        self.received = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        test.addCleanup(self.close)

    def _read(self):
        with self._socket.makefile("r", encoding="ascii") as stream:
            for line in stream:
                self._lines.put(line.rstrip("\n"))

    def line(self):
        try:
            line = self._lines.get(timeout=TIMEOUT)
        except queue.Empty:
            raise AssertionError(f"the daemon sends nothing more after {self.received}") from None
        self.received.append(line)
        return line

    def until(self, pattern):
        """The lines up to the first that matches."""
        lines = [self.line()]
        end = time.monotonic() + TIMEOUT
        while not re.fullmatch(pattern, lines[-1]):
            if time.monotonic() > end:
                raise AssertionError(f"no line like {pattern}: {lines}")
            lines.append(self.line())
        return lines

    def until_running(self, count):
        return self.until(rf"count \d+ {count} \d+( pressure=\d+)?")

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._socket.close()


class LaunchLoop:
    """A program that launches repeatedly. `slices` has each launch's, in order."""

    def __init__(self, test, method, **settings):
        self.program = test.start_program(method, **settings)
        self.slices = []
        self._first = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._launch)
        self._thread.start()
        test.addCleanup(self.end)

    def _launch(self):
        while not self._ended.wait(0.01):
            with self._lock:
                self.slices.append(self.program.launch())

    def neighbours(self):
        with self._lock:
            return self.program.execute("ask")["neighbours"]

    def wait_for(self, slices):
        wait_until(lambda: self.slices and self.slices[-1] == slices, f"{slices} slices, after {self.steps()}")

    def begin(self, slices):
        """Steps count from these slices on: on a busy machine a first launch may not wait for the first message."""
        self.wait_for(slices)
        self._first = len(self.slices) - 1

    def steps(self):
        """The slices without repetitions: how the count has changed, as slices by the launches."""
        slices = self.slices[self._first :]
        return [now for before, now in zip([None, *slices], slices) if now != before]

    def end(self):
        self._ended.set()
        self._thread.join()


class HostTest(LiveCountTest):
    """libvirtd lives as long as the script, domains and the daemon as long as the test."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        owner = ProcessOwner()
        cls.addClassCleanup(owner.end)
        cls.libvirt = Libvirt(owner, KERNEL)
        cls.idle = owner.put("idle.initrd", archive(guest_files()))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.libvirt.destroy_all)

    def start_daemon(self, *listen):
        """The daemon on the test's unix socket and on further addresses; with a client."""
        self.daemon = Daemon(self, self.libvirt.uri, f"unix:{self.socket}", *listen)
        self.daemon.address("unix")
        self.client = MonitorClient(self, self.socket)

    def create(self, *names):
        for name in names:
            self.libvirt.create(name, self.idle)

    def is_alive(self, process):
        return os.path.exists(f"/proc/{process}")

    def suspend_libvirtd(self):
        """Until the test ends, at the latest."""
        self.libvirt.signal(signal.SIGSTOP)
        self.addCleanup(self.libvirt.signal, signal.SIGCONT)
