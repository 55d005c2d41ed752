"""Programs on a machine without a driver use a server's: their output is the one with a local driver, however the remote
devices are loaded; and when the server is lost, they get an error and go on."""

import json
import re
import signal
import subprocess
import time

from support.options import DROP_IN, OPTIONS, main
from support.processes import cleave
from support.programs import PYTHON, clinfo
from support.remote import RemoteTest

TIMEOUT = 5  # seconds, the setting

ENDLESS = """
import sys, time
import pyopencl as cl
platform = [p for p in cl.get_platforms() if "(remote)" in p.name][0]
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)
kernel = cl.Program(context, "kernel void nothing() {}").build().nothing
print("begun", flush=True)
try:
    while True:
        kernel(queue, (1,), None)
        queue.finish()
except cl.Error as error:
    print(error.code, flush=True)
print(len(cl.get_platforms()), flush=True)
"""


class Programs(RemoteTest):
    client_timeout = TIMEOUT
    # Not the layer: ocl-icd loads none if it has no driver.
    methods = ("native", "preload", "run")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.new_server("server")
        cls.addClassCleanup(cls.server.stop)

    def run_on(self, server, method, transport="tcp", **settings):
        return self.run_remotely(method, server.addresses[transport], *OPTIONS.program, CLEAVE_REMOTE_TIMEOUT=TIMEOUT,
                                 **settings)

    def assertSameOutput(self, native, run_):
        """References that drivers hold of an event differ, and the client does not ask for them."""
        for one in (native, run_):
            one.out = re.sub(r"\d+ reference", "N reference", one.out)
        super().assertSameOutput(native, run_)

    def test_output_is_native_with_every_load_method(self):
        native = self.run_native(*OPTIONS.program)
        for method in self.methods:
            run = self.run_on(self.server, method)
            self.assertSameOutput(native, run)
            self.assertEqual(run.err, native.err, run)

    def test_output_is_native_over_a_unix_socket(self):
        native = self.run_native(*OPTIONS.program)
        self.assertSameOutput(native, self.run_on(self.server, "native", "unix"))

    def test_client_does_not_split_launches_on_remote_devices(self):
        run = self.run_on(self.server, "preload", CLEAVE_VMS="5", CLEAVE_MIN_ITEMS="0")
        self.assertGreater(run.total("launches"), 0, run)
        self.assertEqual(run.total("split"), 0, run)
        reasons = ("remote", "binary", "one_group", "kernel")  # the first of them that holds
        self.assertEqual(sum(map(run.unsplit, reasons)), run.total("launches"), run)
        self.assertGreater(run.unsplit("remote") + run.unsplit("binary") + run.unsplit("kernel"), 0, run)

    def test_server_splits_launches_with_every_load_method(self):
        stats = self.folder / "stats"
        stats.mkdir()
        server = self.start_server("splitting", environment=self.environment(
            CLEAVE_SPLIT="fixed:3", CLEAVE_MIN_ITEMS=0, CLEAVE_STATS=stats / "%p.json"))
        native = self.run_native(*OPTIONS.program)
        split = {}
        for method in self.methods:
            self.assertSameOutput(native, self.run_on(server, method, CLEAVE_VMS="2"))
            # It is written when the worker ends.
            server.wait_for(lambda: any(file.read_text().endswith("}\n") for file in stats.glob("*.json")), "no statistics")
            split[method] = sum(json.loads(file.read_text())["split"] for file in stats.glob("*.json"))
            for file in stats.glob("*.json"):
                file.unlink()
        self.assertGreater(split["native"], 0)
        self.assertEqual(split, dict.fromkeys(split, split["native"]))

    def test_cleave_run_and_cleave_remote_take_the_address(self):
        native = self.run_native(*clinfo("--list"))
        address = self.server.addresses["tcp"]
        run = self.run_program("run", *clinfo("--list"), options=("--remote", address), OCL_ICD_VENDORS=self.no_drivers)
        name, *devices = native.out.splitlines()
        self.assertEqual(run.out.splitlines(), [f"{name} (remote)", *devices], run)
        listed = cleave("remote", "ls", address, environment=self.environment())
        self.assertEqual(listed.returncode, 0, listed)
        self.assertIn(f"{address}: answered in ", listed.stdout)

    def test_platform_is_presented_by_the_drivers_name_if_that_is_wanted(self):
        native = self.run_native(*clinfo("--list"))
        for method in ("native", "preload", "run"):
            self.assertSameRemotely(native, method, self.server.addresses["unix"], *clinfo("--list"),
                                    CLEAVE_PLATFORM_NAMES="original")

    def test_local_devices_come_first(self):
        native = self.run_native(*clinfo("--list"))
        both = self.run_remotely("preload", self.server.addresses["tcp"], *clinfo("--list"),
                                 OCL_ICD_VENDORS=self.environment()["OCL_ICD_VENDORS"])
        lines = native.out.splitlines()
        numbered = [line.replace("Platform #0", "Platform #1") for line in lines]
        self.assertEqual(both.out.splitlines(), [*lines, numbered[0] + " (remote)", *numbered[1:]], both)

    def test_without_a_server_local_devices_are_offered(self):
        native = self.run_native(*clinfo("--list"))
        absent = f"unix:{self.folder / 'absent'}"
        run = self.run_program("preload", *clinfo("--list"), CLEAVE_REMOTE=absent)
        self.assertSameOutput(native, run)
        self.assertEqual(run.err, f"cleave: {absent} cannot be used: no server there\n")
        run = self.run_program("preload", *clinfo("--list"), CLEAVE_REMOTE=absent, CLEAVE_REMOTE_PREFER="required")
        self.assertEqual(run.out, "", run)

    def start_endless_program(self, server):
        environment = self.environment(
            LD_PRELOAD=DROP_IN, CLEAVE_REMOTE=server.addresses["tcp"], CLEAVE_REMOTE_TIMEOUT=TIMEOUT)
        program = subprocess.Popen([PYTHON, "-c", ENDLESS], env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "begun\n")
        return program

    def assertLosesDevice(self, program, seconds):
        begun = time.monotonic()
        code, platforms = program.stdout.read().split()
        program.wait(60)
        self.assertLess(time.monotonic() - begun, seconds)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(int(code), -2, "CL_DEVICE_NOT_AVAILABLE")
        self.assertGreater(int(platforms), 1, "the others are still there")

    def test_killed_server_ends_calls(self):
        server = self.start_server("killed")
        program = self.start_endless_program(server)
        server.kill()
        self.assertLosesDevice(program, TIMEOUT)

    def test_hung_server_ends_calls_in_time(self):
        server = self.start_server("hung", "--heartbeat", "200")
        self.addCleanup(server.kill)
        program = self.start_endless_program(server)
        server.signal_all(signal.SIGSTOP)
        self.assertLosesDevice(program, 2 * TIMEOUT)

    def test_server_forgets_a_killed_client(self):
        server = self.start_server("forgets")
        program = self.start_endless_program(server)
        program.kill()
        begun = time.monotonic()
        server.wait_for_log("disconnected:")
        self.assertLess(time.monotonic() - begun, TIMEOUT)


if __name__ == "__main__":
    main()
