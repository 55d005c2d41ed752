"""The suite `share`: real programs alongside each other on one device, natively and under Cleave.

Does a program take longer under Cleave while it is alone, and is its result the same? How long do the requests of a latency-critical program
take alongside programs that use the device without a pause, and what do these get done: natively, by default under Cleave, with priority for the
latency-critical one, and with a cap on the others? The programs are not part of Cleave: bench/share/fetch fetches them.
"""

import contextlib
import os
import pathlib
import sys
import tempfile
import time

import programs
from clients import percentile
from resident import Absent, Resident, measured
from results import Results, Row, Unmeasured, machine, median, ratio, spread

NATIVE, TURNS, PRIORITY, CAP = "natively", "by default", "with priority", "with caps"
WAYS = (NATIVE, TURNS, PRIORITY, CAP)
ALONE = "alone"
PERCENTILES = {"P50": 50, "P99": 99, "P99.9": 99.9}
LATENCY = {"convnet": "tinygrad, a convolutional net", "transformer": "tinygrad, a transformer", "frames": "ffmpeg"}
THROUGHPUT = {"molecules": "OpenMM", "products": "CLBlast", "hashcat": "hashcat", "algorithms": "PyOpenCL", "fourier": "PyVkFFT"}
WORDS = LATENCY | THROUGHPUT
MOST_ALONE = 1.01  # of the native time
WINDOWS_ALONE = 3  # of each process
MOST_BESIDE = {1: 1.25, 3: 1.4}  # of the P99 alone, natively, beside so many
LEAST_DONE = 0.95  # of what they get done natively beside the same programs
GROUPS = (2, 3)  # so many throughput programs at once beside a latency-critical one
SELDOM = 0.1  # seconds from one request to the next, more than one takes
SHORTEST_PERIOD, BUSY = 0.01, 0.25  # a request every 10 ms, or so seldom that they take a quarter of the time
STARTS_FIRST = ("hashcat",)  # it takes all of the device's memory for a moment, to see how much there is
NEAR = 1e-4  # between results that are not identical natively either


def scripts():
    """Next to the suite, here as where it is installed."""
    return pathlib.Path(__file__).absolute().parent.parent / "share"


def progress(latency, rates, alone):
    """Of each program, as a share of its progress alone: of a latency-critical one by its mean latency."""
    own = [alone["latency"] / latency] if latency else []
    return own + [rate / of for rate, of in zip(rates, alone["rates"])]


def system_throughput(progresses):
    return sum(progresses)


def turnaround(progresses):
    """The average normalised turnaround time."""
    return sum(1 / max(one, 1e-9) for one in progresses) / len(progresses)


def fairness(progresses):
    """Jain's index."""
    return sum(progresses) ** 2 / (len(progresses) * sum(one ** 2 for one in progresses))


def same_result(one, other):
    if "digest" in one or "digest" in other:
        return one == other
    return len(one["values"]) == len(other["values"]) and all(
        abs(a - b) <= NEAR * abs(b) for a, b in zip(one["values"], other["values"]))


class Bench:
    def __init__(self, given, folder):
        self.given, self.folder = given, pathlib.Path(folder)
        self.seconds = given.seconds or (0.4 if given.quick else 2.5)
        self.rounds = given.rounds or (1 if given.quick else 3)
        probe, _ = programs.measure("stream", 1, *programs.target(given), "--repeats", 1)
        self.on_processor = probe["on_processor"]
        self.results = Results("share", machine(probe["device"], programs.library()) | {
            "seconds": f"{self.seconds:g}", "rounds": str(self.rounds), "cap": f"{given.cap:g} %"})
        self.until = time.monotonic() + (60 * given.minutes if given.minutes else float("inf"))
        self.left_out = []
        self.native_results, self.periods = {}, {}
        self.started = 0

    def environment(self, under):
        """Native programs and those under Cleave have caches of their own: what one compiles is not what the other would."""
        home = self.folder / ("cleave" if under else "native")
        home.mkdir(exist_ok=True)
        found = self.given.programs.absolute()
        paths = {"PYTHONPATH": [found], "LD_LIBRARY_PATH": [found / "lib"], "PATH": [found]}
        joined = {name: ":".join([*map(str, first), *filter(None, [os.environ.get(name)])]) for name, first in paths.items()}
        return joined | {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1",
                         "OPENBLAS_NUM_THREADS": "2"}

    def settings(self, name, way, registry):
        """Every way has a registry of its own, so that idle programs are not counted as neighbours."""
        if way == NATIVE:
            return {}
        place = self.folder / registry.replace(" ", "-").replace(",", "")
        place.mkdir(exist_ok=True)
        self.started += 1
        own = {"CLEAVE_REGISTRY": str(place), "CLEAVE_CACHE": str(self.folder / "cleave"),
               "CLEAVE_STATS": str(self.folder / f"stats-{self.started}-%p")}
        if self.on_processor and not registry.startswith(ALONE):
            own["CLEAVE_TURNS"] = "on"  # the default is off there
        if way == PRIORITY and name in LATENCY:
            own["CLEAVE_PRIORITY"] = "high"
        if way == CAP and name in THROUGHPUT:
            own["CLEAVE_CAP"] = f"{self.given.cap:g}%"
        return own

    def start(self, name, way, registry, *more):
        kind = "latency" if name in LATENCY else "throughput"
        words = [scripts() / f"{name}.py", kind, "--platform", self.given.platform or "", *more]
        under = way != NATIVE
        settings = self.environment(under) | self.settings(name, way, registry)
        return Resident([*words, *(["--quick"] if self.given.quick else [])], settings, under)

    @contextlib.contextmanager
    def residents(self, names, way, registry=lambda name, way: way, may_lack=False, more=()):
        """These programs, started together and ready, by name. All of them have ended afterwards, rightly, or the results are not sound.
        Those that cannot be had are left out if `may_lack`."""
        running = {}
        try:
            for together in ([name for name in names if name in STARTS_FIRST], [name for name in names if name not in STARTS_FIRST]):
                for name in together:
                    running[name] = self.start(name, way, registry(name, way), *more)
                for name in together:
                    try:
                        self.check(name, running[name].await_ready(), way)
                    except (Absent, Unmeasured) as why:
                        if not may_lack:
                            raise Unmeasured(f"{name}, {way}: {why}") from why
                        self.leave_out(name, why)
                        running.pop(name).kill()
            print(f"  ready: {', '.join(running)}: {way}", file=sys.stderr, flush=True)
            yield {name: running[name] for name in names if name in running}
            for name, one in running.items():
                self.ended(name, one.end(), way, one.launches() if one.stats else None)
        finally:
            for one in running.values():
                one.kill()

    def leave_out(self, name, why):
        self.left_out.append(f"{name} ({WORDS[name]}): left out: {why}")
        print(f"share: {self.left_out[-1]}", file=sys.stderr, flush=True)

    def another_round(self, begun, done):
        """Whether there is one, and the time for it, judged by those before."""
        now = time.monotonic()
        return done < self.rounds and (done == 0 or now + (now - begun) / done < self.until)

    def wrong(self, words):
        self.results.sound = False
        print(f"share: {words}", file=sys.stderr, flush=True)

    def check(self, name, said, way):
        """The first process of a program, which is native, says what is right."""
        first = self.native_results.setdefault(name, said["result"])
        if said["wrong"] or not same_result(said["result"], first):
            self.wrong(f"{name}, {way}: its result is not the native one")

    def set_periods(self, native):
        """By what a request takes now that nothing else starts."""
        for name in LATENCY:
            if name in native:
                found = measured(native[name], [], SELDOM, 5 * SELDOM)
                self.periods[name] = max(SHORTEST_PERIOD, median(found.latencies()) / 1e3 / BUSY)
                self.results.machine[f"{name}, a request every"] = f"{1e3 * self.periods[name]:.3g} ms"

    def ended(self, name, status, way, launches):
        if status != 0:
            self.wrong(f"{name}, {way}: exit status {status}")
        if launches == 0:
            self.wrong(f"{name}, {way}: none of its launches went through Cleave")

    def window(self, running, leading, others):
        found = measured(running.get(leading), [running[name] for name in others], self.periods.get(leading), self.seconds)
        for name, output in zip([*filter(None, [leading]), *others], found.outputs):
            if output["wrong"]:
                self.wrong(f"{name}: {output['wrong']} wrong results")
        return found

    def add(self, part, programs_, way, value, **more):
        beside = " beside ".join(filter(None, (programs_[0], " and ".join(programs_[1:]))))
        name = f"{part} of " if part in PERCENTILES or part in ("STP", "ANTT", "Jain's index") else ""
        what = f"{more.pop('words', None) or name + beside}: {way}"
        self.results.add(Row(part, what, value, kernel=" ".join(programs_), policy=way, neighbours=len(programs_) - 1, **more))


def measure_alone(bench, native):
    """Each program alone, natively and under Cleave with default settings, alternately; in each round by new processes, since where a
    process's memory lies on the device makes a few per cent (--quick: natively by those that are there)."""
    times = {}
    begun, done = time.monotonic(), 0
    while bench.another_round(begun, done):
        try:
            found = round_alone(bench, native)
        except Unmeasured as why:
            bench.wrong(str(why))
            break
        for key, time_of in found.items():
            times.setdefault(key, []).append(time_of)
        done += 1
    for name in native if done else ():
        add_alone(bench, name, times[name, NATIVE], times[name, TURNS])


def round_alone(bench, native):
    names = list(native)
    with (contextlib.nullcontext(native) if bench.given.quick else bench.residents(names, NATIVE) as anew,
          bench.residents(names, TURNS, lambda name, way: f"{ALONE} {name}") as cleave):
        return {(name, way): time_of for name in names
                for way, time_of in times_alone(bench, name, {NATIVE: anew, TURNS: cleave}).items()}


def times_alone(bench, name, running):
    """The median of some windows each: of a request's time, or of units per second."""
    leading, others = (name, []) if name in LATENCY else (None, [name])
    found = {way: [] for way in running}
    for _ in range(1 if bench.given.quick else WINDOWS_ALONE):
        for way, residents in running.items():
            seen = bench.window(residents, leading, others)
            found[way].append(median(seen.latencies()) if leading else seen.rate(0))
    return {way: median(values) for way, values in found.items()}


def add_alone(bench, name, native, cleave):
    """How much longer it takes: a request in the middle, or a unit of work on average."""
    if min(*native, *cleave) <= 0:
        print(f"share: {name}, alone: no unit of work ended in {bench.seconds:g} s", file=sys.stderr)
        return
    if name in THROUGHPUT:
        native, cleave = ([1e3 / rate for rate in rates] for rates in (native, cleave))
    value, spread_of_it = ratio(cleave, native)
    bench.add("alone", [name], "under Cleave", value, baseline=median(native), spread=spread_of_it if len(native) > 1 else None,
              note=f"the fastest process of each: {min(cleave) / min(native):.3f}" if len(native) > 1 else "",
              asked=MOST_ALONE, words=f"{name} ({WORDS[name]}), alone, {'a request' if name in LATENCY else 'a unit of work'}")


def sets(there, parts):
    """The programs that run at the same time: a latency-critical one first, which is missing for what throughput programs do alone."""
    leading = [name for name in LATENCY if name in there]
    others = [name for name in THROUGHPUT if name in there]
    found = []
    if "pairs" in parts:
        found += [(one, other) for one in leading for other in others]
    if "groups" in parts:
        found += [(one, *others[:count]) for one in leading for count in GROUPS if count <= len(others)]
    alone = [(one,) for one in leading] + [(None, other) for other in others]
    return alone if found else [], found


def measure_beside(bench, native, parts):
    alone, beside = sets(native, parts)
    windows = {}
    try:
        with contextlib.ExitStack() as stack:
            ways = {NATIVE: native} | {way: stack.enter_context(bench.residents(list(native), way)) for way in WAYS[1:]}
            begun, done = time.monotonic(), 0
            while beside and bench.another_round(begun, done):
                for group in alone:
                    windows.setdefault((group, NATIVE), []).append(bench.window(native, group[0], group[1:]))
                for group in beside:
                    for way, running in ways.items():
                        windows.setdefault((group, way), []).append(bench.window(running, group[0], group[1:]))
                done += 1
                print(f"  round {done} of {bench.rounds}", file=sys.stderr, flush=True)
    except Unmeasured as why:  # what was measured until then is kept
        bench.wrong(str(why))
    for group in beside:
        if all((each, NATIVE) in windows for each in alone) and all((group, way) in windows for way in WAYS):
            add_group(bench, group, windows)


def mean_latency(found):
    return sum(found.latencies()) / len(found.latencies())


def add_group(bench, group, windows):
    leading, *others = group
    alone = windows[(leading,), NATIVE]
    rates_alone = [median([one.rate(0) for one in windows[(None, other), NATIVE]]) for other in others]
    of_alone = {"latency": median(list(map(mean_latency, alone))), "rates": rates_alone}
    if min(rates_alone) <= 0:
        print(f"share: {' + '.join(group)}: no unit of work ended in {bench.seconds:g} s", file=sys.stderr)
        return
    kept = {"spread": None} if len(alone) == 1 else {}
    for way in WAYS:
        found = windows[group, way]
        missed = sum(one.outputs[0]["missed"] for one in found)
        asked = MOST_BESIDE.get(len(others)) if way in (TURNS, PRIORITY) else None
        for name, share in PERCENTILES.items():
            add_latency(bench, name, share, group, way, found, alone, missed, asked if name == "P99" else None, kept)
        progresses = [progress(mean_latency(one), [one.rate(1 + i) for i in range(len(others))], of_alone) for one in found]
        for i, other in enumerate(others):
            rates = [one.rate(1 + i) for one in found]
            native = median([one.rate(1 + i) for one in windows[group, NATIVE]])
            goal = {"asked": LEAST_DONE, "at_least": True} if way == TURNS else {}
            bench.add("done", group, way, median(rates) / rates_alone[i], words=f"work of {other}, of that alone, {' + '.join(group)}",
                      **({"spread": spread(rates) / rates_alone[i]} | kept), note=f"{median(rates):.4g} units/s")
            if way != NATIVE and native > 0:
                bench.add("of native", group, way, median(rates) / native, **({"spread": spread(rates) / native} | kept), **goal,
                          words=f"work of {other}, of that beside the same natively, {' + '.join(group)}")
        for name, measure_of in (("STP", system_throughput), ("ANTT", turnaround), ("Jain's index", fairness)):
            values = [measure_of(each) for each in progresses]
            bench.add(name, group, way, median(values), **({"spread": spread(values)} | kept))


def add_latency(bench, name, share, group, way, found, alone, missed, asked, kept):
    """As a ratio to that alone natively. So far in the tail only all rounds together have samples enough."""
    rounds = lambda windows: [percentile(one.latencies(), share) for one in windows]  # noqa: E731
    values, base = rounds(found), rounds(alone)
    if share > 99:
        values, base = ([percentile([each for one in windows for each in one.latencies()], share)] for windows in (found, alone))
        kept = {"spread": None}
    value, spread_of_it = ratio(values, base)
    samples = sum(len(one.latencies()) for one in found)
    note = f"{median(values):.4g} ms, {samples} requests" + (f", {missed} missed" if missed else "")
    bench.add(name, group, way, value, baseline=median(base), asked=asked, note=note, **({"spread": spread_of_it} | kept))


PARTS = ("alone", "pairs", "groups")


def measure(given):
    if not scripts().is_dir():
        raise Unmeasured(f"{scripts()} is missing")
    parts = given.only or PARTS
    with tempfile.TemporaryDirectory(prefix="cleave-bench-") as folder:
        bench = Bench(given, folder)
        names = [name for name in WORDS if not given.program or name in given.program]
        with bench.residents(names, NATIVE, may_lack=True, more=["--reference"]) as native:
            if not native:
                raise Unmeasured(f"none of the programs is in {given.programs}: {scripts() / 'fetch'} fetches them")
            bench.set_periods(native)
            if "alone" in parts:
                measure_alone(bench, native)
            if sets(native, parts)[1]:
                measure_beside(bench, native, parts)
        bench.results.machine["left out"] = "; ".join(bench.left_out)
    return bench.results
