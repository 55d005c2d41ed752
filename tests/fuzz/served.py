"""A server of one run's own, for Cleave's way `remote`: it executes on the driver, and splits there."""

import subprocess
import time
from pathlib import Path

PATIENCE = 20  # seconds


class Served:
    """Within it a server listens at `address`, a socket in `folder`. It works in `place`, with this environment; at the end its
    worker has written what it counted."""

    def __init__(self, daemon, folder, environment, place):
        self.address = f"unix:{folder}/socket"
        self.log = Path(folder) / "log"
        self.command = [daemon, "--listen", self.address, "--spare", "0"]
        self.environment, self.place = environment, place

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, cwd=self.place, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE
        while "listening on" not in self.log.read_text():
            if time.monotonic() > until or self.process.poll() is not None:
                self.process.kill()
                raise RuntimeError(f"no server: {self.log.read_text()}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
