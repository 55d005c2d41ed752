"""Runs cleave_fuzz once, natively or under Cleave, and says what came of it."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from served import Served


LAUNCH, TASK = 0x11F0, 0x11F1  # CL_COMMAND_NDRANGE_KERNEL, CL_COMMAND_TASK


@dataclass
class Driver:
    """A driver and what it is not up to. Without `icd`, the loader takes whatever the system has."""

    icd: str = None
    options: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    # Makes it do the same another way. Where the two are not the same natively, it is wrong in at least one of them.
    another_way: dict = field(default_factory=dict)
    # Says CL_COMMAND_NDRANGE_KERNEL of a task's event. A server's client says what the specification does.
    tasks_are_launches: bool = False
    # What says how many threads it has. Programs have one and two in turn.
    threads: str = None

    def of_program(self, number):
        """This driver as that program meets it."""
        if not self.threads:
            return self
        return replace(self, environment={**self.environment, self.threads: str(1 + number % 2)})


# What is left out are faults of the drivers: most crash or hang natively; an offset beyond all sizes is not refused.
DRIVERS = {
    # Divides by a local size of zero. With two loops before a barrier, the first work-item of a group may do the first
    # of them twice (PoCL 3.1), but not if its compiler repeats the code for each work-item. Its
    # compiler takes it for granted that get_global_offset() fits in 16 bits.
    "pocl": Driver(
        "/etc/OpenCL/vendors/pocl.icd",
        ["--without", "zero-local,wide-offset,far-offset"],
        another_way={"POCL_WORK_GROUP_METHOD": "repl", "POCL_CACHE_DIR": "another-way"},
        # With two threads version 3 may end the process where launches with and without an offset are in flight, natively
        # too, so that few launches are split on several queues (docs/conformance.md).
        threads="POCL_MAX_PTHREAD_COUNT",
        tasks_are_launches=True,
    ),
    # An interpreter, so small launches. It spins in clFlush behind user events, calls no callback for an event that is
    # complete, and a kernel's attributes are whatever is in its memory.
    "oclgrind": Driver(
        "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
        ["--most-items", "96", "--without", "callbacks,user-events,attributes,zero-local,wide-offset,null-event"],
    ),
    "rusticl": Driver(environment={"RUSTICL_ENABLE": "llvmpipe"}),
    # Now and then it waits for ever where a queue is released while its commands run.
    "intel": Driver(options=["--without", "null-event,empty-list,other-context,renewed-queues"]),
    # Divides by a local size of zero. What its cache has is built without warnings. Keeps 32 bits of an offset, so
    # that kernels with the prelude are refused the far ones (docs/correctness.md). Now and then a blocking map with a
    # wait list never returns (docs/conformance.md).
    "nvidia": Driver(
        options=["--platform", "NVIDIA", "--without", "zero-local,wide-offset,far-offset,maps"],
        environment={"CUDA_CACHE_DISABLE": "1"},
    ),
    "system": Driver(),
}


@dataclass(frozen=True)
class Mode:
    """How Cleave is to split, and by which way it gets in. Launch `polite` is `queued` with polite waits; `budget` and `quantum`
    are these policies, which choose the number of slices and the mode themselves."""

    launch: str
    slices: int
    way: str = "preload"

    def entrance(self, library, driver):
        """How Cleave gets in. `vendor`: it is the only driver that the loader knows, and wraps the real one. `remote`: the
        client is the only one, and a server beside it has the real one."""
        if self.way == "remote":
            return {"OCL_ICD_VENDORS": str(library)}
        if self.way == "vendor":
            wrap = driver.icd or "/etc/OpenCL/vendors"
            return {"OCL_ICD_VENDORS": str(library), "CLEAVE_ICD_WRAP": wrap, "CLEAVE_ICD_NAME": "original"}
        return {{"preload": "LD_PRELOAD", "layer": "OPENCL_LAYERS"}[self.way]: str(library)}

    def environment(self, library, driver):
        learns = {"budget": "budget", "quantum": "quantum:0.1"}.get(self.launch)
        launch = {"polite": "queued", "budget": "auto", "quantum": "auto"}.get(self.launch, self.launch)
        return {
            **self.entrance(library, driver),
            "CLEAVE_LAUNCH": launch,
            "CLEAVE_WAIT": "sleeping" if self.launch == "polite" or learns else "native",
            "CLEAVE_SPLIT": learns or f"fixed:{self.slices}",
            "CLEAVE_VMS": "20",
            "CLEAVE_MIN_ITEMS": "0",
        }

    def __str__(self):
        return f"{self.launch}, {self.slices} slices, {self.way}"


@dataclass
class Outcome:
    """What a run printed, a text for each program or case by its name (`3.17 launch`), in order."""

    status: int
    lines: dict
    notes: list
    stats: dict
    command: str

    @property
    def well(self):
        return self.status == 0


# What drivers put into their logs by chance: names of temporary files, how many programs were built
# before, how long the machine code is.
# NVIDIA's warns of what its cache did not have.
NOT_CACHED = re.compile(r"\(\): Warning: [^\\]*\\n")
CHANCE = re.compile(
    r"\S*tempfile[-_]\w+|/tmp/\S*\.cl|(?<=\\n)\d+(?=:\d+:\d+: )|(?<=<unknown>:0:0: )\d+(?= instructions)"
)


def understood(output):
    lines, notes = {}, []
    for line in output.splitlines():
        if line.startswith("#") or not re.match(r"\d+\.", line):
            notes.append(line.removeprefix("# "))
            continue
        words = line.split(" ", 2)
        name_length = 2 if len(words) > 1 and words[1] in ("launch", "sequence") else 1
        words = line.split(" ", name_length)
        lines[" ".join(words[:name_length])] = CHANCE.sub("FILE", NOT_CACHED.sub("", " ".join(words[name_length:])))
    return lines, notes


class Bench:
    """Where runs happen: the program, the libraries of Cleave, the driver, and a folder that runs share."""

    def __init__(self, program, libraries, driver, folder, patience=120):
        self.program, self.libraries, self.driver, self.patience = program, libraries, driver, patience
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "no-settings.toml").touch()

    def changes(self, mode):
        """The environment's own entries for a run. Compiled kernels are kept for the other runs."""
        changes = {
            "POCL_CACHE_DIR": str(self.folder / "kernels"),
            "CLEAVE_CONFIG": str(self.folder / "no-settings.toml"),
            **self.driver.environment,
        }
        if self.driver.icd:
            changes["OCL_ICD_VENDORS"] = self.driver.icd
        if mode:
            changes.update(mode.environment(self.libraries[mode.way], self.driver))
        return changes

    def run(self, options, mode=None, another_way=False):
        """One run with `options` for cleave_fuzz; natively if there is no mode."""
        noticed = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "POCL_", "OCLGRIND_", "RUSTICL_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(noticed)}
        changes = {**self.changes(mode), **(self.driver.another_way if another_way else {})}
        command = [str(self.program), *self.driver.options, *map(str, options)]
        own = ("POCL_CACHE_DIR", "CLEAVE_CONFIG")  # of no meaning to whoever runs it again
        shown = " ".join([f"{name}={value}" for name, value in changes.items() if name not in own] + command)
        with tempfile.TemporaryDirectory(dir=self.folder) as written:
            environment.update(changes, CLEAVE_STATS=f"{written}/stats")
            command += ["--folder", str(self.folder)]
            run = self.finish_remotely if mode and mode.way == "remote" else self.finish
            status, output = run(command, environment, written)
            stats = Path(written) / "stats"
            counted = json.loads(stats.read_text()) if stats.exists() else {}
        return Outcome(status, *understood(output.decode(errors="replace")), counted, shown)

    def finish(self, command, environment, _):
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self.patience,
                check=False,
            )
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired as hung:
            return "no end", hung.stdout or b""

    def finish_remotely(self, command, environment, folder):
        """What the environment says of Cleave and the driver is the server's."""
        native = {"OCL_ICD_VENDORS": self.driver.icd} if self.driver.icd else {}
        others = {name: value for name, value in environment.items() if name != "OCL_ICD_VENDORS"}
        daemon = self.libraries["remote"].parent.parent / "bin" / "cleave-serverd"
        client = {name: value for name, value in environment.items() if not name.startswith("CLEAVE_")}
        with Served(daemon, folder, {**others, **native}, self.folder) as server:
            status, output = self.finish(command, {**client, "CLEAVE_REMOTE": server.address}, folder)
        if self.driver.tasks_are_launches:
            output = output.replace(b",%d," % TASK, b",%d," % LAUNCH)
        return status, output
