"""A client does varied work for a long time, others come and go beside it, and the memory and the descriptors of client,
worker and server stay what they are. Drivers may keep something of each program that they have built, as PoCL does: the
worker is allowed what the same work takes natively beside it. Run by hand (docs/remote.md):

    PYTHONPATH=tests/e2e python3 tests/e2e/remote/soak.py --cleave build/release/bin/cleave \\
      --programs build/release/tests/e2e/remote

CLEAVE_SOAK_SECONDS: how long (3600). CLEAVE_SOAK_PAUSE: milliseconds between two steps of the client's (50). Prints a line
for each sample; the exit status is 0 where what is used in the last fifth of the time is what was used in the second.
The first is for all to be used once: a minute at least."""

import json
import os
import subprocess
import time
from pathlib import Path

from compare import OPTIONS, ComparedTest, main
from serving import Obedient, Server, client_variables, status_of

SECONDS = int(os.environ.get("CLEAVE_SOAK_SECONDS", "3600"))
PAUSE = int(os.environ.get("CLEAVE_SOAK_PAUSE", "50"))
SAMPLES = 120
MORE = 8 << 10  # KiB that a process may have more of at the end: what allocators keep for later


def use_of(process):
    status = Path(f"/proc/{process}/status").read_text()
    return {
        "kib": int(status.partition("VmRSS:")[2].split()[0]),
        "threads": int(status.partition("Threads:")[2].split()[0]),
        "descriptors": len(os.listdir(f"/proc/{process}/fd")),
    }


class Soak(ComparedTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.folder / "server", self.environment(), "--metrics", "tcp:127.0.0.1:0", "--spare",
                             "0")
        self.addCleanup(self.server.end)

    def begin(self):
        return self.work(client_variables(self.folder, self.server.addresses["unix"], 10))

    def work(self, variables):
        environment = {**self.environment(), **{name: str(value) for name, value in variables.items()}}
        program = subprocess.Popen([OPTIONS.programs / "varied_work", str(SECONDS), "1", str(PAUSE)],
                                   env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def visit(self):
        """Another client comes, works and goes."""
        visitor = Obedient(OPTIONS.programs / "obedient", self.environment(),
                           **client_variables(self.folder, self.server.addresses["tcp"], 10))
        self.assertEqual(visitor.ask("work"), "right")
        visitor.end()
        self.server.wait_for(lambda: len(self.server.workers()) == 1, "its worker stays")

    def assertFlat(self, name, early, late):
        """By the medians of two stretches."""
        def growth(name, what):
            before, after = (sorted(sample[name][what] for sample in samples)[len(samples) // 2]
                             for samples in (early, late))
            print(f"{name}: {what} {before} -> {after}")
            return after - before

        drivers = max(0, growth("native", "kib")) if name == "worker" else 0
        for what, more in (("kib", MORE + 2 * drivers), ("threads", 2), ("descriptors", 2)):
            with self.subTest(name, what=what):
                self.assertLessEqual(growth(name, what), more)

    def test_nothing_grows(self):
        program, native = self.begin(), self.work({})
        self.server.wait_for(lambda: self.server.metric("clients") == 1, "the client does not come")
        worker = self.server.workers()[0]
        watched = {"client": program.pid, "worker": worker, "server": self.server.process.pid, "native": native.pid}
        begun = time.monotonic()
        samples = []
        while time.monotonic() < begun + SECONDS - 2 and status_of(program.pid) and status_of(native.pid):
            self.visit()
            samples.append({name: use_of(process) for name, process in watched.items()})
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
