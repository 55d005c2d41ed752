"""Runs cleave_fuzz once, natively or under Cleave, and parses its output."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from server import Server


# The loader in CUDA's folder knows it instead of OCL_ICD_VENDORS.
NAMED_DRIVERS = "OCL_ICD_FILENAMES"
LAUNCH, TASK = 0x11F0, 0x11F1  # CL_COMMAND_NDRANGE_KERNEL, CL_COMMAND_TASK


@dataclass
class Driver:
    """A driver and its limits. Without `icd`, the loader loads the system's drivers."""

    icd: str = None
    options: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    # Another configuration. Where the two differ natively, the driver is wrong in at least one of them.
    alternative: dict = field(default_factory=dict)
    # Reports a task's event as CL_COMMAND_NDRANGE_KERNEL. The remote client reports what the specification says.
    tasks_are_launches: bool = False
    # The variable with its number of threads. Programs have one and two in turn.
    threads: str = None
    # Kept of the caller's environment: where it is what names the driver to the loader.
    kept: tuple = ()

    def for_program(self, number):
        """This driver with that program's number of threads."""
        if not self.threads:
            return self
        return replace(self, environment={**self.environment, self.threads: str(1 + number % 2)})


# `--without` excludes faults of the drivers: most crash or hang natively; an offset beyond all sizes is not refused.
DRIVERS = {
    # Divides by a local size of zero. With two loops before a barrier, the first work-item of a group may do the first
    # of them twice (PoCL 3.1), but not if its compiler replicates the code for each work-item. Its
    # compiler assumes that get_global_offset() fits in 16 bits.
    "pocl": Driver(
        "/etc/OpenCL/vendors/pocl.icd",
        ["--without", "zero-local,wide-offset,far-offset", "--known-local-sizes"],
        alternative={"POCL_WORK_GROUP_METHOD": "repl", "POCL_CACHE_DIR": "alternative"},
        # With two threads version 3 may abort while launches with and without an offset are in flight, natively as well, so
        # that few launches are split on several queues (docs/conformance.md).
        threads="POCL_MAX_PTHREAD_COUNT",
        tasks_are_launches=True,
    ),
    # An interpreter, so small launches. It spins in clFlush behind user events, calls no callback for an event that is
    # complete, and reports uninitialised memory as a kernel's attributes.
    "oclgrind": Driver(
        "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
        ["--most-items", "96", "--without", "callbacks,user-events,attributes,zero-local,wide-offset,null-event",
         "--known-local-sizes"],
    ),
    "rusticl": Driver(environment={"RUSTICL_ENABLE": "llvmpipe"}),
    # It sometimes hangs where a queue is released while its commands run.
    "intel": Driver(options=["--without", "null-event,empty-list,other-context,renewed-queues"]),
    # Divides by a local size of zero. Builds from its cache have no warnings. Keeps 32 bits of an offset, so that far
    # offsets fail for kernels with the prelude (docs/correctness.md). A blocking map with a wait list sometimes never
    # returns (docs/conformance.md).
    "nvidia": Driver(
        options=["--platform", "NVIDIA", "--without", "zero-local,wide-offset,far-offset,maps"],
        environment={"CUDA_CACHE_DISABLE": "1"},
        kept=(NAMED_DRIVERS,),
    ),
    "system": Driver(kept=(NAMED_DRIVERS,)),
}


@dataclass(frozen=True)
class Mode:
    """How Cleave splits, and how it is loaded. Launch `sleeping` is `queued` with sleeping waits; `budget` and `quantum` are
    these policies, which choose the number of slices and the mode themselves."""

    launch: str
    slices: int
    way: str = "preload"

    def loading(self, library, driver):
        """The variables that load Cleave. `vendor`: it is the loader's only driver and wraps the real one. `remote`: the client
        is the loader's only driver, and the server has the real one."""
        if self.way == "remote":
            return {"OCL_ICD_VENDORS": str(library)}
        if self.way == "vendor":
            wrap = driver.icd or "/etc/OpenCL/vendors"
            named = {name: str(library) for name in driver.kept}
            return {"OCL_ICD_VENDORS": str(library), **named, "CLEAVE_ICD_WRAP": wrap, "CLEAVE_PLATFORM_NAMES": "original"}
        return {{"preload": "LD_PRELOAD", "layer": "OPENCL_LAYERS"}[self.way]: str(library)}

    def environment(self, library, driver):
        policy = {"budget": "budget", "quantum": "quantum:0.1"}.get(self.launch)
        launch = {"sleeping": "queued", "budget": "auto", "quantum": "auto"}.get(self.launch, self.launch)
        return {
            **self.loading(library, driver),
            "CLEAVE_LAUNCH": launch,
            "CLEAVE_WAIT": "sleeping" if self.launch == "sleeping" or policy else "native",
            "CLEAVE_SPLIT": policy or f"fixed:{self.slices}",
            "CLEAVE_VMS": "20",
            "CLEAVE_MIN_ITEMS": "0",
        }

    def __str__(self):
        return f"{self.launch}, {self.slices} slices, {self.way}"


@dataclass
class Outcome:
    """The output of a run: a text for each program or case by its name (`3.17 launch`), in order."""

    status: int
    lines: dict
    notes: list
    stats: dict
    command: str
    complaint: str  # the last line of its standard error, or nothing

    @property
    def succeeded(self):
        return self.status == 0


# NVIDIA's warnings about programs that were not in its cache.
NOT_CACHED = re.compile(r"\(\): Warning: [^\\]*\\n")
# What differs from run to run in drivers' logs: names of temporary files, how many programs were built before, the length
# of the machine code.
VARYING = re.compile(
    r"\S*tempfile[-_]\w+|/tmp/\S*\.cl|(?<=\\n)\d+(?=:\d+:\d+: )|(?<=<unknown>:0:0: )\d+(?= instructions)"
)


def parse_output(output):
    lines, notes = {}, []
    for line in output.splitlines():
        if line.startswith("#") or not re.match(r"\d+\.", line):
            notes.append(line.removeprefix("# "))
            continue
        words = line.split(" ", 2)
        name_length = 2 if len(words) > 1 and words[1] in ("launch", "sequence") else 1
        words = line.split(" ", name_length)
        lines[" ".join(words[:name_length])] = VARYING.sub("FILE", NOT_CACHED.sub("", " ".join(words[name_length:])))
    return lines, notes


class Runner:
    """What runs share: the program, the libraries of Cleave, the driver, and a folder."""

    def __init__(self, program, libraries, driver, folder, timeout=120):
        self.program, self.libraries, self.driver, self.timeout = program, libraries, driver, timeout
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "no-settings.toml").touch()

    def settings(self, mode):
        """What a run adds to the environment. Compiled kernels are kept for the other runs."""
        settings = {
            "POCL_CACHE_DIR": str(self.folder / "kernels"),
            "CLEAVE_CONFIG": str(self.folder / "no-settings.toml"),
            **self.driver.environment,
        }
        if self.driver.icd:
            settings["OCL_ICD_VENDORS"] = self.driver.icd
        if mode:
            settings.update(mode.environment(self.libraries[mode.way], self.driver))
        return settings

    def run(self, options, mode=None, alternative=False):
        """One run with `options` for cleave_fuzz; natively if there is no mode."""
        relevant = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "POCL_", "OCLGRIND_", "RUSTICL_")
        environment = {name: value for name, value in os.environ.items()
                       if name in self.driver.kept or not name.startswith(relevant)}
        settings = {**self.settings(mode), **(self.driver.alternative if alternative else {})}
        command = [str(self.program), *self.driver.options, *map(str, options)]
        temporary = ("POCL_CACHE_DIR", "CLEAVE_CONFIG")  # not needed to repeat the run
        shown = " ".join([f"{name}={value}" for name, value in settings.items() if name not in temporary] + command)
        with tempfile.TemporaryDirectory(dir=self.folder) as written:
            environment.update(settings, CLEAVE_STATS=f"{written}/stats")
            command += ["--folder", str(self.folder)]
            execute = self.execute_remotely if mode and mode.way == "remote" else self.execute
            status, output, errors = execute(command, environment, written)
            stats = Path(written) / "stats"
            counted = json.loads(stats.read_text()) if stats.exists() else {}
        complaint = "".join(errors.decode(errors="replace").splitlines()[-1:])
        return Outcome(status, *parse_output(output.decode(errors="replace")), counted, shown, complaint)

    def execute(self, command, environment, _):
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=self.timeout,
                check=False,
            )
            return done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as hung:
            return "no end", hung.stdout or b"", hung.stderr or b""

    def execute_remotely(self, command, environment, folder):
        """The variables for Cleave and the driver go to the server."""
        native = {"OCL_ICD_VENDORS": self.driver.icd} if self.driver.icd else {}
        others = {name: value for name, value in environment.items() if name != "OCL_ICD_VENDORS"}
        daemon = self.libraries["remote"].parent.parent / "bin" / "cleave-serverd"
        client = {name: value for name, value in environment.items() if not name.startswith("CLEAVE_")}
        with Server(daemon, folder, {**others, **native}, self.folder) as server:
            status, output, errors = self.execute(command, {**client, "CLEAVE_REMOTE": server.address}, folder)
        if self.driver.tasks_are_launches:
            output = output.replace(b",%d," % TASK, b",%d," % LAUNCH)
        return status, output, errors
