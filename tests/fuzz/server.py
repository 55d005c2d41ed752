"""The server of one run by way of `remote`: it executes on the driver and splits there."""

import os
import subprocess
import time
from pathlib import Path

START_TIMEOUT = 120  # seconds; a busy machine may stand still for a minute, and a server that has ended is seen at once
STOP_TIMEOUT = 20


class Server:
    """A context in which a server listens at `address`, a socket in `folder`. It runs in the folder `work_folder`. Afterwards
    its worker has written its statistics."""

    def __init__(self, daemon, folder, environment, work_folder):
        self.address = f"unix:{folder}/socket"
        self.log = Path(folder) / "log"
        user = ["--user", "root"] if os.geteuid() == 0 else []
        self.command = [daemon, "--listen", self.address, "--spare", "0", "--sandbox", "off", *user]
        self.environment, self.work_folder = environment, work_folder

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, cwd=self.work_folder, stdout=log, stderr=log)
        until = time.monotonic() + START_TIMEOUT
        while "listening on" not in self.log.read_text():
            if time.monotonic() > until or self.process.poll() is not None:
                self.process.kill()
                raise RuntimeError(f"no server: {self.log.read_text()}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
