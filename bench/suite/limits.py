"""The suite `limits`: what a process or a tenant may have of a device, and what is accounted for.

Does a cap hold over every second, alone and alongside three greedy neighbours? What does a noisy neighbour cost a tenant with half of
the device? How long does it take to refuse memory, and what do creating memory and launching cost where they are counted? Is the device
time that the registry shows that of event profiling, and which processes were waited for?
"""

import json
import pathlib
import subprocess

import programs
import remote
import turns
from results import median
from turns import LIMIT, SHARED, TURNS, Sharer, run_all

CAPS = (10, 30, 50)  # per cent
WINDOW = 1  # second
STEP = 0.02  # seconds from one window to the next
GREEDY = 3
NOISY = 4
POINTS = 2
MEMORY = "256M"
MEMORY_BYTES = 256 << 20
MOST_OUTSIDE = 0.02  # of the device time by profiling


def used_within(output, begin, end):
    """Seconds of device time that a process that times its launches had in this time, by event profiling."""
    used = 0
    for stop, took in zip(output["ends"], output["durations"]):
        used += max(0, min(stop, end) - max(stop - took / 1e3, begin))
    return used


def windows(output, begin, end, length=WINDOW):
    """Its share of the device in each window of that length, in per cent."""
    count = max(1, int((end - begin - length) / STEP) + 1)
    return [100 * used_within(output, begin + i * STEP, begin + i * STEP + length) / length for i in range(count)]


class Bench(turns.Bench):
    def __init__(self, given, folder):
        super().__init__(given, folder)
        self.results.suite = "limits"
        self.seconds = given.seconds or (1.2 if given.quick else 6)
        self.caps = (30,) if given.quick else CAPS
        self.stats = pathlib.Path(folder, "stats.json")

    def timed(self, **more):
        """Launches of one wave, which cannot be cut, one after the other."""
        return Sharer(("timed", 1, self.steps["kernel"]), self.settings(TURNS, **more))

    def greedy(self, **more):
        return self.job(TURNS, SHARED, **more)


def measure_caps(bench):
    for cap in bench.caps:
        capped = bench.timed(CLEAVE_CAP=f"{cap}%")
        runs = {"alone": [capped], f"beside {GREEDY} greedy neighbours": [capped] + [bench.greedy()] * GREEDY,
                f"beside {GREEDY} of little weight": [capped] + [bench.greedy(CLEAVE_WEIGHT="10")] * GREEDY}
        for beside, outcomes in bench.in_turn(runs).items():
            each = [windows(one.outputs[0], one.begin, one.end) for one in outcomes]
            bench.add("caps", f"a cap of {cap} %, {beside}: most in a second", [max(one) for one in each], "%",
                      asked=cap + POINTS, neighbours=len(runs[beside]) - 1)
            if "greedy" not in beside:  # there its share by weight may be less than its cap
                bench.add("caps", f"a cap of {cap} %, {beside}: least in a second", [min(one) for one in each], "%",
                          asked=cap - POINTS, at_least=True, neighbours=len(runs[beside]) - 1)


def measure_borrowing(bench):
    cap = 10
    borrows = bench.timed(CLEAVE_CAP=f"{cap}%,borrow")
    runs = {"no cap, alone": [bench.timed()], "alone": [borrows], "beside a greedy neighbour": [borrows, bench.greedy()]}
    found = bench.in_turn(runs)
    for beside, outcomes in found.items():
        shares = [100 * used_within(one.outputs[0], one.begin, one.end) / (one.end - one.begin) for one in outcomes]
        what = beside if beside.startswith("no") else f"a cap of {cap} % that may borrow, {beside}"
        bench.add("borrowing", f"{what}: of the device", shares, "%")


def measure_noise(bench):
    """A tenant with half of the device: beside a tenant with one greedy process, and with several."""
    quiet = bench.greedy(CLEAVE_TENANT="quiet")
    noisy = bench.greedy(CLEAVE_TENANT="noisy")
    runs = {"alone": [quiet], "beside a tenant with 1 process": [quiet, noisy],
            f"beside a tenant with {NOISY} processes": [quiet] + [noisy] * NOISY}
    found = bench.in_turn(runs)
    alone = median([one.work_of(0) for one in found.pop("alone")])
    for beside, outcomes in found.items():
        bench.add("noise", f"work of a tenant with half of the device, {beside}: of that half",
                  [one.work_of(0) / alone * 2 for one in outcomes], asked=0.96, at_least=True)


def measure_memory(bench):
    limited = bench.settings(TURNS, CLEAVE_MEMORY_LIMIT=MEMORY)
    ways = {"natively": {}, "without a limit": bench.settings(TURNS), "with a limit": limited,
            "with a tenant's limit": limited | {"CLEAVE_TENANT": "measured"}}
    def role(way):
        return ("allocations", MEMORY_BYTES + 1) if "limit" in way and "without" not in way else ("allocations",)

    runs = {way: [Sharer(role(way), settings)] for way, settings in ways.items()}
    # Beyond the tenant's limit only by what its other process has.
    other = "with a tenant's limit, for the sake of its other process"
    settings = ways["with a tenant's limit"]
    runs[other] = [Sharer(("allocations", MEMORY_BYTES // 2), settings), Sharer(("holds", MEMORY_BYTES * 3 // 4), settings)]
    found = bench.in_turn(runs)
    for measured, what in (("created", "a buffer of 64 KiB, created and released"), ("refused", "a buffer that is refused")):
        # A driver may accept a buffer beyond the device's memory: then there is no time for its refusal.
        times = {way: [median(one.outputs[0][measured]) for one in outcomes if one.outputs[0][measured]]
                 for way, outcomes in found.items()}
        for way, values in times.items():
            if not values:
                continue
            asked = {"asked": 10} if measured == "refused" and role(way)[1:] else {}
            native = times["natively"] if way != "natively" else None
            bench.add("memory", f"{what}: {way}", values, "us", baseline=median(native) if native else None, **asked)


def measure_launches(bench):
    """What a launch costs where tenant and limits are counted and a settings file is followed, alone."""
    config = pathlib.Path(bench.folder, "followed.toml")
    config.write_text("[tenants.\"measured\"]\nweight = 100\n")
    plain = bench.settings(TURNS)
    ways = {"without": plain, "with a tenant, a memory limit and a settings file":
            plain | {"CLEAVE_TENANT": "measured", "CLEAVE_MEMORY_LIMIT": MEMORY, "CLEAVE_CONFIG": str(config)}}
    found = bench.in_turn({way: [Sharer(("launches",), settings)] for way, settings in ways.items()})
    times = {way: [median(one.outputs[0]["enqueues"]) for one in outcomes] for way, outcomes in found.items()}
    for way, values in times.items():
        bench.add("launches", f"a launch: {way}", values, "us", baseline=None if way == "without" else median(times["without"]))


def measure_accounts(bench):
    """Two tenants alongside each other: their device time in the registry against event profiling, and for which they waited."""
    bench.stats.unlink(missing_ok=True)
    pair = [bench.timed(CLEAVE_TENANT="one", CLEAVE_STATS=str(bench.stats)), bench.timed(CLEAVE_TENANT="other")]
    top = [remote.command().parent / "cleave", "top", "--once", "--json"]

    def shown():
        done = subprocess.run(top, env=programs.environment(bench.settings(TURNS, LD_PRELOAD="")), stdout=subprocess.PIPE,
                              check=True, timeout=LIMIT)
        return sum(each["used_ns"] for device in json.loads(done.stdout)["devices"] for each in device["participants"]) / 1e9

    deviations, attributed = [], []
    for _ in range(bench.rounds):
        # Whatever they had before they are looked at, they had in turns, but for the launches that warm up.
        outcome, right = run_all(bench.platform, pair, bench.seconds, shown)
        bench.results.sound &= right
        profiled = sum(sum(output["durations"]) for output in outcome.outputs) / 1e3
        deviations.append(abs(outcome.seen / profiled - 1))
        turns_of = json.loads(bench.stats.read_text())["turns"]["devices"][0]
        told = turns_of["capped_ns"] + sum(cause["waited_ns"] for cause in turns_of["waited_for"])
        attributed.append(told / max(turns_of["waited_ns"], 1))
    bench.add("accounts", "device time in the registry, beside that of event profiling: deviation", deviations, asked=MOST_OUTSIDE)
    bench.add("accounts", "waiting time of which it is known for whom", attributed, asked=0.95, at_least=True)


PARTS = {"caps": measure_caps, "borrowing": measure_borrowing, "noise": measure_noise, "memory": measure_memory,
         "launches": measure_launches, "accounts": measure_accounts}


def measure(given):
    return turns.measure_parts(Bench, PARTS, given)
