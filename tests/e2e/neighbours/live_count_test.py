"""Base of the tests of the live count: a program under Cleave that launches on command."""

import json
import os
import subprocess
import time

from support.options import OPTIONS
from support.processes import wait_until
from support.programs import ProgramTest

ALPHA = 4


class LaunchServer:
    """The program `launch_server` under Cleave. It ends with the test."""

    def __init__(self, test, method="preload", **settings):
        settings = {"CLEAVE_REGISTRY": test.registry, "CLEAVE_MIN_ITEMS": "0", "CLEAVE_ALPHA": ALPHA} | settings
        self._process = test.start_talking(method, OPTIONS.programs / "launch_server", stderr=subprocess.PIPE, **settings)
        self.pid = self._process.pid
        self.errors = ""
        self._slices_before = 0

    def execute(self, what):
        return json.loads(ProgramTest.ask(self._process, what))

    def launch(self):
        """Launches once. Returns into how many slices; 1: it stayed unsplit."""
        total = self.execute("launch")["slices"]
        slices = total - self._slices_before
        self._slices_before = total
        return slices or 1

    def launch_until(self, vms):
        """Launches until a launch has the slices for that count."""
        wanted = vms * ALPHA if vms > 1 else 1
        wait_until(lambda: self.launch() == wanted, lambda: f"{wanted} slices: {self.execute('ask')}")

    def read_error(self):
        """Waits for a line on standard error."""
        self.errors += self._process.stderr.readline()

    def finish(self):
        """Closes its input, and waits for its end. Returns its exit status and the seconds that took."""
        began = time.monotonic()
        self._process.stdin.close()
        status = self._process.wait(30)
        self.errors += self._process.stderr.read()
        return status, time.monotonic() - began


class LiveCountTest(ProgramTest):
    def setUp(self):
        super().setUp()
        name = self.id().rsplit(".", 1)[-1]
        self.socket = self.folder / f"{name}.sock"
        self.registry = str(self.folder / f"{name}-registry")

    def start_program(self, method="preload", **settings):
        settings.setdefault("CLEAVE_NEIGHBOURS", f"unix:{self.socket}")
        return LaunchServer(self, method, **settings)

    def entries(self):
        return sorted(os.listdir(self.registry)) if os.path.isdir(self.registry) else []
