"""The measuring programs that belong to this suite, run natively or with settings of Cleave."""

import json
import os
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

from results import Unmeasured

FOLDER = pathlib.Path(os.environ.get("CLEAVE_BENCH", pathlib.Path(__file__).absolute().parent.parent))


def place(name):
    if not (FOLDER / name).exists():
        raise Unmeasured(f"{FOLDER / name} is missing: build Cleave with -DCLEAVE_BENCH=ON")
    return (FOLDER / name).absolute()


def library():
    named = os.environ.get("CLEAVE_BENCH_LIBRARY")
    return pathlib.Path(named) if named else place("../lib/cleave/libOpenCL.so.1")


def vendor_library():
    """Next to the drop-in, as distributions put it, or in the folder above."""
    beside = library().parent / "libcleave-icd.so"
    return beside if beside.exists() else library().parent.parent / "libcleave-icd.so"


def environment(settings):
    """The environment with these settings alone, and no statistics of other runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEAVE_")}
    return kept | {"CLEAVE_CONFIG": os.devnull} | settings


WAYS = ("preload", "vendor")


@dataclass
class LoadMethod:
    """How programs are put under Cleave: options and settings for cleave_gpu, which uses the driver itself as well, and
    settings for any other program. `keeps` holds the folders that are named there."""

    options: list
    beside: dict
    instead: dict
    keeps: tuple = ()


def load_method(way):
    if way == "preload":
        return LoadMethod(["--library", library()], {}, {"LD_PRELOAD": str(library())})
    drivers = os.environ.get("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
    folder = tempfile.TemporaryDirectory(prefix="cleave-bench-")
    for icd in pathlib.Path(drivers).glob("*.icd"):
        (pathlib.Path(folder.name) / icd.name).write_bytes(icd.read_bytes())
    (pathlib.Path(folder.name) / "cleave.icd").write_text(f"{vendor_library()}\n")
    wrapped = {"CLEAVE_ICD_WRAP": drivers}
    return LoadMethod(["--vendor"], {"OCL_ICD_VENDORS": folder.name} | wrapped,
                    {"OCL_ICD_VENDORS": str(vendor_library())} | wrapped, (folder,))


def target(given):
    """For cleave_gpu: Cleave, whose place differs once it is installed, and the device; the first GPU, else the first
    device, where no platform is named."""
    return ["--library", library(), *(["--platform", given.platform] if given.platform else [])]


def start(name, *arguments, settings=None, cores=None, enter=None, **options):
    """Does not wait for it. Before its exec the process confines itself: to these cores, or by `enter`."""
    if cores:
        enter = lambda: os.sched_setaffinity(0, cores)  # noqa: E731
    return subprocess.Popen([place(name), *map(str, arguments)], env=environment(settings or {}), text=True,
                            stdout=subprocess.PIPE, preexec_fn=enter, **options)


def finish(process, limit):
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired as late:
        process.kill()
        process.communicate()
        raise Unmeasured(f"{process.args[0].name} has not ended within {limit} s") from late
    return process.returncode, output


def run(name, *arguments, limit=300, **options):
    """The program's output; its exit status tells whether its results are correct."""
    return finish(start(name, *arguments, **options), limit)


def measure_all(*arguments, limit=300, **options):
    """The lines of JSON of cleave_gpu, and whether the results were correct."""
    status, output = run("cleave_gpu", *arguments, limit=limit, **options)
    if status not in (0, 1) or not output.strip():
        raise Unmeasured(f"cleave_gpu {' '.join(map(str, arguments))}: exit status {status}")
    return [json.loads(line) for line in output.splitlines()], status == 0


def measure(*arguments, **options):
    """The same for a single line."""
    lines, right = measure_all(*arguments, **options)
    return lines[0], right
