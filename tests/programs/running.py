"""Runs a program natively and by each way, several times in a row with the same home folder, and compares."""

import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field

import comparison
import launches
import ways
from places import INPUTS, DEBIAN_PYTHON

NATIVE_RUNS = 2  # a program whose native runs differ cannot be compared


@dataclass
class Run:
    number: int
    seconds: float
    results: comparison.Results
    difference: str = ""  # from the native run, in words
    errors: str = ""  # the end of standard error, if the run differs
    kernels: dict = field(default_factory=dict)
    counted: int = 0  # launches in the statistics


class Series:
    """The runs of one program by one way (or natively), from empty caches on."""

    def __init__(self, program, way, cleave, cache, options):
        self.program, self.way, self.cleave, self.cache, self.options = program, way, cleave, cache, options
        self.driver = program.driver or options.driver
        self.folder = cache.runs / re.sub(r"\W+", "-", program.name) / (way or "native")
        self.home = self.folder / "home"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.environment = ways.clean_environment(self.home, cache, self.driver)
        for command in program.prepare:
            subprocess.run([self._filled(word) for word in command], cwd=self.home, env=self.environment, check=True)

    def _filled(self, word, loader=""):
        return word.format(python=self.cache.python, debian_python=DEBIAN_PYTHON, inputs=INPUTS, sources=self.cache.sources,
                           home=self.home, loader=loader)

    def run(self, number, native=None):
        """Compares with the results `native`, if there are any."""
        folder = self.folder / f"run-{number}"
        records = folder / "records"
        work = folder / "work"
        records.mkdir(parents=True)
        work.mkdir()
        own = ways.settings(self.home, records, self.options.split)
        with ways.loaded(self.way, self.cleave, self.driver, self.environment, own) as way:
            environment = self.environment | way.variables
            environment |= {name: self._filled(value, way.loader) for name, value in self.program.variables.items()}
            command = [*way.prefix, *(self._filled(word) for word in self.program.command)]
            start = time.monotonic()
            status, output, errors = execute(command, work, environment, self.options.timeout)
            seconds = time.monotonic() - start
        run = Run(number, seconds, comparison.results(self.program, status, output, work))
        if self.way:
            run.kernels, run.counted = launches.read_records(records, self.options.cores[self.driver])
        if native is not None:
            run.difference = comparison.difference(native, run.results)
        if run.difference or status != 0:
            run.errors = errors[-2000:]
        return run


def execute(command, folder, environment, timeout):
    """The exit status (a time-out's is that of `timeout`), standard output and standard error."""
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired as hung:
        return 124, "", f"no end after {timeout} s\n{(hung.stderr or b'').decode(errors='replace')}"
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def device_cores(cleave, driver, cache):
    """The cores of the driver's first device, as `cleave doctor` counts them."""
    environment = ways.clean_environment(cache.folder, cache, driver) | {"CLEAVE_CONFIG": "/dev/null"}
    doctor = subprocess.run([str(cleave.command), "doctor"], env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"estimated at (\d+) cores", doctor.stdout)
    if not found:
        raise RuntimeError(f"cleave doctor names no cores of {driver}:\n{doctor.stdout}")
    return int(found[1])
