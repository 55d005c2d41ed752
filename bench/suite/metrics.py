"""The suite `metrics`: GPU-Virt-Bench's metrics (arXiv 2512.22125), as its source defines them, for OpenCL.

What do calls cost, how exactly do limits hold, what does a neighbour cost, and what happens after errors: natively, under Cleave by default,
and with a cap of half of the device and a memory limit. The values that its authors have published are shown as well.
"""

import json
import secrets
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass

import programs
from clients import percentile
from results import Results, Row, Unmeasured, machine, median, spread
from turns import measure_parts, work_within

NATIVE, DEFAULT, LIMITED, PRIORITY = "natively", "by default", "with limits", "with priority"
CAP = 50  # per cent
MEMORY = "4G"
LIMIT = 200  # seconds for a process
WINDOW, STEP = 0.2, 0.01  # seconds of a window, a dozen pauses for the cap, and from one to the next
ALONE = 1  # second that the neighbour runs before anything else does
STEADY = 0.1  # how far from the last half of the windows one may be
PUBLISHED = "RTX 3080 (published)"


@dataclass
class Metric:
    words: str
    unit: str
    summary: object  # of the values that a process has measured
    published: tuple = ()  # natively; HAMi-core with 50 %; BUD-FCSP with 50 %
    ways: tuple = (NATIVE, DEFAULT, LIMITED)


def p95(values):
    return percentile(values, 95)


def variation(values):
    return statistics.pstdev(values) / statistics.fmean(values)


METRICS = {
    "OH-001": Metric("an empty kernel and its end", "us", median, (4.29, 4.39, 4.83)),
    "OH-002": Metric("an allocation", "us", median, (97.1, 203, 101)),
    "OH-003": Metric("a release", "us", median, (450, 444, 441)),
    "OH-004": Metric("a context", "us", median, (77276, 83154, 78.1)),
    "OH-005": Metric("a call that does nothing", "ns", median, (38, 41.5, 18)),
    "OH-006": Metric("an allocation among those of 8 threads, P95", "us", p95, (257, 72.4, 128)),
    "OH-007": Metric("an allocation beside 100 buffers, longer by", "ns", median, (0, 0, 0)),
    "OH-008": Metric("a launch", "ns", median, (1249, 1252, 1342)),
    "OH-009": Metric("processor time of a program that rests", "%", statistics.fmean, (0.44, 0.5, 0.58)),
    "OH-010": Metric("work with allocation and release, longer by", "%", statistics.fmean, (0, 0, 0), (DEFAULT, LIMITED)),
    "IS-001": Metric("memory that can be had, of the limit", "%", statistics.fmean, (92.1, 92.1, 99.9), (LIMITED,)),
    "IS-002": Metric("the refusal of memory beyond it", "us", median, (206, 206, 0.03), (LIMITED,)),
    "IS-004": Metric("1000 kernels after a rest", "ms", median, (79.4, 87.1, 86.1)),
    "IS-007": Metric("coefficient of variation of a kernel's time", "", variation, (0.067, 0.02, 0.09)),
    "IS-008": Metric("Jain's index of the times of four queues", "", statistics.fmean, (1, 0.99, 0.99)),
    "IS-010": Metric("goes on after an error", "", min, (1, 1, 1)),
    "ERR-001": Metric("the refusal of a TiB", "us", statistics.fmean),
    "ERR-002": Metric("16 MiB, a fill and a kernel after an error", "us", statistics.fmean),
    "ERR-003": Metric("tests of exhausted memory that are passed", "%", statistics.fmean, (), (LIMITED,)),
}
BESIDE = {"IS-006": Metric("speed beside a process that launches without a pause", "%", None, (80.1, 86.8, 87.3)),
          "IS-009": Metric("half a device of kernels takes longer beside it by", "%", None, (10.8, 15.8, 16.2))}
SHARE = Metric("kernels that get done, of the cap's part of the native ones", "%", None, (100, 95.7, 100))
ISOLATION = Metric("memory of another process cannot be read", "", None, (1, 1, 1))


class Bench:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.rounds = given.rounds or (1 if given.quick else 3)
        self.more = [*(["--platform", given.platform] if given.platform else []), *(["--quick"] if given.quick else [])]
        device, _ = programs.measure("stream", 1, *programs.target(given), "--repeats", 1)
        self.on_processor = device["on_processor"]
        self.results = Results("metrics", machine(device["device"], programs.library()) | {"rounds": str(self.rounds)})

    def settings(self, way):
        if way == NATIVE:
            return {}
        turns = {"CLEAVE_TURNS": "on"} if self.on_processor and way != DEFAULT else {}
        limits = {LIMITED: {"CLEAVE_CAP": f"{CAP}%", "CLEAVE_MEMORY_LIMIT": MEMORY}, PRIORITY: {"CLEAVE_PRIORITY": "high"}}
        return {"LD_PRELOAD": str(programs.library()), "CLEAVE_REGISTRY": f"{self.folder}/registry",
                "CLEAVE_CACHE": f"{self.folder}/cache"} | turns | limits.get(way, {})

    def start(self, *words, way, **options):
        return programs.start("cleave_metrics", *words, *self.more, settings=self.settings(way), **options)

    def end(self, process, words):
        """Its output from here on."""
        status, output = programs.finish(process, LIMIT)
        if status not in (0, 1):
            raise Unmeasured(f"cleave_metrics {' '.join(words)}: exit status {status}")
        self.results.sound &= status == 0
        return output

    def values(self, names, way):
        """What one process measures: {metric: values}."""
        return values_of(map(json.loads, self.end(self.start(*names, way=way), names).splitlines()))

    def add(self, name, metric, found):
        """One value for each round and way."""
        native = median(found[NATIVE]) if NATIVE in found else None
        at = "; ".join(f"{who} {value:g}" for who, value in zip(("native", "HAMi-core", "BUD-FCSP"), metric.published))
        for way, values in found.items():
            self.results.add(Row(name, f"{name} {metric.words}: {way}", median(values), metric.unit,
                                 baseline=None if way == NATIVE or not metric.unit else native,
                                 spread=spread(values) if self.rounds > 1 else None,
                                 note=f"{PUBLISHED}: {at}" if at and way == LIMITED else ""))


def measure_alone(bench, prefix):
    """Metrics of one process."""
    mine = {name: metric for name, metric in METRICS.items() if name.startswith(prefix)}
    found = {name: {} for name in mine}
    for _ in range(bench.rounds):
        for way in (NATIVE, DEFAULT, LIMITED):
            # What is said of a limit means nothing without one; OH-010 is a share of the native time.
            names = [name for name, metric in mine.items() if way in metric.ways or name == "OH-010"]
            if not names:
                continue
            for name, values in bench.values(names, way).items():
                found[name].setdefault(way, []).append(mine[name].summary(values))
    if "OH-010" in found:
        native = found["OH-010"].pop(NATIVE)
        found["OH-010"] = {way: [100 * (value / of - 1) for value, of in zip(values, native)] for way, values in found["OH-010"].items()}
    for name, ways in found.items():
        bench.add(name, mine[name], ways)


def lines_until(process, word):
    """What it measures before it says this word."""
    watch = threading.Timer(LIMIT, process.kill)
    watch.start()
    try:
        for line in process.stdout:
            if line == f"{word}\n":
                return
            yield json.loads(line)
    finally:
        watch.cancel()
    raise Unmeasured(f"cleave_metrics: not {word}; exit status {process.wait()}")


def values_of(lines):
    return {each["metric"]: each["values"] for each in lines}


def beside_a_neighbour(bench, way):
    """Times of batches without and with a neighbour, what the neighbour did meanwhile, and what it does alone, in launches per second."""
    with bench.start("beside", way=way, stdin=subprocess.PIPE, bufsize=1) as process:
        found = values_of(lines_until(process, "alone"))
        with bench.start("neighbour", way=DEFAULT if way == PRIORITY else way, stdin=subprocess.PIPE) as other:
            list(lines_until(other, "ready"))
            time.sleep(ALONE)
            found |= values_of(map(json.loads, bench.end(tell(process), ("beside",)).splitlines()))
            ends = json.loads(bench.end(tell(other), ("neighbour",)))["values"]
    begin = found["IS-006 beside during"][0]
    alone = rate(ends, begin - ALONE / 2, begin)
    return found | {f"{name} neighbour": [rate(ends, *found[f"{name} beside during"]) / alone] for name in BESIDE}


def rate(ends, begin, end):
    return work_within(ends[0], ends[1:], begin, end) / (end - begin)


def tell(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def kept(alone, beside):
    """IS-006: of each batch the speed that it keeps, at most all of it."""
    base = statistics.fmean(alone)
    return statistics.fmean(min(100, 100 * base / value) for value in beside)


def longer(alone, beside):
    """IS-009: how much longer each batch takes, not below nothing."""
    base = statistics.fmean(alone)
    return statistics.fmean(max(0, 100 * (value / base - 1)) for value in beside)


def measure_neighbours(bench):
    found = {name: {} for name in BESIDE}
    others = {name: {} for name in BESIDE}
    for _ in range(bench.rounds):
        for way in (NATIVE, DEFAULT, PRIORITY, LIMITED):
            measured = beside_a_neighbour(bench, way)
            for name, of in (("IS-006", kept), ("IS-009", longer)):
                found[name].setdefault(way, []).append(of(measured[f"{name} alone"], measured[f"{name} beside"]))
                others[name].setdefault(way, []).append(100 * measured[f"{name} neighbour"][0])
    for name, ways in found.items():
        bench.add(name, BESIDE[name], ways)
        bench.add(name, Metric("the neighbour's work meanwhile, of that alone", "%", None), others[name])


def settled(ends):
    """From which window on all have a rate of launches near that of the last half of them, in milliseconds."""
    starts = [STEP * i for i in range(max(2, int((ends[-1] - WINDOW) / STEP)))]
    rates = [work_within(0, ends, start, start + WINDOW) for start in starts]
    target = statistics.fmean(rates[len(rates) // 2:])
    far = [i for i, rate in enumerate(rates) if abs(rate - target) > STEADY * target]
    return 1e3 * STEP * (far[-1] + 1 if far else 0)


def measure_share(bench):
    """IS-003, by what gets done: NVML's utilisation, which its source takes, is that of the whole device. And IS-004 as its documents
    define it."""
    seconds = 1 if bench.given.quick else 5
    shares, times = [], []
    for _ in range(bench.rounds):
        ends = {}
        for way in (NATIVE, LIMITED):
            ends[way] = json.loads(bench.end(bench.start("busy", seconds, way=way), ("busy",)))["values"]
        rates = {way: len(each) / each[-1] for way, each in ends.items()}
        shares.append(100 * rates[LIMITED] / rates[NATIVE] / (CAP / 100))
        times.append(settled(ends[LIMITED]))
    bench.add("IS-003", SHARE, {LIMITED: shares})
    bench.add("IS-004", Metric("until the share is steady", "ms", None), {LIMITED: times})


def measure_memory_of_others(bench):
    found = {}
    for way in (NATIVE, LIMITED):
        word = secrets.randbits(60)
        with bench.start("holds", word, way=way, stdin=subprocess.PIPE) as holder:
            address = holder.stdout.readline().strip()
            reader = bench.start("reads", address, word, way=way, stderr=subprocess.DEVNULL)
            _, said = programs.finish(reader, LIMIT)
            bench.end(tell(holder), ("holds",))
        found[way] = [0 if said.strip() == "read" else 1]
    bench.add("IS-005", ISOLATION, found)


PARTS = {"overhead": lambda bench: measure_alone(bench, "OH-"), "limits": lambda bench: measure_alone(bench, "IS-"),
         "share": measure_share, "memory": measure_memory_of_others, "neighbours": measure_neighbours,
         "errors": lambda bench: measure_alone(bench, "ERR-")}


def measure(given):
    return measure_parts(Bench, PARTS, given)
