"""The conformance tests of Khronos, built by the user: each sub-test in a process of its own, natively and under Cleave."""

import json
import os
import signal
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

# Those of docs/conformance.md.
SUITES = ("basic", "api", "compiler", "computeinfo", "thread_dimensions", "workgroups", "events", "profiling", "atomics",
          "c11_atomics", "buffers", "printf", "SVM", "multiple_device_context", "non_uniform_work_group", "mem_host_flags",
          "device_partition")
SETTINGS = {"CLEAVE_SPLIT": "fixed:7", "CLEAVE_MIN_ITEMS": "0", "CLEAVE_LAUNCH": "queued"}
TOO_LONG = "too long"


@dataclass
class Suite:
    name: str
    program: Path


@dataclass
class Outcome:
    verdict: str  # pass, fail, skip, or how it ended without one
    statistics: Counter = field(default_factory=Counter)


@dataclass
class Figures:
    """Of one suite, by one way."""

    native: Counter = field(default_factory=Counter)
    same: int = 0
    unstable: list = field(default_factory=list)
    different: list = field(default_factory=list)
    statistics: Counter = field(default_factory=Counter)


def find_suites(folder, names):
    """The programs of these suites below the folder, in this order, and the names of those that are missing."""
    found = {}
    for path in sorted(folder.rglob("test_*")):
        name = path.name.removeprefix("test_")
        if name in names and path.is_file() and os.access(path, os.X_OK):
            found.setdefault(name, Suite(name, path.resolve()))
    return [found[name] for name in names if name in found], [name for name in names if name not in found]


def sub_tests(suite, environment):
    """What the program lists."""
    done = subprocess.run([suite.program, "--help"], cwd=suite.program.parent, env=environment, capture_output=True, text=True,
                          timeout=60, check=False)
    lines = done.stdout.partition("Test names:")[2].splitlines()
    return [line.strip() for line in lines if line.startswith("\t") and len(line.split()) == 1]


def ending(status):
    """What to call a process that ended without a verdict."""
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def run(suite, test, environment, limit):
    """Runs one sub-test. `environment` may ask for statistics; they are added up over its processes."""
    with tempfile.TemporaryDirectory(prefix="cleave-cts-") as folder:
        results = Path(folder) / "results.json"
        statistics = Path(folder) / "statistics"
        statistics.mkdir()
        full = environment | {"CL_CONFORMANCE_RESULTS_FILENAME": str(results), "CLEAVE_STATS": f"{statistics}/%p.json"}
        try:
            done = subprocess.run([suite.program, test], cwd=suite.program.parent, env=full, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Outcome(TOO_LONG)
        try:
            verdict = json.loads(results.read_text())["results"][test]
        except (OSError, ValueError, KeyError):
            verdict = ending(done.returncode)
        sums = Counter()
        for file in statistics.iterdir():
            written = json.loads(file.read_text())
            sums.update({key: written[key] for key in ("launches", "split", "slices")})
        return Outcome(verdict, sums)


def compare_test(suite, test, native, under_cleave, limit):
    """The native verdict of one sub-test, and of each way its outcome and whether the verdict varies natively."""
    before = run(suite, test, native, limit).verdict
    found = {}
    for way, environment in under_cleave.items():
        outcome, varies = run(suite, test, environment, limit), False
        if outcome.verdict != before:
            varies = run(suite, test, native, limit).verdict != before
            again = run(suite, test, environment, limit)
            outcome = Outcome(again.verdict, outcome.statistics)
        found[way] = (outcome, varies)
    return before, found


def compare(suite, native, under_cleave, limit, say, jobs=1):
    """The figures of each way. `native` and the values of `under_cleave` are environments."""
    figures = {way: Figures() for way in under_cleave}
    tests = sub_tests(suite, native)
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda test: compare_test(suite, test, native, under_cleave, limit), tests)
        for test, (before, found) in zip(tests, results):
            for way, (outcome, varies) in found.items():
                mine = figures[way]
                mine.native[before] += 1
                mine.statistics.update(outcome.statistics)
                if varies:
                    mine.unstable.append(test)
                elif outcome.verdict == before:
                    mine.same += 1
                else:
                    mine.different.append((test, before, outcome.verdict))
                    say(f"{suite.name}/{test}, {way}: natively {before}, under Cleave {outcome.verdict}")
    return figures


def row(name, way, figures):
    """A line of the table in docs/conformance.md."""
    native, sums = figures.native, figures.statistics
    others = sum(native.values()) - native["pass"] - native["skip"]
    cells = (name, way, sum(native.values()), native["pass"], native["skip"], others, figures.same, len(figures.unstable),
             sums["launches"], sums["split"], sums["slices"])
    return "| " + " | ".join(map(str, cells)) + " |"


HEAD = ("| suite | way | sub-tests | pass natively | skip themselves | fail or crash natively | same under Cleave | vary natively | "
        "launches | split | slices |\n" + "|---" * 11 + "|")
