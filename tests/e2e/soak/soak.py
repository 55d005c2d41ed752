"""Programs start and stop at random on one device: local ones in turns, with caps, tenants and memory limits that change, and
clients of two servers, one at a time and both, whose contents move between them. Some are killed, some are paused for a
while, and the second server is killed and restarted. Alongside all of them two programs work round after round, one locally and
one by a server, and a third does the same natively.

Every program that is not killed must end with its right results, and none may hang; nothing may be left in the end; and from
the second quarter of the time to the last neither may rounds take longer, relative to the native ones, nor may the memory,
threads and descriptors of those that stay grow, nor the files of the registry. Before each sample all visitors end, so that
there are also rounds with no other program on the device.

    PYTHONPATH=tests/e2e python3 tests/e2e/soak/soak.py --cleave build/release/bin/cleave --programs build/release/tests/e2e/soak

CLEAVE_SOAK_SECONDS: how long (3600; what grows is judged from ten minutes on, for which the machine should do nothing else).
CLEAVE_TEST_SEED: with which numbers. Prints a line for each sample."""

import json
import os
import random
import subprocess
import time

from support.options import main
from support.polling import wait_until
from support.processes import process_status, resources_of, run
from support.programs import LOAD_METHODS
from support.remote import METRICS, RemoteTest
from visitors import Visitor, program

SECONDS = int(os.environ.get("CLEAVE_SOAK_SECONDS", "3600"))
SEED = int(os.environ.get("CLEAVE_TEST_SEED", "1"))
LONGEST = min(20, max(3, SECONDS // 10))  # seconds, or steps, that a visitor works
JUDGED_FROM = 600  # seconds: in less, caches and allocators are still warming up
AT_A_TIME = 4
PERIOD = max(10, SECONDS / 60)  # seconds between two samples
QUIET_ROUNDS = 20
MIB = 1 << 20
GROWTH = 8 << 10  # KiB that a process may have more of at the end: what allocators keep for later
# Rounds relative to the native ones, compared with before: alongside visitors, which differ, and without any.
SLOWER = {"contended": 1.5, "quiet": 1.2}
LIMITS = """
[tenants.alice]
weight = {weight}
cap = "{cap}%"
memory = "{memory}M"
[tenants.bob]
memory = "{memory}M"
"""


class Rounds:
    """A program of the test's own that goes a round when it is told to, and whose rounds are timed."""

    def __init__(self, environment):
        self.process = subprocess.Popen([str(program("turns", "turn_taker")), "0", "paired"], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.times = []

    def play(self):
        begun = time.monotonic()
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line != "next\n":
            raise AssertionError(f"a round ended with {line!r}, status {self.process.poll()}")
        self.times.append(time.monotonic() - begun)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def median(values):
    return sorted(values)[len(values) // 2]


class Soak(RemoteTest):
    client_timeout = 10

    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.registry = self.own_folder() / "registry"
        self.registry.mkdir()
        self.temporary = self.own_folder() / "temporary"
        self.temporary.mkdir()
        self.limits = self.own_folder() / "limits.toml"
        self.change_limits()
        self.settings = {"CLEAVE_TURNS": "on", "CLEAVE_REGISTRY": self.registry, "CLEAVE_MIN_ITEMS": 0, "CLEAVE_VMS": 3,
                         "CLEAVE_CONFIG": self.limits, "TMPDIR": self.temporary}
        self.servers = [self.new("one"), self.new("two")]
        self.addCleanup(lambda: [server.stop() for server in self.servers])
        self.visitors = []
        self.addCleanup(lambda: [visitor.kill() for visitor in self.visitors])
        self.counts = {}
        self.lost = 0  # servers

    def new(self, name, before=None):
        return self.new_server(self.own_folder() / name, *METRICS, "--spare", "0", before=before,
                               environment=self.environment(**self.settings))

    def change_limits(self):
        """As an editor does."""
        new = self.limits.with_suffix(".new")
        new.write_text(LIMITS.format(weight=self.chance.randrange(50, 400), cap=self.chance.randrange(30, 95),
                                     memory=self.chance.randrange(64, 512)))
        new.rename(self.limits)

    def local_environment(self, method="preload", **more):
        return self.environment(**self.settings, **dict(LOAD_METHODS[method][1]), **more)

    def rounds(self, environment):
        started = Rounds(environment)
        self.addCleanup(started.stop)
        return started

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def let_one_in(self):
        kind = self.chance.choice(("local", "layer", "memory", "remote", "both", "threads"))
        self.count(kind)
        seed = str(self.chance.randrange(1 << 16))
        tenant = self.chance.choice(({}, {"CLEAVE_TENANT": "alice"}, {"CLEAVE_TENANT": "bob"}))
        addresses = [server.addresses[self.chance.choice(("unix", "tcp"))] for server in self.servers]
        if kind in ("local", "layer"):
            rounds = str(self.chance.randrange(20, 20 * LONGEST))
            command = [program("turns", "turn_taker"), rounds]
            environment = self.local_environment("preload" if kind == "local" else "layer", **tenant)
            made = Visitor(kind, command, environment, lambda out: out.endswith("right\n"))
        elif kind == "memory":
            # Four of one tenant stay within its lowest limit.
            words = "".join(f"take {self.chance.randrange(MIB, 15 * MIB)}\ngive\n" for _ in range(20)).encode()
            made = Visitor(kind, [program("limits", "memory_taker")], self.local_environment(**(tenant or {"CLEAVE_TENANT": "bob"})),
                           lambda out: out.count("given\n") == 20, words)
        else:
            made = self.client(kind, addresses, seed)
        self.visitors.append(made)

    def client(self, kind, addresses, seed):
        """One that may lose its server, which it has to say in the errors that are meant for it."""
        if kind == "both":
            # The native output was compared by the tests of these programs: here only that it is the same each time.
            return Visitor(kind, [program("remote", "multi_server_commands")],
                           self.client_environment(",".join(addresses), TMPDIR=self.temporary),
                           lambda out: out == self.expected_of_both, lost=lambda: self.lost)
        if kind == "threads":
            return Visitor(kind, [program("remote", "many_threads"), LONGEST, seed, "4"],
                           self.client_environment(addresses[0], TMPDIR=self.temporary), lambda out: True)
        seconds = str(self.chance.randrange(1, LONGEST))
        return Visitor(kind, [program("remote", "random_work"), seconds, seed, "5"],
                       self.client_environment(addresses[0], TMPDIR=self.temporary), lambda out: json.loads(out)["error"] == 0)

    def disturb(self):
        """What happens to a visitor, or to all: each rarely."""
        what = self.chance.choices(("nothing", "kill", "stop", "limits", "server"), (70, 14, 8, 6, 0.4))[0]
        if what in ("kill", "stop") and not self.visitors:
            return
        self.count(what)
        if what == "kill":
            self.visitors.pop(self.chance.randrange(len(self.visitors))).kill()
        elif what == "stop":
            self.chance.choice(self.visitors).pause(self.chance.random() * 2)
        elif what == "limits":
            self.change_limits()
        elif what == "server":
            self.lost += 1
            self.servers[1].kill()
            self.servers[1] = self.new("two", before=self.servers[1])

    def go_round(self):
        """A step of everything."""
        if len(self.visitors) < AT_A_TIME and self.chance.random() < 0.3:
            self.let_one_in()
        self.disturb()
        for visitor in [*self.visitors]:
            if visitor.has_ended():
                visitor.check(self)
                self.visitors.remove(visitor)
        for each in self.played.values():
            each.play()
        time.sleep(self.chance.random() * 0.1)

    def let_all_end(self):
        for visitor in self.visitors:
            visitor.wait()
            visitor.check(self)
        self.visitors.clear()

    def ratios(self):
        """Of the rounds since the last time."""
        native = median(self.played["native"].times)
        found = {name: round(median(self.played[name].times) / native, 3) for name in ("local", "remote")}
        self.native_ms = round(1e3 * native, 3)  # how busy the machine is
        for each in self.played.values():
            each.times.clear()
        return found

    def sample(self, begun):
        taken = {"contended": self.ratios()}
        self.let_all_end()
        for _ in range(QUIET_ROUNDS):
            for each in self.played.values():
                each.play()
        taken["quiet"] = self.ratios()
        taken["native"] = {"ms": self.native_ms}
        for name, process in self.watched().items():
            taken[name] = taken.get(name, {}) | resources_of(process)
        taken["files"] = {"registry": len(os.listdir(self.registry))}
        print(f"{time.monotonic() - begun:.0f} s: {json.dumps(taken)}", flush=True)
        return taken

    def watched(self):
        """Those that stay. (The second server is started again.)"""
        return {"local": self.played["local"].process.pid, "remote": self.played["remote"].process.pid,
                "native": self.played["native"].process.pid, "server": self.servers[0].process.pid}

    def test_nothing_drifts_grows_or_stays(self):
        both = self.run_client(self.client_environment(",".join(server.addresses["unix"] for server in self.servers)),
                               "../remote/multi_server_commands")
        self.assertEqual(both.returncode, 0, both)
        self.expected_of_both = both.stdout
        self.played = {"local": self.rounds(self.local_environment()), "native": self.rounds(self.environment()),
                       "remote": self.rounds(self.client_environment(self.servers[0].addresses["unix"]))}
        for each in self.played.values():
            each.play()  # the first round is late by the program's start
            each.times.clear()
        begun = time.monotonic()
        samples = []
        due = begun
        while time.monotonic() < begun + SECONDS:
            due += PERIOD
            self.go_round()
            while time.monotonic() < due:
                self.go_round()
            samples.append(self.sample(begun))
        self.end_all()
        print(json.dumps(self.counts))
        if SECONDS >= JUDGED_FROM:
            quarter = len(samples) // 4
            self.assertFlat(samples[quarter:2 * quarter], samples[-quarter:])

    def end_all(self):
        for each in self.played.values():
            each.stop()
        for server in self.servers:
            server.wait_until_idle(spares=0)
        self.assertNoCrash(*self.servers)
        workers = [server.process.pid for server in self.servers]
        for server in self.servers:
            server.stop()
        wait_until(lambda: not any(process_status(pid) for pid in workers), "a server stays")
        # The next program removes what those that were killed have left: an empty file, of one that was killed while it made
        # its entry, not for a minute, since it might be filled yet.
        for path in self.entries():
            if path.stat().st_size == 0:
                os.utime(path, (0, 0))
        self.assertEqual(run(program("turns", "turn_taker"), "1", environment=self.local_environment()).returncode, 0)
        left = {path.name: path.stat() for path in self.entries()}
        self.assertEqual(left, {}, "entries of processes that have ended")
        self.assertEqual(sorted(self.temporary.rglob("*")), [], "temporary files of processes that have ended")

    def entries(self):
        return [path for path in self.registry.iterdir() if not path.name.startswith(("turns-", "memory-"))]

    def assertFlat(self, early, late):
        """By the medians of two stretches."""
        for name in early[0]:
            drivers = "kib" if name in ("local", "remote") else None  # what PoCL keeps, it keeps natively, too
            for what in early[0][name]:
                before, after = (median([sample[name][what] for sample in samples]) for samples in (early, late))
                natively = median([each["native"]["kib"] for each in late]) - median([each["native"]["kib"] for each in early])
                print(f"{name}: {what} {before:.2f} -> {after:.2f}")
                with self.subTest(name, what=what):
                    if name in SLOWER:
                        self.assertLessEqual(after, before * SLOWER[name])
                    elif what == "kib":
                        self.assertLessEqual(after - before, GROWTH + (2 * max(0, natively) if drivers else 0))
                    elif name != "native":
                        self.assertLessEqual(after - before, 8 if name == "files" else 2)


if __name__ == "__main__":
    main()
