"""Runs a program with and without Cleave and compares.

Every test script here takes the same options, whose values CMake knows. A run happens in an
environment that holds nothing of Cleave, of a loader or of the dynamic linker but what the test asks for.
"""

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path

_parser = argparse.ArgumentParser()
_parser.add_argument("--cleave", type=Path, required=True, help="the `cleave` command; its libraries lie beside it")
_parser.add_argument("--programs", type=Path, help="the folder of this group's own programs")
_parser.add_argument("--loader", type=Path, help="the system's libOpenCL.so.1")
_parser.add_argument("--driver", choices=("pocl", "oclgrind"), default="pocl")
_parser.add_argument("--caught-by", nargs="+", default=[], help="ways that promise to catch the program")
_parser.add_argument("--launches", type=int, help="how many launches the program makes")
_parser.add_argument("--met", type=int, default=0, help="how many of them may stay whole, having met other threads")
_parser.add_argument("--program", nargs="+", help="the program to compare, and its arguments")
_parser.add_argument("--settings", nargs="+", default=[], help="NAME=VALUE, for every run")
_parser.add_argument("--monitord", type=Path, help="the daemon")
_parser.add_argument("--guest", type=Path, help="a folder with what guests run")
_parser.add_argument("--simulated", type=Path, help="the simulated driver's library")
_parser.add_argument("--other-loaders", nargs="*", default=[], help="loaders to test besides the system's")
_parser.add_argument("--nm", help="the command")
_parser.add_argument("--readelf", help="the command")
_parser.add_argument("--functions", type=Path, help="src/opencl/functions.def")
OPTIONS, _rest = _parser.parse_known_args()

CLEAVE = OPTIONS.cleave.resolve()
LIBRARIES = CLEAVE.parent.parent / "lib"
FOLDER = LIBRARIES / "cleave"
DROP_IN = FOLDER / "libOpenCL.so.1"
LAYER = LIBRARIES / "libcleave-layer.so"

# Each driver with the Debian package that holds it.
DRIVERS = {
    "pocl": ("/etc/OpenCL/vendors/pocl.icd", "pocl-opencl-icd"),
    "oclgrind": ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", "oclgrind"),
}

# How Cleave gets in: the command in front of the program, and the environment.
WAYS = {
    "native": ([], {}),
    "preload": ([], {"LD_PRELOAD": str(DROP_IN)}),
    "library_path": ([], {"LD_LIBRARY_PATH": str(FOLDER)}),
    "layer": ([], {"OPENCL_LAYERS": str(LAYER)}),
    "preload_and_layer": ([], {"LD_PRELOAD": str(DROP_IN), "OPENCL_LAYERS": str(LAYER)}),
    "run": ([str(CLEAVE), "run"], {}),
}


def needed(path, package):
    """The path of something that a package brings. A test that lacks it fails and names the package."""
    found = shutil.which(path)
    if found is None and Path(path).exists():
        found = path
    if found is None:
        raise AssertionError(f"{path} is missing: install the package {package}")
    return str(found)


@dataclass
class Run:
    """How a program ended. `stats` has what each of its processes wrote for CLEAVE_STATS."""

    command: list
    status: int
    out: str
    err: str
    stats: list = field(default_factory=list)

    def total(self, name):
        return sum(process[name] for process in self.stats)

    def whole(self, reason):
        return sum(process["whole"][reason] for process in self.stats)

    def __str__(self):
        return (
            f"{' '.join(map(str, self.command))}\nexit status {self.status}\n"
            f"--- standard output\n{self.out}--- standard error\n{self.err}--- statistics\n{json.dumps(self.stats)}"
        )


class ComparedTest(unittest.TestCase):
    longMessage = True
    maxDiff = None
    patience = 240  # seconds for one run

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cleave-e2e-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "no-settings.toml").touch()

    def setUp(self):
        self._runs = 0

    def environment(self, **changes):
        """Ours without what Cleave, a loader, a driver or the dynamic linker would notice, and with `changes`."""
        noticed = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "POCL_", "OCLGRIND_", "PYOPENCL_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(noticed)}
        environment["OCL_ICD_VENDORS"] = needed(*DRIVERS[OPTIONS.driver])
        # Compiled kernels are kept for this script's other runs, and never meet those of another script.
        environment["POCL_CACHE_DIR"] = str(self.folder / "kernels")
        # With more threads PoCL 3 is not up to slices on many queues (docs/conformance.md), and launches stay whole.
        environment["POCL_MAX_PTHREAD_COUNT"] = "1"
        environment["PYOPENCL_NO_CACHE"] = "1"
        environment["CLEAVE_CONFIG"] = str(self.folder / "no-settings.toml")
        environment.update(setting.split("=", 1) for setting in OPTIONS.settings)
        environment.update({name: str(value) for name, value in changes.items()})
        return environment

    def run_program(self, way, *command, options=(), **settings):
        """Runs `command` in one of the WAYS, with `settings` in the environment, `options` those of `cleave run`."""
        before, variables = WAYS[way]
        variables = dict(variables)
        for name in set(variables) & set(settings):  # lists: the test's own entries come behind Cleave's
            variables[name] += ":" + str(settings.pop(name))
        self._runs += 1
        stats = self.folder / f"{self.id()}-{self._runs}-stats"
        stats.mkdir()
        environment = self.environment(CLEAVE_STATS=stats / "%p.json", **variables, **settings)
        full = [*before, *options, *(["--"] if before else []), *map(str, command)]
        full = [str(word) for word in full]
        try:
            done = subprocess.run(
                full, env=environment, capture_output=True, text=True, timeout=self.patience, check=False
            )
        except subprocess.TimeoutExpired as hung:
            raise AssertionError(f"no end after {self.patience} s, {way}: {full}\n{hung.stderr!r}") from hung
        written = [json.loads(file.read_text()) for file in sorted(stats.iterdir())]
        return Run(full, done.returncode, done.stdout, done.stderr, written)

    def native(self, *command, **settings):
        """The run that all others are compared with. It must be one that went well."""
        run = self.run_program("native", *command, **settings)
        self.assertEqual(run.status, 0, f"the native run failed\n{run}")
        self.assertNotEqual(run.out, "", f"the native run printed nothing\n{run}")
        self.assertEqual(run.stats, [], f"Cleave was in the native run\n{run}")
        return run

    def assertSame(self, native, run):
        """The program noticed nothing: same exit status, same output."""
        self.assertEqual(run.status, native.status, f"another exit status than natively\n{run}")
        if run.out != native.out:
            difference = difflib.unified_diff(
                native.out.splitlines(), run.out.splitlines(), "native", "under Cleave", lineterm="", n=1
            )
            self.fail("another output than natively\n" + "\n".join(list(difference)[:60]) + f"\n{run}")

    def assertSplit(self, run, launches=1, slices=None, met=0):
        """All launches were split, each once, and into so many slices altogether (2 or more each, if not given).

        Up to `met` of them may have met another thread's calls at the queue and stayed whole for that.
        """
        self.assertEqual(run.total("launches"), launches, f"launches counted\n{run}")
        whole = min(run.whole("shared"), met)
        self.assertEqual(run.total("split"), launches - whole, f"launches split\n{run}")
        if slices is None:
            self.assertGreaterEqual(run.total("slices"), 2 * (launches - whole), f"slices\n{run}")
        else:
            self.assertEqual(run.total("slices"), slices // launches * (launches - whole), f"slices\n{run}")


def main():
    unittest.main(argv=[sys.argv[0], *_rest])
