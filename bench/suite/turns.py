"""The suite `turns`: processes that share a device, natively and taking turns under Cleave.

Jobs launch long kernels without a pause; a client requests a little work about every 10 ms. How long does the client wait,
alone and alongside 1, 4 and 8 jobs; what do the jobs get done, by themselves, alongside the client, and by their weights; what
does it cost the host's processors, and a process that is alone? And how do jobs fare that compute while they wait, clients
without Cleave, 64 jobs, and short kernels of a server's clients alongside a long one?
"""

import json
import os
import select
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

import programs
import remote
from clients import percentile
from results import Results, Row, Unmeasured, machine, median, ratio, spread

NATIVE, TURNS, HIGH = "natively", "in turns", "in turns, the client with high priority"
WAYS = (NATIVE, TURNS, HIGH)
CLIENTS = {"kernel": "a kernel of 1 ms", "chain": "a chain of 20 kernels",
           "chain-host": "the chain with host work", "mix": "copies and kernels"}
# What a job has queued behind its running kernel, by its role.
QUEUED = {"job": "nothing", "timed": "an event", "ahead": "another kernel"}
PERCENTILES = {"P50": 50, "P99": 99, "longest": 100}
WAVES = 4000  # of a long kernel
SHARED = 8  # a job among jobs launches kernels of so many parts of the long one
KERNEL, SMALL, PAIR = 1, 0.06, 0.15  # milliseconds of a client's kernels on the idle device
SLICED = 10  # milliseconds of the kernels that the driver interrupts
SETTLING = 0.2  # seconds of jobs that do not count
ROUNDS_OF_OVERLAP = 10  # at least so many long kernels
OUTSIDERS_VMS = "5"  # what the job alongside an outsider is split for
LIMIT = 60  # seconds for the end of a process
QUANTUM = 18  # milliseconds: turns::Scheduler::kDefaultQuantum
REMEMBERED = 22  # seconds, after which the longest wait that is shown is not from the start
REMOTE_CLIENTS = 7


@dataclass
class Sharer:
    """One of the processes: its role with arguments, and settings."""

    words: tuple
    settings: dict

    @property
    def ends_by_itself(self):
        return self.words[0] in ("client", "launches", "allocations")


@dataclass
class Outcome:
    """What the processes measured, in the order in which they were named, and the seconds in which all of them ran."""

    outputs: list
    begin: float
    end: float
    seen: object = None  # what look() has returned

    def work_of(self, i):
        """Launches of the long kernel per second, of a job."""
        output = self.outputs[i]
        return work_within(output["begin"], output["ends"], self.begin, self.end) / (self.end - self.begin)

    def waits(self, i=0):
        return self.outputs[i]["waits"]

    def cores_of(self, i):
        """How many of the host's processors a process keeps busy."""
        output = self.outputs[i]
        return output["processor"] / 1e3 / (output["end"] - output["begin"])


def work_within(started, ends, begin, end, amounts=None):
    """How many of the launches that end at these times, each beginning with the end of the one before, were done in that time;
    of those that reach beyond it, the part within. They may be of different amounts."""
    done = 0
    for start, stop, amount in zip([started, *ends], ends, amounts or [1] * len(ends)):
        if stop > start:
            done += amount * max(0, min(stop, end) - max(start, begin)) / (stop - start)
    return done


def shares(works):
    return [work / sum(works) for work in works]


class Running:
    """A process as far as its first launch; then it runs until it is told to end."""

    def __init__(self, platform, sharer):
        named = ["--platform", platform] if platform else []
        self.process = programs.start("sharer", *sharer.words, *named, settings=sharer.settings, stdin=subprocess.PIPE)
        self.ends_by_itself = sharer.ends_by_itself

    def await_word(self, word):
        if not select.select([self.process.stdout], [], [], LIMIT)[0] or self.process.stdout.readline() != f"{word}\n":
            self.process.kill()
            raise Unmeasured(f"sharer: not {word}; exit status {self.process.wait()}")

    def tell(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # end() says how it ended

    def end(self, limit):
        """Its output, and whether its results were right."""
        status, output = programs.finish(self.process, limit)
        if status not in (0, 1) or not output.strip():
            raise Unmeasured(f"sharer: exit status {status}")
        return json.loads(output.splitlines()[-1]), status == 0


def run_all(platform, sharers, seconds, look=lambda: None):
    """All of these at a time: until the first one ends, where it ends by itself, else for so long; and whether all results were
    right. The first one begins when all others have begun. Calls look() at the end, while all others run."""
    running = []
    try:
        for sharer in sharers:
            running.append(Running(platform, sharer))
        leads = running[0].ends_by_itself
        for one in running:
            one.await_word("ready")
        for one in running[leads:]:
            one.tell()
        for one in running[leads:]:
            one.await_word("begun")
        if leads:
            running[0].tell()
            ended = [running[0].end(seconds + LIMIT)]
            begin, end = ended[0][0]["begin"], ended[0][0]["end"]
        else:
            ended = []
            begin = time.monotonic() + SETTLING
            time.sleep(SETTLING + seconds)
            end = time.monotonic()
        seen = look()
        for one in running[leads:]:
            one.tell()
        ended += [one.end(LIMIT) for one in running[leads:]]
    finally:
        for one in running:
            one.process.kill()
            one.process.communicate()
    return Outcome([output for output, _ in ended], begin, end, seen), all(right for _, right in ended)


class Bench:
    def __init__(self, given, folder):
        self.platform, self.folder, self.quick = given.platform, folder, given.quick
        self.seconds = given.seconds or (0.3 if given.quick else 2)
        self.rounds = given.rounds or (1 if given.quick else 2)
        self.long = 40 if given.quick else 300  # milliseconds of the long kernel on the idle device
        self.beside = (2,) if given.quick else (1, 4, 8)  # jobs
        self.jobs = (1, 2) if given.quick else (1, 2, 4, 8)
        self.weights = ((3, 1),) if given.quick else ((3, 1), (4, 3, 2, 1))
        found = self.calibrate()
        self.steps = dict(zip(("long", "kernel", "small", "pair"), map(round, found["steps"])))
        self.results.machine |= {
            "seconds": f"{self.seconds:g}", "rounds": str(self.rounds),
            **{f"{name} kernel": f"{took:.3g} ms" for name, took in zip(("long", "1 ms", "small", "pair's"), found["took"])}}

    def calibrate(self):
        pairs = (WAVES, self.long, 1, KERNEL, 1, SMALL, 1, PAIR)
        named = ["--platform", self.platform] if self.platform else []
        status, output = programs.run("sharer", "calibrate", *pairs, *named, limit=LIMIT)
        if status not in (0, 1) or not output.strip():
            raise Unmeasured(f"sharer calibrate: exit status {status}")
        found = json.loads(output)
        self.results = Results("turns", machine(found["device"], programs.library()), sound=status == 0)
        return found

    def settings(self, way, **more):
        """Of a process. All of the suite share one registry of their own, and have declared an intent."""
        if way == NATIVE:
            return {}
        turns = {"LD_PRELOAD": str(programs.library()), "CLEAVE_REGISTRY": f"{self.folder}/registry",
                 "CLEAVE_CACHE": f"{self.folder}/cache", "CLEAVE_TURNS": "on"}
        return turns | ({"CLEAVE_PRIORITY": "high"} if way == HIGH else {}) | more

    def job(self, way, parts=1, **more):
        return Sharer(("job", WAVES // parts, self.steps["long"]), self.settings(TURNS if way == HIGH else way, **more))

    def client(self, kind, way):
        steps = self.steps[kind if kind in self.steps else "small"]
        return Sharer(("client", kind, steps, self.seconds), self.settings(way))

    def in_turn(self, runs, seconds=None):
        """These lists of processes by name, alternately, as often as there are rounds: {name: outcomes}."""
        found = {name: [] for name in runs}
        for _ in range(self.rounds):
            for name, outcomes in found.items():
                outcome, right = run_all(self.platform, runs[name], seconds or self.seconds)
                self.results.sound &= right
                outcomes.append(outcome)
        return found

    def spread(self, value):
        return value if self.rounds > 1 else None

    def add_waits(self, part, what, values, base, **more):
        """Milliseconds, as a ratio to those of the base; themselves as the remark."""
        value, spread_of_it = ratio(values, base)
        note = ", ".join(filter(None, (f"{median(values):.4g} ms", more.pop("note", ""))))
        self.results.add(Row(part, what, value, baseline=median(base), spread=self.spread(spread_of_it), note=note, **more))

    def add_rates(self, part, what, values, base, **more):
        """The same for long kernels per second; the baseline is the time of one."""
        value, spread_of_it = ratio(values, base)
        note = ", ".join(filter(None, (f"{median(values):.4g} kernels/s", more.pop("note", ""))))
        self.results.add(Row(part, what, value, baseline=1e3 / median(base), spread=self.spread(spread_of_it), note=note, **more))

    def add(self, part, what, values, unit="", **more):
        self.results.add(Row(part, what, median(values), unit, spread=self.spread(spread(values)), **more))


def plural(jobs):
    return f"{jobs} job{'s' if jobs > 1 else ''}"


def total(outcome, first=0):
    """What all jobs from this one on got done."""
    return sum(outcome.work_of(i) for i in range(first, len(outcome.outputs)))


def measure_clients(bench):
    for kind, words in CLIENTS.items():
        runs = {(0, way): [bench.client(kind, way)] for way in (NATIVE, TURNS)}
        runs |= {(jobs, way): [bench.client(kind, way)] + [bench.job(way)] * jobs for jobs in bench.beside for way in WAYS}
        found = bench.in_turn(runs | {"job": [bench.job(NATIVE)]})
        alone = [total(outcome) for outcome in found.pop("job")]
        for name, share in PERCENTILES.items():
            waits = {key: [percentile(outcome.waits(), share) for outcome in outcomes] for key, outcomes in found.items()}
            for (jobs, way), values in waits.items():
                beside = f"beside {plural(jobs)}" if jobs > 0 else "alone"
                bench.add_waits(f"{kind} {name}", f"{words}, {name}, {beside}: {way}", values, waits[0, NATIVE],
                                neighbours=jobs)
        for (jobs, way), outcomes in found.items():
            if jobs > 0:
                cores = median([sum(one.cores_of(i) for i in range(jobs + 1)) for one in outcomes])
                bench.add_rates(f"{kind} jobs", f"{plural(jobs)} beside {words}: {way}",
                                [total(one, 1) for one in outcomes], alone, neighbours=jobs, note=f"{cores:.3g} cores")


def measure_throughput(bench):
    """Of jobs alongside each other, and the processor time that they take."""
    found = bench.in_turn({(jobs, way): [bench.job(way, SHARED)] * jobs for jobs in bench.jobs for way in (NATIVE, TURNS)})
    alone = [total(outcome) for outcome in found[1, NATIVE]]
    for (jobs, way), outcomes in found.items():
        each = [shares([one.work_of(i) for i in range(jobs)]) for one in outcomes]
        note = "" if jobs == 1 else f"shares {min(map(min, each)):.3f} to {max(map(max, each)):.3f}"
        bench.add_rates("throughput", f"{plural(jobs)}, all together: {way}", [total(one) for one in outcomes], alone,
                        neighbours=jobs, note=note)
    for (jobs, way), outcomes in found.items():
        cores = [[one.cores_of(i) for i in range(jobs)] for one in outcomes]
        bench.add("processor of a job", f"processor time of one of {jobs}: {way}",
                  [statistics.mean(each) for each in cores], "cores", neighbours=jobs,
                  baseline=None if way == NATIVE else median([one.cores_of(0) for one in found[1, NATIVE]]))
        bench.add("processor of all", f"processor time of all {jobs}: {way}", [sum(each) for each in cores], "cores",
                  neighbours=jobs)


def measure_weights(bench):
    runs = {weights: [bench.job(TURNS, SHARED, CLEAVE_WEIGHT=str(100 * weight)) for weight in weights]
            for weights in bench.weights}
    for weights, outcomes in bench.in_turn(runs).items():
        name = ":".join(map(str, weights))
        each = [shares([one.work_of(i) for i in range(len(weights))]) for one in outcomes]
        for weight, found, asked in zip(weights, zip(*each), shares(weights)):
            bench.add("weights", f"weights {name}: share of weight {weight}", found, note=f"{asked:.3f} by weight")


def measure_alone(bench):
    """What turns cost while the device is not shared."""
    off = bench.settings(TURNS, CLEAVE_TURNS="off")
    ways = {NATIVE: {}, "CLEAVE_TURNS=off": off, "CLEAVE_TURNS=on": bench.settings(TURNS, CLEAVE_TURNS="on")}
    found = bench.in_turn({way: [Sharer(("launches",), settings)] for way, settings in ways.items()})
    for measured, what in (("enqueues", "a launch"), ("finished", "a launch and its finish")):
        times = {way: [median(one.outputs[0][measured]) for one in outcomes] for way, outcomes in found.items()}
        for way, values in times.items():
            bench.add("alone", f"{what}, alone: {way}", values, "us",
                      baseline=None if way == NATIVE else median(times[NATIVE]))


def measure_overlap(bench):
    """A job that launches without an event and computes as long as its kernel takes, alongside a job with the same kernel."""
    def overlapping(way):
        return Sharer(("overlap", WAVES, bench.steps["long"], bench.long), bench.settings(way))

    runs = {"alone, natively": [overlapping(NATIVE)], "alone, in turns": [overlapping(TURNS)]}
    runs |= {f"beside a job, {way}": [overlapping(way), bench.job(way)] for way in (NATIVE, TURNS)}
    found = bench.in_turn(runs, max(bench.seconds, ROUNDS_OF_OVERLAP * bench.long / 1e3))
    rounds = {name: [1e3 / one.work_of(0) for one in outcomes] for name, outcomes in found.items()}
    for name, values in rounds.items():
        others = [one.work_of(1) for one in found[name] if len(one.outputs) > 1]
        note = f"the job {median(others):.4g} kernels/s" if others else ""
        bench.add_waits("overlap", f"a launch while the host computes, {name}", values, rounds["alone, natively"], note=note)


def measure_idle(bench):
    """A process that has launched something and is idle."""
    runs = {"alone, natively": [bench.job(NATIVE)], "alone, under Cleave": [bench.job(TURNS)],
            "natively": [bench.job(NATIVE), Sharer(("idle",), {})],
            "under Cleave": [bench.job(TURNS), Sharer(("idle",), bench.settings(TURNS))]}
    found = bench.in_turn(runs)
    alone = [one.work_of(0) for one in found["alone, natively"]]
    for name, outcomes in found.items():
        beside = "a job" if name.startswith("alone") else "a job beside one that rests"
        bench.add_rates("idle", f"{beside}: {name}", [one.work_of(0) for one in outcomes], alone)
    for name in ("natively", "under Cleave"):
        bench.add("resting", f"processor time of one that rests: {name}", [one.cores_of(1) for one in found[name]], "cores")


def measure_outsiders(bench):
    """A client without Cleave alongside one job, which is native, or split for so many VMs."""
    settings = {"LD_PRELOAD": str(programs.library()), "CLEAVE_VMS": OUTSIDERS_VMS}
    split = Sharer(bench.job(NATIVE).words, settings)
    client = bench.client("kernel", NATIVE)
    runs = {"alone": [client], "beside a native job": [client, bench.job(NATIVE)],
            f"beside a job under Cleave, {OUTSIDERS_VMS} VMs": [client, split]}
    found = bench.in_turn(runs)
    for name, share in PERCENTILES.items():
        waits = {beside: [percentile(one.waits(), share) for one in outcomes] for beside, outcomes in found.items()}
        for beside, values in waits.items():
            if beside != "alone":
                job = median([total(one, 1) for one in found[beside]])
                bench.add_waits("outsiders", f"{CLIENTS['kernel']} without Cleave, {name}, {beside}", values, waits["alone"],
                                note=f"the job {job:.4g} kernels/s")


def measure_driver(bench):
    """How the driver shares the device out by itself: a client that waits for each of two short kernels beside a job with longer
    ones, by what that has queued behind them."""
    waves = max(1, WAVES * SLICED // bench.long)
    client = bench.client("pair", NATIVE)
    runs = {role: [client, Sharer((role, waves, bench.steps["long"]), {})] for role in QUEUED}
    found = bench.in_turn({"alone": [client]} | runs)
    for name, share in PERCENTILES.items():
        waits = {role: [percentile(one.waits(), share) for one in outcomes] for role, outcomes in found.items()}
        for role, queued in QUEUED.items():
            bench.add_waits("driver", f"two kernels of {PAIR} ms, natively, {name}, beside one with {queued} behind each of its kernels "
                            f"of {SLICED} ms", waits[role], waits["alone"])


def measure_many(bench):
    """Many jobs: how even their shares are, and the longest wait for a turn."""
    jobs, seconds = (4, bench.seconds) if bench.quick else (64, REMEMBERED)
    top = [remote.command().parent / "cleave", "top", "--once", "--json"]

    def longest_wait():
        shown = subprocess.run(top, env=programs.environment(bench.settings(TURNS, LD_PRELOAD="")), stdout=subprocess.PIPE,
                               check=True, timeout=LIMIT)
        takers = [taker for device in json.loads(shown.stdout)["devices"] for taker in device["participants"]]
        return max(taker["longest_wait_ns"] for taker in takers) / 1e6

    found = [run_all(bench.platform, [bench.job(TURNS, SHARED)] * jobs, seconds, longest_wait) for _ in range(bench.rounds)]
    bench.results.sound &= all(right for _, right in found)
    evenness = [index_of_fairness([one.work_of(i) for i in range(jobs)]) for one, _ in found]
    longest = [one.seen for one, _ in found]
    bench.add("many", f"{jobs} jobs: Jain's index", evenness)
    bench.add("many", f"{jobs} jobs: longest wait for a turn, of {jobs * QUANTUM} ms",
              [one / jobs / QUANTUM for one in longest], note=f"{median(longest):.4g} ms")


def index_of_fairness(works):
    """Jain's: 1 if all have the same."""
    return sum(works) ** 2 / (len(works) * sum(work * work for work in works))


def measure_remote(bench):
    """Clients of a server on this machine with short kernels, alongside one with long ones."""
    if not remote.command().exists():
        return
    address = f"unix:{bench.folder}/server.sock"
    settings = remote.nothing_but(address)
    short = Sharer(bench.client("kernel", NATIVE).words, settings)
    long = Sharer(("job", WAVES, round(bench.steps["long"] * (1 if bench.quick else 1000 / bench.long))), settings)
    clients = [short] * (2 if bench.quick else REMOTE_CLIENTS)
    for way, turns in (("without turns", "off"), (TURNS, "on")):
        own = bench.settings(TURNS, CLEAVE_TURNS=turns)
        del own["LD_PRELOAD"]
        with remote.server(address, own):
            found = bench.in_turn({"alone": clients, "beside": [*clients, long]})
        waits = {name: [percentile([wait for i in range(len(clients)) for wait in one.waits(i)], 99) for one in outcomes]
                 for name, outcomes in found.items()}
        bench.add_waits("remote", f"a kernel of 1 ms of {len(clients)} clients of a server, P99, beside one with kernels of 1 s: {way}",
                        waits["beside"], waits["alone"])


PARTS = {"clients": measure_clients, "throughput": measure_throughput, "weights": measure_weights, "alone": measure_alone,
         "overlap": measure_overlap, "idle": measure_idle, "outsiders": measure_outsiders, "driver": measure_driver,
         "many": measure_many, "remote": measure_remote}


def measure_parts(make, parts, given):
    """What these parts of a suite find; `make` gets a folder that lives as long, with one for a registry and one for a cache."""
    with tempfile.TemporaryDirectory(prefix="cleave-bench-") as folder:
        for name in ("registry", "cache"):
            os.mkdir(os.path.join(folder, name))
        bench = make(given, folder)
        for name, part in parts.items():
            if not given.only or name in given.only:
                part(bench)
    return bench.results


def measure(given):
    return measure_parts(Bench, PARTS, given)
