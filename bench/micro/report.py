"""Measures what calls, launches, slices, memory and loading cost, and prints one table beside the native figures.

usage: report.py BUILD_FOLDER [--json FILE]

Everything is measured natively and through Cleave in turn within one run, and medians are compared. A figure over its
target is marked in the table; it is no test.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time


def environment(build, **settings):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CLEAVE_", "OPENCL_LAYERS"))}
    return clean | {"CLEAVE_CONFIG": "/dev/null"} | settings


def micro(build, names, kernel="plain", **settings):
    """Runs the benchmarks of these names; returns {name: (native ns, cleave ns, allocations a launch)}."""
    driver = build / "tests" / "libcleave-sim.so"
    command = [build / "bench" / "cleave_micro", driver, build / "lib" / "cleave" / "libOpenCL.so.1", kernel,
               f"--benchmark_filter=^({'|'.join(names)})/", "--benchmark_format=json", "--benchmark_min_time=0.05",
               "--benchmark_repetitions=11", "--benchmark_enable_random_interleaving=true"]
    done = subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,
                          env=environment(build, CLEAVE_SIM="zero", CLEAVE_NEXT=str(driver), **settings))
    runs = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            runs.setdefault(run["run_name"], []).append((run["cpu_time"], run.get("allocations", 0)))
    median = {name: statistics.median(time for time, _ in values) for name, values in runs.items()}
    return {name: (median[f"{name}/native"], median[f"{name}/cleave"], runs[f"{name}/cleave"][0][1])
            for name in names}


def in_turn(variants, measure, repeats):
    """Medians of `measure` for each of the variants, which are measured in turn."""
    taken = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            taken[name].append(measure(variant))
    return {name: statistics.median(values) for name, values in taken.items()}


def resident(build, variables):
    done = subprocess.run([str(build / "bench" / "platforms")], check=True, text=True, stdout=subprocess.PIPE,
                          env=environment(build, **variables))
    return int(re.search(r"rss=(\d+)", done.stdout)[1])


def start_time(variables):
    begin = time.perf_counter()
    subprocess.run(["/bin/true"], check=True, env=environment(None, **variables))
    return (time.perf_counter() - begin) * 1e3


def rows(build):
    """Yields (what, native, with Cleave, the figure in question, its target or None, unit)."""
    whole = micro(build, ["forwarded", "gated", "launch"], CLEAVE_VMS="1")
    for what, target in (("forwarded", 5), ("gated", None)):
        native, cleave, _ = whole[what]
        label = {"forwarded": "a forwarded call", "gated": "a call that passes a queue's gate"}[what]
        yield label, native, cleave, cleave - native, target, "ns"
    native, cleave, allocated = whole["launch"]
    yield "a launch that stays whole: alone", native, cleave, cleave - native, 150, "ns"
    yield "  its allocations", 0, allocated, allocated, 0, ""
    small = micro(build, ["launch"], CLEAVE_VMS="5", CLEAVE_MIN_ITEMS="2000000")["launch"]
    yield "a launch that stays whole: small", small[0], small[1], small[1] - small[0], 150, "ns"
    seer = micro(build, ["launch"], kernel="seer", CLEAVE_VMS="5")["launch"]
    yield "a launch that stays whole: kernel", seer[0], seer[1], seer[1] - seer[0], 150, "ns"
    for slices in (2, 20, 100):
        cut = micro(build, ["launch", "launch_event"], CLEAVE_SPLIT=f"fixed:{slices}", CLEAVE_MIN_ITEMS="0")
        for name, label in (("launch", ""), ("launch_event", ", with an event")):
            native, cleave, _ = cut[name]
            yield (f"a launch in {slices} slices{label}, beyond {slices} enqueues", native, cleave,
                   cleave - slices * native, 1000, "ns")
    variants = {"native": {}, "cleave": {"LD_PRELOAD": str(build / "lib" / "cleave" / "libOpenCL.so.1")}}
    memory = in_turn(variants, lambda variables: resident(build, variables), 11)
    yield ("resident memory of a program that prints its platforms", memory["native"], memory["cleave"],
           memory["cleave"] - memory["native"], 2048, "KiB")
    loading = in_turn(variants, start_time, 101)
    yield ("loading, a program that does nothing", loading["native"], loading["cleave"],
           loading["cleave"] - loading["native"], 3, "ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    table = list(rows(arguments.build.resolve()))
    print(f"{'':58}{'native':>10}{'Cleave':>10}{'added':>10}{'asked':>10}")
    for what, native, cleave, figure, target, unit in table:
        asked = "" if target is None else f"<= {target}"
        mark = "  over" if target is not None and figure > target else ""
        print(f"{what:58}{native:>10.1f}{cleave:>10.1f}{figure:>10.1f}{asked:>10} {unit}{mark}")
    if arguments.json:
        keys = ("what", "native", "cleave", "figure", "target", "unit")
        arguments.json.write_text(json.dumps([dict(zip(keys, row)) for row in table], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
