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
import tempfile
import time


def environment(build, **settings):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CLEAVE_", "OPENCL_LAYERS"))}
    return clean | {"CLEAVE_CONFIG": "/dev/null"} | settings


def micro(build, names, expected, kernel="plain", config="", **settings):
    """Runs the benchmarks of these names; returns {name: (native ns, cleave ns, allocations in all launches)}.

    All launches must have been as `expected`: whole for that reason, or split into so many slices.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "cleave.toml").write_text(config)
        files = {"CLEAVE_CONFIG": str(folder / "cleave.toml"), "CLEAVE_STATS": str(folder / "stats")}
        figures = run_micro(build, names, kernel, files | settings)
        counted = json.loads((folder / "stats").read_text())["kernels"][0]
    as_asked = counted["whole"][expected] if isinstance(expected, str) else counted["slices"] / expected
    if as_asked != counted["launches"]:
        raise RuntimeError(f"not all launches were {expected}: {counted}")
    return figures


def run_micro(build, names, kernel, settings):
    driver = build / "tests" / "libcleave-sim.so"
    command = [build / "bench" / "cleave_micro", driver, build / "lib" / "cleave" / "libOpenCL.so.1", kernel,
               f"--benchmark_filter=^({'|'.join(names)})/", "--benchmark_format=json", "--benchmark_min_time=0.05",
               "--benchmark_repetitions=11", "--benchmark_enable_random_interleaving=true"]
    done = subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,
                          env=environment(build, CLEAVE_SIM="zero", CLEAVE_NEXT=str(driver), **settings))
    runs = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run.get("error_occurred"):
            raise RuntimeError(run["error_message"])
        if run["run_type"] == "iteration":
            runs.setdefault(run["run_name"], []).append((run["cpu_time"], run.get("allocations", 0)))
    median = {name: statistics.median(time for time, _ in values) for name, values in runs.items()}
    return {name: (median[f"{name}/native"], median[f"{name}/cleave"],
                   sum(count for _, count in runs[f"{name}/cleave"])) for name in names}


def in_turn(variants, measure, repeats):
    """Medians of `measure` for each of the variants, which are measured in turn."""
    taken = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            taken[name].append(measure(variant))
    return {name: statistics.median(values) for name, values in taken.items()}


def figure(build, key, variables):
    done = subprocess.run([str(build / "bench" / "platforms")], check=True, text=True, stdout=subprocess.PIPE,
                          env=environment(build, **variables))
    return float(re.search(rf"{key}=([0-9.]+)", done.stdout)[1])


def start_time(variables):
    begin = time.perf_counter()
    subprocess.run(["/bin/true"], check=True, env=environment(None, **variables))
    return (time.perf_counter() - begin) * 1e3


def rows(build):
    """Yields (what, native, with Cleave, the figure in question, its target or None, unit)."""
    whole = micro(build, ["forwarded", "gated", "launch"], "alone", CLEAVE_VMS="1")
    for what, target in (("forwarded", 5), ("gated", None)):
        native, cleave, _ = whole[what]
        label = {"forwarded": "a forwarded call", "gated": "a call that passes a queue's gate"}[what]
        yield label, native, cleave, cleave - native, target, "ns"
    native, cleave, allocated = whole["launch"]
    yield "a launch that stays whole: alone", native, cleave, cleave - native, 150, "ns"
    yield "  its allocations", 0, allocated, allocated, 0, ""
    small = micro(build, ["launch"], "small", config='[devices."*"]\ncores = 1000000\n', CLEAVE_VMS="5")["launch"]
    yield "a launch that stays whole: small", small[0], small[1], small[1] - small[0], 150, "ns"
    seer = micro(build, ["launch"], "kernel", kernel="seer", CLEAVE_VMS="5")["launch"]
    yield "a launch that stays whole: kernel", seer[0], seer[1], seer[1] - seer[0], 150, "ns"
    for slices in (2, 20, 100):
        cut = micro(build, ["launch", "launch_event", "launch_event_kept"], slices,
                    CLEAVE_SPLIT=f"fixed:{slices}", CLEAVE_MIN_ITEMS="0")
        native, cleave, _ = cut["launch"]
        yield (f"a launch in {slices} slices, beyond {slices} enqueues", native, cleave, cleave - slices * native,
               1000, "ns")
        # The program releases its one event; that Cleave releases those between the slices is Cleave's cost.
        once, cleave, _ = cut["launch_event"]
        native = cut["launch_event_kept"][0]
        yield ("  the same with an event", native, cleave, cleave - once - (slices - 1) * native, 1000, "ns")
    variants = {"native": {}, "cleave": {"LD_PRELOAD": str(build / "lib" / "cleave" / "libOpenCL.so.1")}}
    memory = in_turn(variants, lambda variables: figure(build, "rss", variables), 11)
    yield ("resident memory of a program that prints its platforms", memory["native"], memory["cleave"],
           memory["cleave"] - memory["native"], 2048, "KiB")
    first = in_turn(variants, lambda variables: figure(build, "first_ms", variables), 41)
    yield ("the first call of a program, PoCL loaded within it", first["native"], first["cleave"],
           first["cleave"] - first["native"], None, "ms")
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
