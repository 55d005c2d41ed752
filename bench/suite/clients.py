"""The suite `clients`: several programs share the devices of one server.

One of them launches long kernels, the others short ones, each without a pause: how long do the short ones wait for a launch and
its end? With the server's launches unsplit, and split by ever larger α; for comparison the same programs on the driver itself, without
a server, and the short ones with a server but without the long one.
"""

import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections import Counter

import programs
from remote import nothing_but, server
from results import Results, Row, Unmeasured, machine, median, spread

LONG, SHORT = 1000, 1  # milliseconds of a kernel on the idle device
ALPHAS = (4, 10, 20)
UNSPLIT, NATIVE, ALONE = "unsplit", "natively", "unsplit, without the long one"
MOST_WAIT = 25  # milliseconds, for 99 of 100 short launches of each client, split by one of these α
PROBE = 1000  # turns
ITEMS = {"gpu": (1 << 25, 1 << 18), "processor": (1 << 16, 1 << 10)}  # of the long and the short kernel
SETTINGS = {UNSPLIT: {"CLEAVE_SPLIT": "off"}, ALONE: {"CLEAVE_SPLIT": "off"}}
SETTINGS |= {f"α {alpha}": {"CLEAVE_ALPHA": str(alpha)} for alpha in ALPHAS}


def percentile(values, share):
    """The smallest of them that no more than so many exceed."""
    ordered = sorted(values)
    return ordered[max(0, int(-(-len(ordered) * share // 100)) - 1)]


def counted(folder, workers):
    """Launches, those split, and slices, as each client's worker reports when it ends."""
    until = time.monotonic() + 10
    reports = []
    while len(reports) < workers and time.monotonic() < until:
        time.sleep(0.05)
        texts = [file.read_text() for file in folder.glob("*.json")]
        reports = [json.loads(text) for text in texts if text.endswith("}\n")]
    return Counter({what: sum(one[what] for one in reports) for what in ("launches", "split", "slices")})


class Client:
    """One of the programs, as far as its first launch."""

    def __init__(self, given, work, address):
        settings = {} if address is None else nothing_but(address)
        self.process = programs.start("cleave_client", given.platform, *work, settings=settings, stdin=subprocess.PIPE)

    def await_ready(self):
        if self.process.stdout.readline() != "ready\n":
            self.process.kill()
            raise Unmeasured(f"cleave_client: exit status {self.process.wait()}")

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Its output, and whether its results were right."""
        status, output = programs.finish(self.process, 120)
        if status not in (0, 1) or not output.strip():
            raise Unmeasured(f"cleave_client: exit status {status}")
        return json.loads(output), status == 0


def run_all(given, works, address):
    """All of these at once, from the moment that all of them are ready."""
    clients = []
    try:
        for work in works:
            clients.append(Client(given, work, address))
        for client in clients:
            client.await_ready()
        for client in clients:
            client.go()
        return [client.end() for client in clients]
    finally:
        for client in clients:
            client.process.kill()
            client.process.communicate()


def turns_for(given, items, milliseconds):
    """How many a kernel takes for that, on the idle device; in two steps, since the first is short."""
    turns = PROBE
    for _ in range(2):
        output, right = run_all(given, [(items, turns, 0)], None)[0]
        if not right:
            raise Unmeasured("the kernel's result is wrong on the driver itself")
        turns = max(1, round(turns * milliseconds / median(output["waits"])))
    return turns


class Bench:
    def __init__(self, given):
        self.given = given
        self.window = given.window or (2 if given.quick else 10)
        self.rounds = 1 if given.quick else 3
        probe, _ = run_all(given, [(ITEMS["processor"][1], 1, 0)], None)[0]
        self.on_processor = probe["on_processor"]
        items = ITEMS["processor" if self.on_processor else "gpu"]
        long = LONG / 10 if given.quick else LONG
        self.long, self.short = [(count, turns_for(given, count, time), self.window)
                                 for count, time in zip(items, (long, SHORT))]
        self.counts = {how: Counter() for how in SETTINGS}
        self.results = Results("clients", machine(probe["device"], programs.library()) | {
            "clients": given.clients, "window": f"{self.window:g} s", "long": f"{long:g} ms", "short": f"{SHORT} ms"})

    def share(self, how):
        """Milliseconds: the 99th percentile of the short client that waits longest, the median of all, the long kernel."""
        works = ([] if how == ALONE else [self.long]) + [self.short] * (self.given.clients - 1)
        with tempfile.TemporaryDirectory() as name:
            address, folder = None, pathlib.Path(name)
            with contextlib.ExitStack() as stack:
                if how != NATIVE:
                    address = f"unix:{folder / 'server'}"
                    stack.enter_context(server(address, SETTINGS[how] | {"CLEAVE_STATS": str(folder / "%p.json")}))
                outputs = run_all(self.given, works, address)
            if address is not None:
                self.counts[how] += counted(folder, len(works))
        self.results.sound &= all(right for _, right in outputs)
        waits = [one["waits"] for one, _ in outputs]
        short = waits if how == ALONE else waits[1:]
        return (max(percentile(one, 99) for one in short), statistics.median(wait for one in short for wait in one),
                None if how == ALONE else median(waits[0]))

    def in_turn(self, ways):
        found = {how: ([], [], []) for how in ways}
        for _ in range(self.rounds):
            for how, lists in found.items():
                for values, value in zip(lists, self.share(how)):
                    values.append(value)
        return found

    def note(self, how):
        """What was split, of all launches of all clients."""
        if how == NATIVE:
            return ""
        return "{split} of {launches} launches split into {slices} slices".format_map(self.counts[how])

    def add(self, what, how, values, base, **more):
        self.results.add(Row(what, f"{what}: {how}", median(values), "ms", baseline=None if base is None else median(base),
                             spread=spread(values), **more))


def measure(given):
    bench = Bench(given)
    found = bench.in_turn((NATIVE, *SETTINGS))
    best = min((how for how in found if how.startswith("α")), key=lambda how: median(found[how][0]))
    for how, (most, usual, long) in found.items():
        asked = MOST_WAIT if how == best and not bench.on_processor else None
        bench.add("a short client's wait, 99 %", how, most, None if how == NATIVE else found[NATIVE][0], asked=asked)
        bench.add("a short client's wait, median", how, usual, None if how == NATIVE else found[NATIVE][1])
        if how != ALONE:
            bench.add("the long kernel", how, long, None if how == NATIVE else found[NATIVE][2], note=bench.note(how))
    return bench.results
