"""The monitor that the job of `cleave bench neighbours` follows by the policy `pressure`.

    Daemon    cleave-monitord: of the neighbours where they are domains, else of this host
    Stand-in  for neighbours that are processes: what the daemon would say if they were domains, without libvirt. The kernel's
              times are those that libvirt reads of a domain's virtual processors, and the formula is the daemon's
              (monitor/hypervisor/pressure.h)
"""

import math
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import programs
from domains import URI
from results import Unmeasured

PATIENCE = 30  # seconds until it says a pressure


def find_daemon():
    """That of the environment, of this build, or of the system."""
    built = programs.FOLDER / "../bin/cleave-monitord"
    found = os.environ.get("CLEAVE_BENCH_MONITORD") or (built if built.exists() else shutil.which("cleave-monitord"))
    if not found:
        raise Unmeasured("no cleave-monitord: build it, or name it in CLEAVE_BENCH_MONITORD")
    return found


class Daemon:
    """Follows the domains, or this host where the neighbours are processes: libvirt's test driver has a domain without
    statistics, so that the host's pressure-stall information is used (docs/monitor.md)."""

    def __init__(self, isolation):
        self.words = "cleave-monitord, of the domains" if isolation.name == "domains" else "cleave-monitord, of the host"
        program = find_daemon()
        uri = URI if isolation.name == "domains" else "test:///default"
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-bench-")
        self.address = f"unix:{self.folder.name}/monitor.sock"
        self.log = pathlib.Path(self.folder.name) / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([program, "--config", os.devnull, "--connect", uri, "--listen", self.address,
                                             "--metrics", f"unix:{self.folder.name}/metrics.sock"], stderr=log)

    def wait(self):
        """Until it knows a pressure. Without one the policy would be `budget`."""
        end = time.monotonic() + PATIENCE
        while "cleave_monitor_pressure " not in self.metrics():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Unmeasured(f"no pressure from cleave-monitord: {self.log.read_text().strip()}")
            time.sleep(0.2)

    def follow(self, processes):
        """It finds them by itself."""

    def metrics(self):
        """In the text format; empty while it does not answer."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(f"{self.folder.name}/metrics.sock")
                connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                with connection.makefile() as answer:
                    return answer.read()
        except OSError:
            return ""

    def stretch(self, window):
        """What the daemon says is of the host, or smoothed."""

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def scheduler_times(process):
    """Seconds that each thread of a process ran and waited for a processor; none once it has ended."""
    times = {}
    for file in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
        try:
            ran, waited, _ = map(int, file.read_text().split())
        except (OSError, ValueError):
            continue
        times[process, file.parent.name] = ran / 1e9, waited / 1e9
    return times


class Meter:
    """The daemon's PressureMeter, for times by thread."""

    IDLE_SHARE, SMOOTHING = 0.05, 1.0

    def __init__(self):
        self.times, self.sampled, self.pressure = None, None, None
        self.intervals = []  # begin, end, seconds that the threads ran and that they waited

    def sample(self, times, now):
        if self.times is not None and now > self.sampled:
            pairs = [(times[key], self.times[key]) for key in times.keys() & self.times.keys()]
            ran, waited = (sum(after[i] - before[i] for after, before in pairs) for i in (0, 1))
            length = now - self.sampled
            self.intervals.append((self.sampled, now, ran, waited))
            x = min(1, waited / max(ran + waited, self.IDLE_SHARE * length))
            old = x if self.pressure is None else self.pressure
            self.pressure = old + (1 - math.exp(-length / self.SMOOTHING)) * (x - old)
        self.times, self.sampled = times, now


class StandIn:
    """Speaks the daemon's protocol (docs/monitor-protocol.md) and says the pressure of the processes that it follows."""

    INTERVAL = 0.5  # the daemon's, and between signs of life
    words = "the neighbours' processes"

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cleave-bench-")
        self.address = f"unix:{self.folder.name}/monitor.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder.name}/monitor.sock")
        self.listener.listen()
        self.listener.settimeout(0)
        self.processes, self.meter, self.clients, self.sequence = [], Meter(), [], 0
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    @staticmethod
    def usable():
        return any(ran for ran, _ in scheduler_times("self").values())

    def wait(self):
        pass

    def follow(self, processes):
        with self.lock:
            self.processes, self.meter = [process.pid for process in processes], Meter()

    def stretch(self, window):
        """How many times as long the processes' work took as it ran, since it waited for processors, in that window (CLOCK_MONOTONIC);
        None if nothing of it is known."""
        with self.lock:
            inside = [each for each in self.meter.intervals if window[0] <= each[0] and each[1] <= window[1]]
        ran, waited = (sum(each[i] for each in inside) for i in (2, 3))
        return (ran + waited) / ran if ran > 0 else None

    def serve(self):
        while not self.ended.wait(self.INTERVAL):
            self.accept()
            with self.lock:
                self.meter.sample({key: pair for process in self.processes for key, pair in scheduler_times(process).items()},
                                  time.monotonic())
                self.say(len(self.processes) + 1, self.meter.pressure)

    def accept(self):
        try:
            while True:
                client, _ = self.listener.accept()
                client.settimeout(0)
                self.clients.append(client)
                client.send(b"cleave-monitor 1 heartbeat=2000\n")
        except OSError:
            pass  # no more

    def say(self, machines, pressure):
        self.sequence += 1
        line = f"count {self.sequence} {machines} {machines}"
        line += "" if pressure is None else f" pressure={round(1000 * pressure)}"
        for client in list(self.clients):
            try:
                client.send(f"{line}\n".encode())
            except OSError:
                client.close()
                self.clients.remove(client)

    def close(self):
        self.ended.set()
        self.thread.join()
        for each in (*self.clients, self.listener):
            each.close()
        self.folder.cleanup()


def start(isolation):
    """The one that says the most of these neighbours. It knows a pressure, or says why not."""
    monitor = StandIn() if isolation.name != "domains" and StandIn.usable() else Daemon(isolation)
    try:
        monitor.wait()
    except Unmeasured:
        monitor.close()
        raise
    return monitor
