"""Runs real programs natively and under Cleave: are the results identical, and how many launches are split?

    python3 tests/programs --install --cleave build/release/bin/cleave
"""

import argparse
import json
import sys
from pathlib import Path

import comparison
import installing
import report
from places import DRIVERS, Cache, Cleave
from running import NATIVE_RUNS, Series, device_cores
from table import PROGRAMS
from ways import WAYS


def parse_options():
    parser = argparse.ArgumentParser(prog="python3 tests/programs", description=__doc__.splitlines()[0],
                                     epilog="Exit status: 0 if every run gave the native results and split the least share; 1 "
                                            "if not; 2 if the command line is wrong or something is not installed.")
    names = [program.name for program in PROGRAMS]
    parser.add_argument("--cleave", type=Path, required=True, help="the `cleave` command; its libraries lie beside it")
    parser.add_argument("--install", action="store_true", help="first install what is missing, from Debian and PyPI")
    parser.add_argument("--programs", nargs="+", metavar="NAME", default=names, choices=names, help="these only: %(choices)s")
    parser.add_argument("--ways", nargs="+", metavar="WAY", default=["drop-in"], choices=WAYS, help="%(choices)s; default: drop-in")
    parser.add_argument("--runs", type=int, default=10, help="how many runs in a row; the first and the last are reported (10)")
    parser.add_argument("--driver", default="pocl", help=f"{', '.join(DRIVERS)}, or the path of an .icd file or library (pocl)")
    parser.add_argument("--split", default="fixed:7", help="CLEAVE_SPLIT (fixed:7)")
    parser.add_argument("--least", type=float, default=95, help="percent of the launches that could be split (95)")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--cache", type=Path, help="the programs' folder (~/.cache/cleave-programs)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one run (600)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs: at least 1")
    return options


def measure(program, options, cleave, cache):
    """The JSON of one program by all ways; prints its lines."""
    native = Series(program, None, cleave, cache, options)
    first = native.run(1)
    expected = first.results
    measured = {"name": program.name, "driver": native.driver, "native": {"status": expected.status, "seconds": first.seconds},
                "ways": [], "reached": False}
    if not comparison.is_complete(expected):
        print(f"{program.name:<18}native   fails: exit status {expected.status}\n{first.errors}", flush=True)
        return measured
    for number in range(2, NATIVE_RUNS + 1):
        if again := native.run(number, expected).difference:
            print(f"{program.name:<18}native   two native runs differ: {again}", flush=True)
            return measured
    measured["ways"] = [measure_way(program, way, options, cleave, cache, expected) for way in options.ways]
    measured["reached"] = all(way["reached"] for way in measured["ways"])
    return measured


def measure_way(program, way, options, cleave, cache, expected):
    series = Series(program, way, cleave, cache, options)
    found = []
    for number in range(1, options.runs + 1):
        run = series.run(number, expected)
        found.append(report.figures(program, run))
        reported = number in (1, options.runs)
        if reported or run.difference:
            print(report.line(program.name, way, found[-1]), flush=True)
        if run.difference:
            print(run.errors, flush=True)
        if reported:
            print("".join(f"{text}\n" for text in report.kernel_lines(found[-1])), end="", flush=True)
    reached = all(one["identical"] for one in found) and all(report.has_reached(one, options.least)
                                                             for one in (found[0], found[-1]))
    return {"way": way, "runs": found, "reached": reached}


def main():
    options = parse_options()
    cleave, cache = Cleave(options.cleave.resolve()), Cache(options.cache)
    programs = [program for program in PROGRAMS if program.name in options.programs]
    if options.install:
        installing.install(programs, options.driver, cache)
    if missing := installing.missing(programs, options.driver, cache):
        print(f"missing: {', '.join(missing)}: add --install", file=sys.stderr)
        return 2
    drivers = {program.driver or options.driver for program in programs}
    options.cores = {driver: device_cores(cleave, driver, cache) for driver in drivers}
    print(report.HEADER, flush=True)
    measured = [measure(program, options, cleave, cache) for program in programs]
    if options.json:
        document = {"version": 1, "split": options.split, "least": options.least, "cores": options.cores, "programs": measured}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    failed = [program["name"] for program in measured if not program["reached"]]
    print(f"{len(measured) - len(failed)} of {len(measured)} programs reached {options.least:g} % with identical results"
          + (f"; not: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
