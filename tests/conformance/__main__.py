"""Compares Cleave with native runs on this machine's own driver: the doctor, the differential fuzzer, and the conformance tests.

    python3 tests/conformance --cleave build/release/bin/cleave --platform NVIDIA --cts FOLDER
"""

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import cts

HERE = Path(__file__).resolve().parent
NVIDIA = "libnvidia-opencl.so.1"
# What the loader in CUDA's folder knows instead of OCL_ICD_VENDORS.
NAMED_DRIVERS = "OCL_ICD_FILENAMES"
WAYS = ("drop-in", "layer", "vendor")
# What a platform's name contains, and the fuzzer's row for that driver's limits (tests/fuzz/runs.py).
FUZZ_DRIVERS = {"NVIDIA": "nvidia", "Portable Computing Language": "pocl", "Oclgrind": "oclgrind", "Intel": "intel", "rusticl": "rusticl"}


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_options(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 tests/conformance", description=__doc__.splitlines()[0],
                                     epilog="Exit status: 0 if there was no difference, 1 if there was one, 2 if something is missing.")
    parser.add_argument("--cleave", type=lambda name: Path(name).resolve(), required=True, help="the `cleave` command of a build with tests")
    parser.add_argument("--platform", default="NVIDIA", help="part of the platform's name (NVIDIA)")
    parser.add_argument("--icd", help="the driver, as OCL_ICD_VENDORS takes it (what is registered)")
    parser.add_argument("--fuzz-minutes", type=float, default=5, help="how long the fuzzer runs (5); 0: not at all")
    parser.add_argument("--fuzz-options", default="", help="further options for tests/fuzz/fuzz.py, in one word")
    parser.add_argument("--cts", type=lambda name: Path(name).resolve(), help="a folder with the built conformance tests")
    parser.add_argument("--suites", nargs="+", default=cts.SUITES, help="these only (those of docs/conformance.md)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["drop-in"], help="%(choices)s; default: drop-in")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one sub-test (120)")
    parser.add_argument("--jobs", type=int, default=1, help="how many sub-tests run at a time (1)")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], dest="settings",
                        help="a further setting of Cleave for the conformance tests, such as CLEAVE_TURNS=on; may be repeated")
    options = parser.parse_args(arguments)
    if wrong := [setting for setting in options.settings if not setting.startswith("CLEAVE_") or "=" not in setting]:
        parser.error(f"--set: {wrong[0]} is not CLEAVE_...=VALUE")
    if options.cts is not None and not options.cts.is_dir():
        parser.error(f"--cts: {options.cts} is no folder")
    return options


def native_environment(options):
    """Without Cleave, and with the driver."""
    removed = ("CLEAVE_", "LD_PRELOAD", "OPENCL_LAYERS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    if options.icd:
        environment["OCL_ICD_VENDORS"] = options.icd
    elif "OCL_ICD_VENDORS" not in environment and "nvidia" in options.platform.lower() and not is_registered():
        environment["OCL_ICD_VENDORS"] = NVIDIA
        environment.setdefault(NAMED_DRIVERS, NVIDIA)
    return environment


def is_registered():
    """Whether an .icd file names NVIDIA's driver, or there is none to be named."""
    for file in Path("/etc/OpenCL/vendors").glob("*.icd"):
        if "nvidia" in file.read_text(errors="replace"):
            return True
    try:
        ctypes.CDLL(NVIDIA)
    except OSError:
        return True
    return False


def find_platform(options, environment):
    """The platform's place among those of the loader, as the conformance tests count them, and its name."""
    listed = subprocess.run([sys.executable, HERE / "platforms.py"], env=environment, capture_output=True, text=True, timeout=120, check=False)
    names = listed.stdout.splitlines()
    for index, name in enumerate(names):
        if options.platform.lower() in name.lower():
            return index, name
    say(f"no platform has {options.platform!r} in its name: {', '.join(names) or 'there is none'} {listed.stderr.strip()}")
    sys.exit(2)


def under_cleave(way, native, libraries, settings=()):
    environment = native | cts.SETTINGS | dict(setting.split("=", 1) for setting in settings)
    if way == "drop-in":
        return environment | {"LD_PRELOAD": str(libraries / "cleave/libOpenCL.so.1")}
    if way == "layer":
        return environment | {"OPENCL_LAYERS": str(libraries / "libcleave-layer.so")}
    # The drivers' libraries by their names, or the folder or file that the loader is given.
    wrapped = native.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
    vendor = str(libraries / "libcleave-icd.so")
    named = {NAMED_DRIVERS: vendor} if NAMED_DRIVERS in native else {}
    return environment | named | {"OCL_ICD_VENDORS": vendor, "CLEAVE_ICD_WRAP": wrapped}


def doctor(options, environment):
    say("== cleave doctor")
    done = subprocess.run([options.cleave, "doctor", "--timeout", "120"], env=environment, check=False)
    if done.returncode != 0:
        say("the doctor has found a problem: see above")
    return done.returncode == 0


def fuzz_driver(name):
    return next((driver for part, driver in FUZZ_DRIVERS.items() if part in name), "system")


def fuzz(options, environment):
    """Seed after seed until the time is over, or one has failed. A round takes some seconds, or a minute or two where a driver compiles
    slowly."""
    build = options.cleave.parent.parent
    program = build / "tests/fuzz/cleave_fuzz"
    if not program.exists():
        say(f"{program} is missing: build with -DCLEAVE_TESTS=ON")
        sys.exit(2)
    _, name = find_platform(options, environment)
    command = [sys.executable, HERE.parent / "fuzz/fuzz.py", "--program", program, "--library", build / "lib/cleave/libOpenCL.so.1",
               "--driver", fuzz_driver(name), "--platform", name, "--cases", "400", "--programs", "2", "--least-split", "0",
               "--ways", ",".join({"drop-in": "preload"}.get(way, way) for way in options.ways), *options.fuzz_options.split()]
    if "OCL_ICD_VENDORS" in environment:
        command += ["--icd", environment["OCL_ICD_VENDORS"]]
    end = time.monotonic() + 60 * options.fuzz_minutes
    seed, sound = 0, True
    while sound and time.monotonic() < end:
        seed += 1
        say(f"== fuzzer, seed {seed}, {max(0, end - time.monotonic()):.0f} s left")
        sound = subprocess.run([*command, "--seed", str(seed)], env=environment, check=False).returncode == 0
    say(f"fuzzer: {seed} seeds, {'no difference' if sound else 'the last one FAILED: see above'}")
    return sound


def conformance(options, environment):
    suites, missing = cts.find_suites(options.cts, options.suites)
    if missing:
        say(f"not below {options.cts}: {', '.join('test_' + name for name in missing)}")
    if not suites:
        sys.exit(2)
    native = environment | {"CL_PLATFORM_INDEX": str(find_platform(options, environment)[0]), "CL_DEVICE_TYPE": "all"}
    ways = {way: under_cleave(way, native, options.cleave.parent.parent / "lib", options.settings) for way in options.ways}
    if "vendor" in ways:  # it has the platform alone, or in the same order
        ways["vendor"]["CL_PLATFORM_INDEX"] = str(find_platform(options, ways["vendor"])[0])
    print(cts.HEAD)
    different, launches = 0, Counter()
    for suite in suites:
        say(f"== {suite.name}")
        for way, figures in cts.compare(suite, native, ways, options.limit, say, options.jobs).items():
            print(cts.row(suite.name, way, figures), flush=True)
            different += len(figures.different)
            launches.update(figures.statistics)
    say(f"conformance: {different} sub-tests differ; {launches['split']} of {launches['launches']} launches were split")
    return different == 0 and launches["split"] > 0


def main():
    options = parse_options()
    if not options.cleave.exists():
        say(f"{options.cleave} is missing: build Cleave first")
        return 2
    environment = native_environment(options)
    find_platform(options, environment)
    sound = doctor(options, environment)
    if options.fuzz_minutes > 0:
        sound &= fuzz(options, environment)
    if options.cts:
        sound &= conformance(options, environment)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
