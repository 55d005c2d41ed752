"""The suite `gpu`: the cost of splitting where it should cost nothing, and what other programs gain."""

import os
import signal
import sys

import programs
from results import Results, Row, Unmeasured, machine, median, ratio, spread

PRODUCT, LONG = "tiled product", "long product"
OTHERS = ("stencil", "Mandelbrot", "reduction")


class Bench:
    """The options of one run, and its results so far."""

    def __init__(self, given):
        self.quick = given.quick
        self.repeats = 3 if given.quick else 9
        self.platform = given.platform or ""
        self.load_method = programs.load_method(given.way)
        self.options = [*self.load_method.options, *(["--platform", given.platform] if given.platform else []),
                        *(["--small"] if given.quick else [])]
        probe, _ = self.measure("stream", 1, "--repeats", 1)
        words = machine(probe["device"], programs.library())
        self.results = Results("gpu", words if given.way == "preload" else words | {"way": given.way})

    def measure(self, *arguments, settings=None, **options):
        """The arguments of cleave_gpu for this device and Cleave."""
        return programs.measure(*arguments, *self.options, settings=self.load_method.beside | (settings or {}), **options)

    def launches(self, work, settings, *more):
        """One work natively and with these settings; the default VM count is five."""
        line, right = self.measure("launches", work, "--repeats", self.repeats, *more,
                                   settings={"CLEAVE_VMS": "5", "CLEAVE_WAIT": "native"} | settings)
        self.results.sound &= right
        return line

    def add(self, *row, **more):
        self.results.add(Row(*row, **more))


def fixed(slices, mode="auto"):
    return {"CLEAVE_SPLIT": f"fixed:{slices}", "CLEAVE_LAUNCH": mode, "CLEAVE_MIN_ITEMS": "cores"}


def add_ratio(bench, part, what, line, asked, suffix=""):
    value, spread_of_it = ratio(line["cleave" + suffix], line["native" + suffix])
    made = round(line["slices"] / max(1, line["split"]))
    bench.add(part, what, value, baseline=median(line["native" + suffix]), spread=spread_of_it, asked=asked, slices=made)


def measure_product(bench):
    """The paper's job in more and more slices, and the longest wait of a small kernel beside it."""
    asked = {10: 1.005, 20: 1.005, 100: 1.01, 320: 1.015, 500: 1.03, 640: 1.05}
    for slices, bound in asked.items():
        line = bench.launches(PRODUCT, fixed(slices))
        add_ratio(bench, "product", f"{PRODUCT}, {slices} slices", line, bound)
        add_ratio(bench, "product with events", "the same, with an event", line, bound, "_event")
        wait_asked = None if slices < 20 else 4 if slices < 100 else 3
        bench.add("waits beside it", "longest wait of a small kernel meanwhile", line["wait"], "ms",
                  baseline=line["native_wait"], asked=wait_asked, slices=slices,
                  note=f"{line['wait_enqueue']:.1f} ms of it until the driver had taken it")


def measure_others(bench):
    for work in OTHERS:
        for slices, bound in ((20, 1.02), (100, 1.05)):
            line = bench.launches(work, fixed(slices), "--waits", 0)
            add_ratio(bench, "others", f"{work}, {slices} slices", line, bound)


def measure_scan(bench):
    """A scan whose work-groups wait for earlier ones: whether its result is correct in every mode."""
    options = ["100003" if bench.quick else "4000037", 3]
    options += ["--platform", bench.platform] if bench.platform else []
    for mode in ("auto", "queued", "sequential", "pipelined"):
        right = 0
        counts = (2, 20, 100, 1000)
        for slices in counts:
            settings = fixed(slices, mode) | bench.load_method.instead
            status, _ = programs.run("look_back", *options, settings=settings, limit=60)
            right += status == 0
        bench.results.sound &= right == len(counts)
        bench.add("scan", f"look-back scan, {mode}: right of {len(counts)}", right, asked=len(counts), at_least=True)


def measure_waiting(bench):
    """The processor time of waiting for a kernel of one second."""
    status, steps = programs.run("cleave_waits", "--calibrate", bench.platform, 0.2 if bench.quick else 1)
    if status != 0:
        raise Unmeasured("cleave_waits could not find out how long its kernel takes")
    steps = steps.strip()
    sleeping = bench.load_method.instead | {"CLEAVE_WAIT": "sleeping", "CLEAVE_SPLIT": "off"}
    costs = {"native": {}, "sleeping": {}}
    for _ in range(2 if bench.quick else 3):
        for way, settings in (("native", {}), ("sleeping", sleeping)):
            _, lines = programs.run("cleave_waits", "--costs", bench.platform, steps, 3, settings=settings)
            for line in lines.splitlines():
                call, wall, _, process = line.split()
                costs[way].setdefault(call, []).append((float(wall), float(process)))
    for call, native in costs["native"].items():
        walls, burnt = zip(*native)
        sleeping_walls, sleeping_burnt = zip(*costs["sleeping"][call])
        bench.add("waiting", f"processor time of {call}, sleeping", median(sleeping_burnt), "s", baseline=median(burnt),
                  spread=spread(sleeping_burnt), asked=0.05)
        value, spread_of_it = ratio(sleeping_walls, walls)
        bench.add("waiting", "its wall time", value, baseline=1e3 * median(walls), spread=spread_of_it, asked=1.01)


def measure_quantum(bench):
    line = bench.launches(LONG, {"CLEAVE_SPLIT": "quantum:5"}, "--warm-up", 10, "--waits", 4)
    add_ratio(bench, "quantum", f"{LONG}, quantum:5", line, 1.02)
    bench.add("quantum", "longest wait of a small kernel meanwhile", line["wait"], "ms", baseline=line["native_wait"],
              asked=12, slices=round(line["slices"] / max(1, line["split"])))


def possible(bench, work, budget):
    """The most slices whose loss stays within the budget, of powers of two."""
    best, slices = 1, 4
    while slices <= 4096:
        line = bench.launches(work, fixed(slices), "--waits", 0)
        if ratio(line["cleave"], line["native"])[0] > 1 + budget:
            break
        made = round(line["slices"] / max(1, line["split"]))
        if made <= best:
            break
        best, slices = made, slices * 2
    return best


def measure_budget(bench):
    for work in (PRODUCT, *OTHERS):
        line = bench.launches(work, {"CLEAVE_SPLIT": "budget", "CLEAVE_VMS": "50"}, "--warm-up", 10, "--waits", 0)
        add_ratio(bench, "budget", f"{work}, budget of 5 %", line, 1.05)
        made = line["slices"] / max(1, line["split"])
        best = possible(bench, work, 0.05)
        bench.add("budget", "its slices, of those that a sweep finds possible", made / best, asked=0.5, at_least=True,
                  slices=round(made), note=f"{made:.0f} of {best}")


def measure_stream(bench):
    count = 1000 if bench.quick else 10000
    line, _ = bench.measure("stream", count, "--repeats", bench.repeats, settings={"CLEAVE_VMS": "5"})
    value, spread_of_it = ratio(line["cleave"], line["native"])
    bench.add("stream", f"{count} empty kernels, 5 VMs", value, baseline=median(line["native"]), spread=spread_of_it,
              asked=1.03)


def measure_contention(bench):
    """The loss of processor work beside a waiting program, on the cores that both share."""
    cores = sorted(os.sched_getaffinity(0))[:4]
    threads, seconds, rounds = 4 * len(cores), 1 if bench.quick else 3, 3 if bench.quick else 7
    turns = {"alone": [], "native": [], "sleeping": []}
    settings = bench.load_method.beside | {"CLEAVE_VMS": "5", "CLEAVE_WAIT": "sleeping", "CLEAVE_SPLIT": "alpha"}
    for _ in range(rounds):
        for way, found in turns.items():
            beside = None
            if way != "alone":
                side = "native" if way == "native" else "cleave"
                beside = programs.start("cleave_gpu", "busy", side, 60, LONG, *bench.options, settings=settings,
                                        cores=cores)
                programs.start("cleave_gpu", "turns", 1, 1.5).communicate()  # it has begun by then
            line, _ = programs.measure("turns", threads, seconds, cores=cores)
            found.append(line["turns"])
            if beside is not None:
                beside.send_signal(signal.SIGKILL)
                beside.communicate()
    for way, asked in (("native", None), ("sleeping", 0.97)):
        value, spread_of_it = ratio(turns[way], turns["alone"])
        bench.add("contention", f"{threads} threads on {len(cores)} cores beside a program that waits ({way})", value,
                  baseline=None, spread=spread_of_it, asked=asked, at_least=True)


PARTS = [("product", measure_product), ("others", measure_others), ("scan", measure_scan), ("waiting", measure_waiting),
         ("quantum", measure_quantum), ("budget", measure_budget), ("stream", measure_stream), ("contention", measure_contention)]


def measure(given):
    bench = Bench(given)
    for name, part in PARTS:
        if given.only and name not in given.only:
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        part(bench)
    return bench.results
