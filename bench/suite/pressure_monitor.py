"""cleave-monitord for the policy `pressure`: the job of `cleave bench neighbours` follows it."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
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


class PressureMonitor:
    """Follows the domains, or this host where the neighbours are processes: libvirt's test driver has a domain without statistics, so that
    the host's pressure-stall information is used (docs/monitor.md)."""

    def __init__(self, isolation):
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

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()
