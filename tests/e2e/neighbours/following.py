"""What the tests of the live count share: a program under Cleave that launches when it is told to."""

import json
import os
import subprocess
import time

from compare import OPTIONS, WAYS, ComparedTest

ALPHA = 4


class Launches:
    """The program `launches` under Cleave. Ends with the test, and must then have ended well and in time."""

    def __init__(self, test, way="preload", **settings):
        before, variables = WAYS[way]
        settings.setdefault("CLEAVE_REGISTRY", test.registry)
        environment = test.environment(
            CLEAVE_MIN_ITEMS="0", CLEAVE_ALPHA=str(ALPHA), CLEAVE_MAX_AGE="1", **variables, **settings
        )
        command = [*before, *(["--"] if before else []), str(OPTIONS.programs / "launches")]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        self.errors = ""
        self._before = 0
        test.addCleanup(self.kill)

    def tell(self, what):
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def launch(self):
        """Launches once. Gives into how many slices; 1: it stayed whole."""
        slices = self.tell("launch")["slices"]
        made = slices - self._before
        self._before = slices
        return made or 1

    def launch_until(self, vms, patience=60):
        """Launches until a launch follows that count; the number of seconds that took."""
        began = time.monotonic()
        wanted = vms * ALPHA if vms > 1 else 1
        while (made := self.launch()) != wanted:
            if time.monotonic() - began > patience:
                raise AssertionError(f"{made} slices, not {wanted}, after {patience} s: {self.tell('ask')}")
            time.sleep(0.02)
        return time.monotonic() - began

    def complaint(self):
        """Waits until it says something on standard error."""
        self.errors += self._process.stderr.readline()

    def end(self):
        """Lets it end by itself. Gives its exit status and the seconds that took."""
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


class FollowingTest(ComparedTest):
    def setUp(self):
        super().setUp()
        name = self.id().rsplit(".", 1)[-1]
        self.socket = self.folder / f"{name}.sock"
        self.registry = str(self.folder / f"{name}-registry")

    def launches(self, way="preload", **settings):
        settings.setdefault("CLEAVE_MONITOR", f"unix:{self.socket}")
        return Launches(self, way, **settings)

    def entries(self):
        return sorted(os.listdir(self.registry)) if os.path.isdir(self.registry) else []
