"""A search for α: the paper's preliminary experiment, for any program.

The program is run unsplit, and with α doubled until its loss exceeds the budget, for each requested number of VMs, alternately.
The largest α within the budget is the one that serves the neighbours best at that price.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import programs
from results import Results, Row, Unmeasured, machine, median, ratio

ALPHAS = (1, 2, 4, 8, 16, 32, 64, 128)


def run_once(command, settings):
    """The seconds of the program and its exit status. What it prints goes to standard error."""
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, env=programs.environment(settings), stdout=sys.stderr, check=False)
    except OSError as why:
        raise Unmeasured(f"{command[0]} cannot be run: {why}") from why
    return time.perf_counter() - begin, done.returncode


class Bench:
    def __init__(self, given):
        self.command = given.program
        self.budget = given.budget
        self.repeats = 2 if given.quick else given.repeats
        self.preload = {"LD_PRELOAD": str(programs.library())}
        _, self.status = run_once(self.command, {})  # also what warms up the caches
        if self.status != 0:
            raise Unmeasured(f"{self.command[0]} ended with status {self.status} without Cleave")
        self.results = Results("tune", machine(" ".join(self.command), programs.library()))

    def settings(self, vms, alpha):
        return self.preload | {"CLEAVE_VMS": str(vms), "CLEAVE_SPLIT": "alpha", "CLEAVE_ALPHA": str(alpha)}

    def measure(self, vms, alpha):
        """Seconds unsplit and split, alternately, and the slices of a launch; None where none was split."""
        whole, split = [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(self.repeats):
                stats = pathlib.Path(folder) / "stats"
                for seconds, settings in ((whole, {}), (split, self.settings(vms, alpha) | {"CLEAVE_STATS": str(stats)})):
                    took, status = run_once(self.command, settings)
                    seconds.append(took)
                    self.results.sound &= status == self.status
            slices = slices_of(stats)
        return whole, split, slices

    def search(self, vms):
        """The largest α within the budget; None where even the smallest exceeds it, or nothing is split."""
        best, before = None, None
        for alpha in ALPHAS:
            whole, split, slices = self.measure(vms, alpha)
            if slices is None:
                raise Unmeasured("no launch of the program was split: `cleave run --stats --vms 5 -- PROGRAM` says why")
            loss, spread = ratio(split, whole)
            self.results.add(Row("tune", f"{vms} VMs, α {alpha}", loss, baseline=1e3 * median(whole), spread=spread,
                                 asked=1 + self.budget, slices=slices, note=f"{slices} slices a launch"))
            if loss > 1 + self.budget or slices == before:
                break
            best, before = alpha, slices
        return best


def slices_of(stats):
    """Of a launch that was split, on the average."""
    try:
        counted = json.loads(stats.read_text())["kernels"]
    except (OSError, ValueError, KeyError):
        return None
    split = sum(kernel["split"] for kernel in counted)
    return round(sum(kernel["slices"] for kernel in counted) / split) if split else None


def table(best):
    """α by the number of VMs, as CLEAVE_ALPHA takes it: a row only where α changes."""
    rows, before = [], None
    for vms, alpha in sorted(best.items()):
        if alpha != before:
            rows.append(f"{vms}:{alpha}")
        before = alpha
    return ",".join(rows)


def toml(command, budget, best):
    """The settings; splitting is off if for one of the numbers of VMs even the smallest α costs too much."""
    lines = [f"# {' '.join(command)}: the largest α whose loss was at most {100 * budget:g} %, for each number of VMs:",
             *(f"#   {vms} VMs: {alpha or 'none: whole is better'}" for vms, alpha in best.items()), "[split]"]
    if None in best.values():
        return "\n".join([*lines, 'policy = "off"', ""])
    return "\n".join([*lines, 'policy = "alpha"', f'alpha = "{table(best)}"', ""])


def tune(given):
    """Searches; gives the results and the TOML."""
    bench = Bench(given)
    best = {vms: bench.search(vms) for vms in given.vms}
    return bench.results, toml(given.program, given.budget, best)
