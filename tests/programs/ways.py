"""The ways in which a program comes to run under Cleave, each a prefix of its command and an environment."""

import contextlib
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from places import SYSTEM_LOADER, driver_path

WAYS = ("drop-in", "run", "vendor", "server")
# What Cleave, a loader, a driver, a program or the dynamic linker would read.
_REMOVED = ("CLEAVE_", "LD_", "OPENCL_", "OCL_ICD_", "POCL_", "OCLGRIND_", "PYOPENCL_", "OPENCV_", "GEGL_", "PYTHON", "XDG_")
SERVER_START_SECONDS = 60


@dataclass
class Loaded:
    """How to start a command: `loader` is the library that programs open which open one by its path."""

    prefix: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)
    loader: str = SYSTEM_LOADER


def clean_environment(home, cache, driver):
    """Nothing of the caller's that would change what is measured. One thread for PoCL: with more, its version 3 has faults."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED)}
    kernels = cache.drivers / Path(driver_path(driver)).name
    kernels.mkdir(parents=True, exist_ok=True)
    # Some programs ask the password file for their user's home, unless these are set.
    homes = {"HOME": home, "XDG_CACHE_HOME": home / ".cache", "XDG_CONFIG_HOME": home / ".config",
             "XDG_DATA_HOME": home / ".local/share", "XDG_RUNTIME_DIR": home}
    for path in homes.values():  # OpenCV keeps its cache in a folder of all users where these do not exist
        path.mkdir(parents=True, exist_ok=True)
    return environment | {name: str(path) for name, path in homes.items()} | {
        "OCL_ICD_VENDORS": driver_path(driver), "POCL_MAX_PTHREAD_COUNT": "1", "POCL_CACHE_DIR": str(kernels),
        "LC_ALL": "C.UTF-8"}


def settings(home, records, split):
    """Cleave's settings for one run, which writes statistics and traces into the folder `records`."""
    return {"CLEAVE_CONFIG": "/dev/null", "CLEAVE_CACHE": str(home / "cleave-cache"), "CLEAVE_SPLIT": split,
            "CLEAVE_MIN_ITEMS": "0", "CLEAVE_STATS": f"{records}/%p.json", "CLEAVE_TRACE": f"{records}/%p.trace"}


@contextlib.contextmanager
def loaded(way, cleave, driver, environment, own):
    """How to run a program that way. `own` are Cleave's settings; the server gets them instead of the program."""
    with tempfile.TemporaryDirectory(prefix="cleave-programs-") as folder:
        if way == "drop-in":
            yield Loaded(variables=own | {"LD_PRELOAD": str(cleave.drop_in)}, loader=str(cleave.drop_in))
        elif way == "run":
            yield Loaded(prefix=[str(cleave.command), "run", "--"], variables=own)
        elif way == "vendor":
            vendors = _vendors(folder, cleave.vendor)
            yield Loaded(variables=own | {"CLEAVE_ICD_WRAP": driver_path(driver), "OCL_ICD_VENDORS": vendors})
        elif way == "server":
            with _server(cleave, environment | own, folder) as address:
                vendors = _vendors(folder, cleave.remote_client)
                # Programs choose by platform names what they do, and PyOpenCL's tests what they test.
                yield Loaded(variables={"OCL_ICD_VENDORS": vendors, "CLEAVE_REMOTE": address, "CLEAVE_CONFIG": "/dev/null",
                                        "CLEAVE_PLATFORM_NAMES": "original"})
        else:
            yield Loaded()


def _vendors(folder, library):
    path = Path(folder) / "vendors"
    path.mkdir()
    (path / "only.icd").write_text(f"{library}\n")
    return f"{path}/"


@contextlib.contextmanager
def _server(cleave, environment, folder):
    address = f"unix:{folder}/socket"
    log = Path(folder) / "log"
    with log.open("w") as output:
        user = ["--user", "root"] if os.geteuid() == 0 else []
        command = [str(cleave.serverd), "--listen", address, "--spare", "0", "--sandbox", "off", *user]
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + SERVER_START_SECONDS
        while "listening on" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"cleave-serverd does not listen: {log.read_text()}")
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(SERVER_START_SECONDS)
