"""Programs on a machine without a driver use a server's: the same output as with the driver beside them, whichever way the
remote devices come in; and when the server goes, they end with an error and go on."""

import json
import os
import re
import signal
import subprocess
import time

from compare import CLEAVE, DROP_IN, LIBRARIES, OPTIONS, ComparedTest, main, needed
from serving import Server

CLIENT = LIBRARIES / "libcleave-remote.so"
TIMEOUT = 3  # seconds, the setting

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


class Remote(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "empty").mkdir()
        (cls.folder / "remote.icd").write_text(f"{CLIENT}\n")
        cls.server = cls.start("server")
        cls.addClassCleanup(cls.server.end)

    @classmethod
    def start(cls, name, *options, **variables):
        return Server(cls.folder / name, cls.environment(cls, **variables), *options)

    def run_remote(self, way, *command, transport="tcp", server=None, **settings):
        """`icd`: a loader that knows the client alone; else a face of ours over a loader without any driver."""
        place = (server or self.server).addresses[transport]
        vendors = self.folder / "remote.icd" if way == "icd" else f"{self.folder / 'empty'}/"
        return self.run_program(
            "native" if way == "icd" else way, *command, OCL_ICD_VENDORS=settings.pop("vendors", vendors),
            CLEAVE_REMOTE=place, CLEAVE_REMOTE_TIMEOUT=TIMEOUT, **settings)

    def assertSame(self, native, run):
        """What drivers hold of an event for themselves is theirs to say, and the client does not ask."""
        for one in (native, run):
            one.out = re.sub(r"\d+ reference", "N reference", one.out)
        super().assertSame(native, run)

    def test_programs_print_the_same_whichever_way(self):
        native = self.native(*OPTIONS.program)
        # Not the layer: ocl-icd loads none where it has no driver.
        for way in ("icd", "preload", "run"):
            run = self.run_remote(way, *OPTIONS.program)
            self.assertSame(native, run)
            self.assertEqual(run.err, native.err, run)

    def test_programs_print_the_same_over_a_unix_socket(self):
        native = self.native(*OPTIONS.program)
        self.assertSame(native, self.run_remote("icd", *OPTIONS.program, transport="unix"))

    def test_launches_stay_whole_here(self):
        run = self.run_remote("preload", *OPTIONS.program, CLEAVE_VMS="5", CLEAVE_MIN_ITEMS="0")
        self.assertGreater(run.total("launches"), 0, run)
        self.assertEqual(run.total("split"), 0, run)
        reasons = ("remote", "binary", "one_group", "kernel")  # the first of them that holds
        self.assertEqual(sum(map(run.whole, reasons)), run.total("launches"), run)
        self.assertGreater(run.whole("remote") + run.whole("binary") + run.whole("kernel"), 0, run)

    def test_launches_are_split_at_the_server(self):
        """Whichever way they come, and whether or not their client sees to launches of other devices."""
        stats = self.folder / "stats"
        stats.mkdir()
        server = self.start("splitting", CLEAVE_SPLIT="fixed:3", CLEAVE_MIN_ITEMS=0, CLEAVE_STATS=stats / "%p.json")
        self.addCleanup(server.end)
        native = self.native(*OPTIONS.program)
        split = {}
        for way in ("icd", "preload", "run"):
            self.assertSame(native, self.run_remote(way, *OPTIONS.program, server=server, CLEAVE_VMS="2"))
            # It is written when the worker ends.
            server.wait_for(lambda: any(file.read_text().endswith("}\n") for file in stats.glob("*.json")), "no statistics")
            split[way] = sum(json.loads(file.read_text())["split"] for file in stats.glob("*.json"))
            for file in stats.glob("*.json"):
                file.unlink()
        self.assertGreater(split["icd"], 0)
        self.assertEqual(split, dict.fromkeys(split, split["icd"]))

    def test_the_command_names_the_server(self):
        clinfo = needed("clinfo", "clinfo")
        native = self.native(clinfo, "--list")
        place = self.server.addresses["tcp"]
        ours = self.run_program(
            "run", clinfo, "--list", options=("--remote", place), OCL_ICD_VENDORS=f"{self.folder / 'empty'}/")
        name, *devices = native.out.splitlines()
        self.assertEqual(ours.out.splitlines(), [f"{name} (remote)", *devices], ours)
        listed = subprocess.run([CLEAVE, "remote", "ls", place], capture_output=True, text=True, check=False,
                                env=self.environment(), timeout=60)
        self.assertEqual(listed.returncode, 0, listed)
        self.assertIn(f"{place}: answered in ", listed.stdout)

    def test_local_devices_come_first_and_work(self):
        clinfo = needed("clinfo", "clinfo")
        native = self.native(clinfo, "--list")
        both = self.run_remote("preload", clinfo, "--list", vendors=self.environment()["OCL_ICD_VENDORS"])
        lines = native.out.splitlines()
        numbered = [line.replace("Platform #0", "Platform #1") for line in lines]
        self.assertEqual(both.out.splitlines(), [*lines, numbered[0] + " (remote)", *numbered[1:]], both)

    def test_without_a_server_the_local_devices_are_offered(self):
        clinfo = needed("clinfo", "clinfo")
        native = self.native(clinfo, "--list")
        absent = f"unix:{self.folder / 'nobody'}"
        run = self.run_program("preload", clinfo, "--list", CLEAVE_REMOTE=absent)
        self.assertSame(native, run)
        self.assertEqual(run.err, f"cleave: {absent} is not in reach: no server there\n")
        run = self.run_program("preload", clinfo, "--list", CLEAVE_REMOTE=absent, CLEAVE_REMOTE_REQUIRED="true")
        self.assertEqual(run.out, "", run)

    def begin_endless(self, server):
        environment = self.environment(
            LD_PRELOAD=DROP_IN, CLEAVE_REMOTE=server.addresses["tcp"], CLEAVE_REMOTE_TIMEOUT=TIMEOUT)
        program = subprocess.Popen(
            ["/usr/bin/python3", "-c", ENDLESS], env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "begun\n")
        return program

    def assertEndsWithoutDevice(self, program, seconds):
        begun = time.monotonic()
        code, platforms = program.communicate(timeout=60)[0].split()
        self.assertLess(time.monotonic() - begun, seconds)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(int(code), -2, "CL_DEVICE_NOT_AVAILABLE")
        self.assertGreater(int(platforms), 1, "the others are still there")

    def test_when_the_server_is_killed_calls_end(self):
        server = self.start("killed")
        program = self.begin_endless(server)
        server.kill()
        self.assertEndsWithoutDevice(program, TIMEOUT)

    def test_when_the_server_hangs_calls_end_in_time(self):
        server = self.start("hung", "--heartbeat", "200")
        self.addCleanup(server.kill)
        program = self.begin_endless(server)
        os.killpg(server.process.pid, signal.SIGSTOP)
        self.assertEndsWithoutDevice(program, 2 * TIMEOUT)

    def test_when_the_client_is_killed_the_server_forgets_it(self):
        server = self.start("forgets")
        self.addCleanup(server.end)
        program = self.begin_endless(server)
        program.kill()
        begun = time.monotonic()
        server.wait_for(lambda: "went:" in server.log.read_text(), "the client is still there")
        self.assertLess(time.monotonic() - begun, 2)


if __name__ == "__main__":
    main()
