"""A server of a test's own, on a unix socket and a TCP port of loopback."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from compare import CLEAVE

SERVERD = CLEAVE.parent / "cleave-serverd"
PATIENCE = 20  # seconds


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs until end(). `environment` decides which drivers it offers."""

    def __init__(self, folder, environment, *options):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / "socket"
        port = free_port()
        self.addresses = {"tcp": f"tcp:127.0.0.1:{port}", "unix": f"unix:{self.path}"}
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [SERVERD, "--listen", self.addresses["tcp"], "--listen", self.addresses["unix"], *options],
                env=environment, stdout=log, stderr=log, start_new_session=True)
        self.wait_for(lambda: self.log.read_text().count("listening on") == 2, "it does not listen")

    def wait_for(self, condition, what):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError(f"{what}\n{self.log.read_text()}")
            time.sleep(0.02)

    def kill(self):
        """It and all its workers, as when a machine goes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
