"""The suite `micro`: what calls, launches, slices, memory, loading and first starts cost.

The launches are measured on the zero-cost driver of tests/sim, whose calls take a few nanoseconds, so that what is left is
Cleave's own. A value is what Cleave adds to the native figure next to it.
"""

import json
import pathlib
import re
import subprocess
import tempfile
import time

import programs
from results import Results, Row, Unmeasured, machine, median, ratio, spread


class Bench:
    """How often each benchmark is measured, and the results so far."""

    def __init__(self, given):
        self.quick = given.quick
        self.driver = programs.place("../tests/libcleave-sim.so")
        self.results = Results("micro", machine("zero-cost driver of tests/sim", programs.library()))

    def repeats(self, full):
        return max(3, full // 4) if self.quick else full

    def launches(self, names, expected, kernel="plain", config="", library=None, **settings):
        """Runs the benchmarks of these names; gives for each the times natively and with Cleave, in ns, and the allocations.

        All launches must have been as `expected`: whole for that reason, or split into so many slices. Cleave is the
        drop-in, if no other library is named.
        """
        with tempfile.TemporaryDirectory() as folder:
            file, stats = pathlib.Path(folder) / "cleave.toml", pathlib.Path(folder) / "stats"
            file.write_text(config)
            found = self.run(names, kernel, library or programs.library(), {"CLEAVE_CONFIG": str(file), "CLEAVE_STATS": str(stats)} | settings)
            counted = json.loads(stats.read_text())["kernels"][0]
        as_asked = counted["unsplit"][expected] if isinstance(expected, str) else counted["slices"] / expected
        if as_asked != counted["launches"]:
            raise Unmeasured(f"not all launches were {expected}: {counted}")
        return found

    def run(self, names, kernel, library, settings):
        below = {"CLEAVE_NEXT": str(self.driver), "CLEAVE_ICD_WRAP": str(self.driver)}
        status, output = programs.run(
            "cleave_micro", self.driver, library, kernel, f"--benchmark_filter=^({'|'.join(names)})/",
            "--benchmark_format=json", f"--benchmark_min_time={0.01 if self.quick else 0.05}",
            f"--benchmark_repetitions={3 if self.quick else 11}", "--benchmark_enable_random_interleaving=true",
            settings={"CLEAVE_SIM": "zero"} | below | settings, stderr=subprocess.DEVNULL)
        if status != 0:
            raise Unmeasured(f"cleave_micro: exit status {status}")
        runs = {}
        for run in json.loads(output)["benchmarks"]:
            if run["run_type"] == "iteration":
                name, manual = run["run_name"].removesuffix("/manual_time"), run["run_name"].endswith("/manual_time")
                name = re.sub("/iterations:.*", "", name)
                runs.setdefault(name, []).append((run["real_time" if manual else "cpu_time"], run.get("allocations", 0)))
        times = {name: [took for took, _ in values] for name, values in runs.items()}
        return {name: (times[f"{name}/native"], times[f"{name}/cleave"],
                       sum(count for _, count in runs[f"{name}/cleave"])) for name in names}

    def add(self, part, what, native, cleave, unit, asked=None, times=1, **more):
        """What Cleave adds to a multiple of the native figure."""
        self.results.add(Row(part, what, median(cleave) - times * median(native), unit, baseline=median(native),
                             spread=spread(cleave) + times * spread(native), asked=asked, **more))


def measure_calls(bench):
    whole = bench.launches(["forwarded", "kernel_object", "finish", "gated", "launch", "launch_cold"], "alone", CLEAVE_VMS="1")
    for what, words, asked in (("forwarded", "a forwarded call", 5), ("finish", "clFinish with nothing to wait for", None),
                               ("gated", "a call that passes a queue's gate", None),
                               ("kernel_object", "a kernel object of a program of 64 KiB, made and released", None)):
        native, cleave, _ = whole[what]
        bench.add("calls", words, native, cleave, "ns", asked)
    native, cleave, allocated = whole["launch"]
    bench.add("whole", "a launch that stays whole: alone", native, cleave, "ns", 150)
    bench.results.add(Row("allocations", "its allocations", allocated, baseline=None, asked=0))
    native, cleave, _ = whole["launch_cold"]
    bench.add("cold", "the same after 4 MiB of other work", native, cleave, "ns")
    few = bench.launches(["finish", "launch"], "small", config='[devices."*"]\ncores = 1000000\n', CLEAVE_VMS="5")
    native, cleave, _ = few["launch"]
    bench.add("whole", "a launch that stays whole: small", native, cleave, "ns", 150)
    native, cleave, _ = few["finish"]
    bench.add("calls", "clFinish with nothing to wait for, with neighbours", native, cleave, "ns")
    native, cleave, _ = bench.launches(["launch"], "driver", kernel="seer", CLEAVE_VMS="5")["launch"]
    bench.add("whole", "a launch that stays whole: kernel", native, cleave, "ns", 150)


def measure_vendor(bench):
    """The vendor library, which also translates handles."""
    whole = bench.launches(["finish", "launch", "launch_event"], "alone", library=programs.vendor_library(), CLEAVE_VMS="1")
    for what, words, asked in (("finish", "a forwarded call", 15), ("launch", "a launch that stays whole", 200),
                               ("launch_event", "the same with an event, released", 200)):
        native, cleave, _ = whole[what]
        bench.add("vendor library", f"vendor library: {words}", native, cleave, "ns", asked)


def measure_slices(bench):
    for slices in (2, 20, 100):
        cut = bench.launches(["launch", "launch_event", "launch_event_kept"], slices, CLEAVE_SPLIT=f"fixed:{slices}",
                             CLEAVE_MIN_ITEMS="0")
        native, cleave, _ = cut["launch"]
        bench.add("slices", f"a launch in {slices} slices, beyond {slices} enqueues", native, cleave, "ns", 1000, slices,
                  slices=slices)
        # The program releases its one event; that Cleave releases those between the slices is Cleave's cost.
        once, cleave, _ = cut["launch_event"]
        kept = cut["launch_event_kept"][0]
        enqueues = median(once) + (slices - 1) * median(kept)
        bench.results.add(Row("slices with an event", f"the same in {slices} with an event", median(cleave) - enqueues, "ns",
                              baseline=median(kept), spread=spread(cleave) + slices * spread(kept), asked=1000,
                              slices=slices))


def in_turn(measure, repeats):
    """Natively and with Cleave."""
    variants = {"native": {}, "cleave": {"LD_PRELOAD": str(programs.library())}}
    taken = {name: [] for name in variants}
    for _ in range(repeats):
        for name, settings in variants.items():
            taken[name].append(measure(settings))
    return taken["native"], taken["cleave"]


def figure(key, settings):
    _, output = programs.run("platforms", settings=settings)
    return float(re.search(rf"{key}=([0-9.]+)", output)[1])


def start_time(settings):
    begin = time.perf_counter()
    subprocess.run(["/bin/true"], check=True, env=programs.environment(settings))
    return (time.perf_counter() - begin) * 1e3


def first_start(kind, settings):
    """The ms that a program takes whose caches, and the driver's, are empty. Under Cleave its launch must have been split."""
    with tempfile.TemporaryDirectory() as folder:
        stats = pathlib.Path(folder) / "stats"
        caches = {name: f"{folder}/caches" for name in ("CLEAVE_CACHE", "CUDA_CACHE_PATH", "POCL_CACHE_DIR", "XDG_CACHE_HOME")}
        begin = time.perf_counter()
        status, _ = programs.run("first_start", kind,
                                 settings=caches | {"CLEAVE_SPLIT": "fixed:20", "CLEAVE_MIN_ITEMS": "0",
                                                    "CLEAVE_STATS": str(stats)} | settings)
        took = (time.perf_counter() - begin) * 1e3
        if status != 0:
            raise Unmeasured(f"first_start {kind}: exit status {status}")
        if settings and json.loads(stats.read_text())["split"] != 1:
            raise Unmeasured(f"first_start {kind} was not split: {stats.read_text()}")
    return took


def measure_first_start(bench):
    """A program that builds, launches and ends, with empty caches."""
    for kind, words in (("group", "a kernel that is told of the whole launch"), ("item", "another kernel")):
        native, cleave = in_turn(lambda settings: first_start(kind, settings), bench.repeats(15))  # noqa: B023
        value, error = ratio(cleave, native)
        bench.results.add(Row("first start", f"first start with empty caches, {words}", value, baseline=median(native), spread=error, asked=1.2))


def measure_process(bench):
    native, cleave = in_turn(lambda settings: figure("rss", settings), bench.repeats(11))
    bench.add("memory", "resident memory of a program that prints its platforms", native, cleave, "KiB", 2048)
    native, cleave = in_turn(lambda settings: figure("first_ms", settings), bench.repeats(41))
    bench.add("start", "the first call of a program, the drivers loaded within it", native, cleave, "ms")
    native, cleave = in_turn(start_time, bench.repeats(101))
    bench.add("start", "loading, a program that does nothing", native, cleave, "ms", 3)


def measure(given):
    bench = Bench(given)
    measure_calls(bench)
    measure_vendor(bench)
    measure_slices(bench)
    measure_process(bench)
    measure_first_start(bench)
    return bench.results
