"""Runs a program with and without Cleave and compares. Each run's environment holds nothing of Cleave, of a loader or of
the dynamic linker except what the test requests."""

import contextlib
import difflib
import json
import os
import subprocess
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path

from support.emulation import as_client
from support.options import CLEAVE, DROP_IN, FOLDER, LAYER, OPTIONS, VENDOR
from support.processes import clean_environment, cleave, require_installed, run

RUN_TIMEOUT = 240  # seconds

# The distribution's Python packages belong to the distribution's Python.
PYTHON = "/usr/bin/python3"

# Each driver with the Debian package that holds it.
DRIVERS = {
    "pocl": ("/etc/OpenCL/vendors/pocl.icd", "pocl-opencl-icd"),
    "oclgrind": ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", "oclgrind"),
}

# Cleave and servers find their drivers through the vendor library, as on a machine where it is registered. The value is what
# CLEAVE_PLATFORM_NAMES is set to.
VENDOR_BELOW = os.environ.get("CLEAVE_TEST_VENDOR_BELOW")

# How Cleave is loaded: the command in front of the program, and the environment.
LOAD_METHODS = {
    "native": ([], {}),
    "preload": ([], {"LD_PRELOAD": str(DROP_IN)}),
    "library_path": ([], {"LD_LIBRARY_PATH": str(FOLDER)}),
    "layer": ([], {"OPENCL_LAYERS": str(LAYER)}),
    "preload_and_layer": ([], {"LD_PRELOAD": str(DROP_IN), "OPENCL_LAYERS": str(LAYER)}),
    "run": ([str(CLEAVE), "run"], {}),
}


def driver_icd(name=None):
    """What OCL_ICD_VENDORS takes. Skips the test if it is Oclgrind and the distribution has none, as Debian 13."""
    library, package = DRIVERS[name or OPTIONS.driver]
    if package == "oclgrind" and not Path(library).exists():
        raise unittest.SkipTest("Oclgrind is not installed")
    return require_installed(library, package)


def clinfo(*arguments):
    return require_installed("clinfo", "clinfo"), *arguments


def is_pocl(version):
    """Whether the system's PoCL is of a version that begins so."""
    environment = clean_environment(OCL_ICD_VENDORS=driver_icd("pocl"))
    done = subprocess.run(clinfo("--raw", "--prop", "PLATFORM_VERSION"), env=environment, capture_output=True, text=True, check=True)
    return f"PoCL {version}" in done.stdout


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

    def unsplit(self, reason):
        return sum(process["unsplit"][reason] for process in self.stats)

    def __str__(self):
        return (
            f"{' '.join(map(str, self.command))}\nexit status {self.status}\n"
            f"--- standard output\n{self.out}--- standard error\n{self.err}--- statistics\n{json.dumps(self.stats)}"
        )


class ProgramTest(unittest.TestCase):
    longMessage = True
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cleave-e2e-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "no-settings.toml").touch()

    def setUp(self):
        self._runs = 0

    @classmethod
    def environment(cls, **changes):
        """A clean environment with the driver under test, and with `changes`."""
        settings = dict(setting.split("=", 1) for setting in OPTIONS.settings)
        return clean_environment(**({
            "OCL_ICD_VENDORS": driver_icd(),
            # Compiled kernels are shared by this script's runs, and with no other script's.
            "POCL_CACHE_DIR": cls.folder / "kernels",
            # With more threads PoCL 3 cannot run slices on several queues (docs/conformance.md), and launches stay unsplit.
            "POCL_MAX_PTHREAD_COUNT": 1,
            "PYOPENCL_NO_CACHE": 1,
            "CLEAVE_CONFIG": cls.folder / "no-settings.toml",
        } | settings | changes))

    @classmethod
    def with_vendor_below(cls, environment, name=VENDOR_BELOW):
        """The environment with its driver wrapped by the vendor library, which is the loader's only vendor then. Unchanged if
        CLEAVE_TEST_VENDOR_BELOW is not set, or if the test itself has chosen what the loader finds."""
        driver = environment.get("OCL_ICD_VENDORS")
        if name is None or driver not in [path for path, _ in DRIVERS.values()]:
            return environment
        folder = cls.folder / "vendor-below"
        folder.mkdir(exist_ok=True)
        if not (folder / "cleave.icd").exists():  # a program that has been started may be reading it
            (folder / "cleave.icd").write_text(f"{VENDOR}\n")
        return {"CLEAVE_PLATFORM_NAMES": name} | environment | {"OCL_ICD_VENDORS": f"{folder}/", "CLEAVE_ICD_WRAP": driver}

    def own_folder(self):
        """This test's folder. Its name is short, since the path of a socket has at most 107 bytes."""
        folder = self.folder / f"{hash(self.id()) & 0xFFFFFFFF:08x}"
        folder.mkdir(exist_ok=True)
        return folder

    def secret(self, text="a token of this test\n", name="token"):
        """A file of this test's that nobody else may read."""
        file = self.own_folder() / name
        file.write_text(text)
        file.chmod(0o600)
        return file

    def shared_devices(self, environment):
        """What `cleave top` shows."""
        done = cleave("top", "--once", "--json", environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["devices"]

    def vendors(self, name, **libraries):
        """A folder of .icd files, one for each library, as OCL_ICD_VENDORS takes it: with a slash at its end every loader
        takes it for a folder."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for icd, library in libraries.items():
            (folder / f"{icd}.icd").write_text(f"{library}\n")
        return f"{folder}/"

    def run_program(self, method, *command, options=(), **settings):
        """Runs `command` by one of the LOAD_METHODS, with `settings` in the environment, and `options` for `cleave run`."""
        prefix, variables = LOAD_METHODS[method]
        variables = dict(variables)
        for name in set(variables) & set(settings):  # lists: the test's own entries come behind Cleave's
            variables[name] += ":" + str(settings.pop(name))
        self._runs += 1
        stats = self.folder / f"{self.id()}-{self._runs}-stats"
        stats.mkdir()
        environment = self.environment(**({"CLEAVE_STATS": stats / "%p.json"} | variables | settings))
        if method != "native":
            environment = self.with_vendor_below(environment)
        full, environment = as_client((*prefix, *options, *(["--"] if prefix else []), *command), environment)
        try:
            done = run(*full, environment=environment, timeout=RUN_TIMEOUT)
        except subprocess.TimeoutExpired as hung:
            raise AssertionError(f"no end after {RUN_TIMEOUT} s, {method}: {full}\n{hung.stderr!r}") from hung
        written = [json.loads(file.read_text()) for file in sorted(stats.iterdir())]
        return Run(full, done.returncode, done.stdout, done.stderr, written)

    def start_talking(self, method, *command, stderr=None, **settings):
        """Starts a program that is told what to do by lines, and ends with the test."""
        prefix, variables = LOAD_METHODS[method]
        environment = self.with_vendor_below(self.environment(**(variables | settings)))
        return self.start_piped([*prefix, *(["--"] if prefix else []), *command], environment, stderr)

    def start_piped(self, command, environment, stderr=None):
        process = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    @staticmethod
    def ask(process, *words):
        """Tells it a line. Returns the one that it answers."""
        process.stdin.write(" ".join(map(str, words)) + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def run_native(self, *command, **settings):
        """The run that all others are compared with. It must succeed."""
        run_ = self.run_program("native", *command, **settings)
        self.assertEqual(run_.status, 0, f"the native run failed\n{run_}")
        self.assertNotEqual(run_.out, "", f"the native run printed nothing\n{run_}")
        self.assertEqual(run_.stats, [], f"Cleave was loaded in the native run\n{run_}")
        return run_

    def assertSameOutput(self, native, run_):
        """Same exit status and output."""
        self.assertEqual(run_.status, native.status, f"exit status differs from the native run's\n{run_}")
        if run_.out != native.out:
            difference = difflib.unified_diff(
                native.out.splitlines(), run_.out.splitlines(), "native", "under Cleave", lineterm="", n=1
            )
            self.fail("output differs from the native run's\n" + "\n".join(list(difference)[:60]) + f"\n{run_}")

    def assertSplit(self, run_, launches=1, slices=None, contended=0):
        """All launches were split, each once, and into so many slices altogether (2 or more each, if not given).

        Up to `contended` of them may have met another thread's calls at the queue's gate and stayed unsplit for that.
        """
        self.assertEqual(run_.total("launches"), launches, f"launches counted\n{run_}")
        split = launches - min(run_.unsplit("shared"), contended)
        self.assertEqual(run_.total("split"), split, f"launches split\n{run_}")
        if slices is None:
            self.assertGreaterEqual(run_.total("slices"), 2 * split, f"slices\n{run_}")
        else:
            self.assertEqual(run_.total("slices"), slices // launches * split, f"slices\n{run_}")

    def assertUnchanged(self, native, method, *command, **settings):
        """Runs the command by that method: its output is the native one. Returns the run."""
        run_ = self.run_program(method, *command, **settings)
        self.assertSameOutput(native, run_)
        return run_


def stop_process(process, timeout=20):
    """Requests a process's end, and kills it if it does not end."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


