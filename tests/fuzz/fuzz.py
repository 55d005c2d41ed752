"""Generated programs and API sequences, natively and under Cleave in every mode, compared line by line.

    fuzz.py --program PATH/cleave_fuzz --library PATH/libOpenCL.so.1 --driver pocl --cases 100000 --programs 300

A case is one launch or API sequence in one mode. A driver that is not in the usual place is named with --icd, which takes
what OCL_ICD_VENDORS does: an .icd file, a folder of them, or a driver library.

Exit status 0: no difference, and launches were split. A case that differs is reduced and written to the folder of --reports.
"""

import argparse
import itertools
import random
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from runs import DRIVERS, Mode, Runner
from shrink import Case, compare, differs, excuse, report, shrink

# Slice counts that every program is run with, and those of which each program gets a few. The largest exceeds all groups.
ALWAYS = (2, 100000)
SOMETIMES = (1, 3, 4, 5, 7, 8, 13, 16, 20, 33, 64, 100, 320)


@dataclass
class Totals:
    programs: int = 0
    cases: int = 0
    launches: int = 0
    split: int = 0
    slices: int = 0
    differences: list = field(default_factory=list)
    left_out: list = field(default_factory=list)  # programs and cases that the driver itself fails
    seen: Counter = field(default_factory=Counter)  # runs in which Cleave was loaded, by way

    def count(self, way, stats):
        self.seen[way] += bool(stats)
        self.launches += stats.get("launches", 0)
        self.split += stats.get("split", 0)
        self.slices += stats.get("slices", 0)

    def __str__(self):
        return (
            f"{self.cases} cases of {self.programs} programs; {self.split} of {self.launches} launches split into "
            f"{self.slices} slices; {len(self.left_out)} left out; {len(self.differences)} differences"
        )


class Campaign:
    def __init__(self, options):
        self.options = options
        self.driver = replace(DRIVERS[options.driver])
        if options.icd:
            self.driver.icd = options.icd
        if options.platform:
            self.driver.options = [*self.driver.options, "--platform", options.platform]
        beside = options.library.parent.parent
        self.libraries = {
            "preload": options.library,
            "layer": options.layer or beside / "libcleave-layer.so",
            "vendor": beside / "libcleave-icd.so",
            "remote": beside / "libcleave-remote.so",
        }
        self.ways = [way for way in options.ways if self.libraries[way].exists()]
        self.others = tuple(word for word in (options.pass_on or "").split() if word)
        if {"vendor", "remote"} & set(self.ways):
            # The vendor library and the remote client return the specified error for a null handle, also where the driver
            # accepts it.
            self.others += ("--without", "null-event")
        self.totals = Totals()
        self.lock = threading.Lock()

    def modes(self, number):
        """Each launch mode with some slice counts, chosen by the program's number."""
        choose = random.Random(f"{self.options.seed} {number}")
        ways = itertools.cycle(self.ways)
        return [
            Mode(launch, slices, next(ways))
            for launch in self.options.modes
            for slices in (*ALWAYS, *choose.sample(SOMETIMES, self.options.counts - len(ALWAYS)))
        ]

    def enough(self):
        totals, options = self.totals, self.options
        return totals.cases >= options.cases and totals.programs >= options.programs

    def log(self, text):
        print(text, flush=True)

    def leave_out(self, what):
        with self.lock:
            self.totals.left_out.append(what)
            self.log(f"left out: {what}")

    def program(self, number):
        """One generated program, in all its modes."""
        with self.lock:
            if self.enough():
                return
        modes = self.modes(number)
        each = -(-self.options.cases // (self.options.programs * len(modes)))
        with tempfile.TemporaryDirectory(prefix="cleave-fuzz-") as folder:
            driver = self.driver.for_program(number)
            runner = Runner(self.options.program, self.libraries, driver, folder, self.options.patience)
            options = ["--seed", self.options.seed, "--first-program", number, "--cases", each, *self.others]
            native = runner.run(options)
            if not native.succeeded or f"{number}.unbuilt" in native.lines:
                last = next(reversed(native.lines), "nothing")
                why = f" ({native.complaint})" if native.complaint else ""
                self.leave_out(f"program {number}: natively {native.status} after {last}{why}")
                return
            with self.lock:
                self.totals.programs += 1
            excused = set()
            for mode in modes:
                other = runner.run(options, mode)
                difference = compare(native, other)
                different = self.examine(runner, number, mode, difference, excused)
                with self.lock:
                    self.totals.count(mode.way, other.stats)
                    self.totals.cases += sum(1 for name in other.lines if " " in name and name not in excused)
                if different:
                    return  # the other modes would most likely find the same

    def examine(self, runner, number, mode, difference, excused):
        """Reduces and reports the first case that differs, unless the driver itself is inconsistent."""
        for name in difference.lines:
            if name in excused:
                continue
            place = name.split()[0].split(".")[-1]
            case = Case(self.options.seed, number, int(place) if place.isdigit() else None, mode, self.others)
            why = excuse(runner, case)
            if why:
                excused.add(name)
                self.leave_out(f"{name}, {mode}: {why}")
                continue
            self.report(runner, case, name, difference)
            return True
        return False

    def report(self, runner, case, name, difference):
        alone = differs(runner, case)
        if alone and self.options.shrink:
            small = shrink(runner, case)
            case = case if excuse(runner, small) else small
            alone = differs(runner, case)
        folder = report(runner, case, alone or difference, self.options.reports)
        with self.lock:
            self.totals.differences.append(folder)
            self.log(f"DIFFERENT: {name}, {case.mode}{'' if alone else ' (not when it is alone)'}: {folder}")

    def run(self):
        with ThreadPoolExecutor(self.options.jobs) as workers:
            numbers = itertools.count(self.options.first_program)
            while not self.enough() and len(self.totals.differences) < self.options.most_differences:
                tasks = [workers.submit(self.program, next(numbers)) for _ in range(4 * self.options.jobs)]
                for task in tasks:
                    task.result()
                self.log(str(self.totals))
                absent = [way for way in self.ways if self.totals.programs and not self.totals.seen[way]]
                if absent:
                    self.log(f"Cleave was loaded in no run by way of: {', '.join(absent)} (a loader without layers?)")
                    return 1
                if len(self.totals.left_out) > max(20, self.totals.programs):
                    self.log("more cases were left out than tested")
                    return 1
        if self.totals.differences:
            return 1
        if not self.totals.split or self.totals.split * 100 < self.totals.launches * self.options.least_split:
            self.log("too few launches were split to prove anything")
            return 1
        return 0


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=lambda name: Path(name).resolve(), required=True, help="cleave_fuzz")
    parser.add_argument("--library", type=lambda name: Path(name).resolve(), required=True, help="Cleave's drop-in, lib/cleave/libOpenCL.so.1")
    parser.add_argument("--layer", type=Path, help="Cleave's layer (the one beside the drop-in's folder)")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=["preload", "layer"], help="how Cleave is loaded: also vendor, remote")
    parser.add_argument("--driver", choices=DRIVERS, default="pocl")
    parser.add_argument("--icd", help="the driver, as OCL_ICD_VENDORS takes it")
    parser.add_argument("--platform", help="part of the platform's name")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--programs", type=int, default=5)
    parser.add_argument("--first-program", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", type=lambda text: text.replace("polite", "sleeping").split(","), default=["queued", "sequential", "pipelined", "sleeping"])
    parser.add_argument("--counts", type=int, default=5, help="slice counts for each program and mode")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--patience", type=float, default=120, help="seconds for one run")
    parser.add_argument("--reports", type=lambda name: Path(name).resolve(), default="fuzz-reports")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--most-differences", type=int, default=10)
    parser.add_argument("--least-split", type=float, default=3, help="per cent of the launches")
    parser.add_argument("--pass-on", help="further options for cleave_fuzz, in one word")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Campaign(read_options()).run())
