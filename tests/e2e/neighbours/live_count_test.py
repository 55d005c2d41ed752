"""Base of the tests of the live count: a program under Cleave that launches on command."""

import json
import os
import subprocess
import time

from support.options import OPTIONS
from support.processes import wait_until
from support.programs import LOAD_METHODS, ProgramTest

ALPHA = 4


class LaunchServer:
    """The program `launch_server` under Cleave. It ends with the test."""

    def __init__(self, test, method="preload", **settings):
        prefix, variables = LOAD_METHODS[method]
        settings.setdefault("CLEAVE_REGISTRY", test.registry)
        environment = test.with_vendor_below(test.environment(
            CLEAVE_MIN_ITEMS="0", CLEAVE_ALPHA=str(ALPHA), **variables, **settings
        ))
        command = [*prefix, *(["--"] if prefix else []), str(OPTIONS.programs / "launch_server")]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        self.errors = ""
        self._slices_before = 0
        test.addCleanup(self.kill)

    def execute(self, what):
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

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

    def kill(self):
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


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
