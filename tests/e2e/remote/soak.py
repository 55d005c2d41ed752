"""A client does random work for a long time, others come and go meanwhile, and the memory and the descriptors of client,
worker and server do not grow. Drivers may keep something of each program that they have built, as PoCL does: the worker may
grow as much as the same work natively alongside it. Run by hand (docs/remote.md):

    PYTHONPATH=tests/e2e python3 tests/e2e/remote/soak.py --cleave build/release/bin/cleave \\
      --programs build/release/tests/e2e/remote

CLEAVE_SOAK_SECONDS: how long (3600). CLEAVE_SOAK_PAUSE: milliseconds between two steps of the client's (50). Prints a line
for each sample; the exit status is 0 if the last fifth of the time used no more than the second. The first fifth is a
warm-up: a minute at least."""

import json
import os
import time

from support.options import main
from support.processes import process_status, resources_of
from support.remote import METRICS, RemoteTest

SECONDS = int(os.environ.get("CLEAVE_SOAK_SECONDS", "3600"))
PAUSE = int(os.environ.get("CLEAVE_SOAK_PAUSE", "50"))
SAMPLES = 120
GROWTH = 8 << 10  # KiB that a process may have more of at the end: what allocators keep for later


class Soak(RemoteTest):
    client_timeout = 10

    def setUp(self):
        super().setUp()
        self.server = self.start_server("server", *METRICS, "--spare", "0")

    def work(self, environment):
        return self.start_program("random_work", SECONDS, "1", PAUSE, environment=environment)

    def visit(self):
        """Another client connects, works and ends."""
        visitor = self.start_client(self.server.addresses["tcp"])
        self.assertEqual(visitor.execute("work"), "ok")
        visitor.stop()
        self.server.wait_for(lambda: len(self.server.workers()) == 1, "its worker stays")

    def assertFlat(self, name, early, late):
        """By the medians of two stretches."""
        def growth(name, what):
            before, after = (sorted(sample[name][what] for sample in samples)[len(samples) // 2]
                             for samples in (early, late))
            print(f"{name}: {what} {before} -> {after}")
            return after - before

        drivers = max(0, growth("native", "kib")) if name == "worker" else 0
        for what, more in (("kib", GROWTH + 2 * drivers), ("threads", 2), ("descriptors", 2)):
            with self.subTest(name, what=what):
                self.assertLessEqual(growth(name, what), more)

    def test_resources_do_not_grow(self):
        program = self.work(self.client_environment(self.server.addresses["unix"]))
        native = self.work(self.environment())
        self.server.wait_for(lambda: self.server.metric("clients") == 1, "the client does not connect")
        worker = self.server.workers()[0]
        watched = {"client": program.pid, "worker": worker, "server": self.server.process.pid, "native": native.pid}
        begun = time.monotonic()
        samples = []
        while time.monotonic() < begun + SECONDS - 2 and process_status(program.pid) and process_status(native.pid):
            self.visit()
            samples.append({name: resources_of(process) for name, process in watched.items()})
            print(f"{time.monotonic() - begun:.0f} s: {json.dumps(samples[-1])}", flush=True)
            time.sleep(max(0.1, min(SECONDS / SAMPLES, begun + SECONDS - 2 - time.monotonic())))
        out = program.communicate(timeout=120)[0]
        self.assertEqual(program.returncode, 0, out)
        print(out)
        self.assertEqual(json.loads(out)["error"], 0)
        fifth = len(samples) // 5
        for name in ("client", "worker", "server"):
            self.assertFlat(name, samples[fifth:2 * fifth], samples[-fifth:])


if __name__ == "__main__":
    main()
