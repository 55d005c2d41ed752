"""PoCL-Remote, the peer of the suite `remote`: the same program with the devices of its daemon, over TCP.

It may lack something, crash or hang. Such a turn gives no figures, a line says why, and the suite goes on.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import programs
from results import Unmeasured

LIMIT = 120  # seconds that one turn may take
MAX_FAILURES = 2  # turns may fail; then it has no more


class Peer:
    def __init__(self, folder):
        self.folder = folder  # where it is installed
        self.runs, self.failures = [], []

    def turn(self, work):
        """`work` measures with the options that it gets, which are those of `programs.run`, and checks what it has measured."""
        if len(self.failures) == MAX_FAILURES:
            return
        try:
            with tempfile.TemporaryDirectory() as folder, quiet_input() as nothing:
                with served(self.folder / "bin" / "pocld", pathlib.Path(folder) / "log") as port:
                    self.runs.append(work(settings=self.settings(pathlib.Path(folder), port), stdin=nothing, limit=LIMIT))
        except Unmeasured as why:
            self.failures.append(str(why))
            print(f"  PoCL-Remote: {why}", file=sys.stderr, flush=True)

    def settings(self, folder, port):
        """The environment with the daemon's first device alone, whatever drivers and layers the suite's names."""
        (folder / "vendors").mkdir()
        (folder / "vendors" / "peer.icd").write_text(f"{driver(self.folder)}\n")
        return {"OCL_ICD_VENDORS": str(folder / "vendors"), "OCL_ICD_FILENAMES": "", "OPENCL_LAYERS": "", "POCL_DEVICES": "remote",
                "POCL_REMOTE0_PARAMETERS": f"127.0.0.1:{port}/0", "POCL_CACHE_DIR": str(folder / "cache")}

    def summary(self):
        """What is stored about it in addition to its figures."""
        failed = "; ".join(self.failures)
        if not self.runs:
            return f"PoCL-Remote: - ({failed})"
        version = self.runs[0]["platform"]
        return f"PoCL-Remote over TCP: {version}; {len(self.runs)} runs" + (f", others failed: {failed}" if failed else "")


    def check(self, run, native):
        """Whether the run was on the daemon's device: of this driver, and called as the native one is."""
        used, own = pathlib.Path(run["driver"]), driver(self.folder)
        if not used.exists() or not own.samefile(used):
            raise Unmeasured(f"{run['platform']} is of {used}, not of {own}: look at the loader's environment (OCL_ICD_*)")
        if run["under Cleave"] == "yes":
            raise Unmeasured("a Cleave was in between: look at LD_PRELOAD, LD_LIBRARY_PATH and OPENCL_LAYERS")
        if run["device"] != native["device"]:
            raise Unmeasured(f"pocld's first device is {run['device']}, not {native['device']}")


def find(folder):
    """The installation in this folder, or, if none is named, around the `pocld` in PATH; None if there is none."""
    command = shutil.which("pocld")
    if folder is None and command:
        folder = pathlib.Path(command).resolve().parent.parent
    return folder and Peer(folder.absolute())


def driver(folder):
    """In lib, lib64 or the folder of an architecture."""
    libraries = [file for place in ("lib*/libpocl.so*", "lib*/*/libpocl.so*") for file in sorted(folder.glob(place))]
    if not libraries:
        raise Unmeasured(f"no libpocl.so is in {folder}")
    return libraries[0]


@contextlib.contextmanager
def served(daemon, log):
    """The daemon, until the end; its port. A new one for each run, so that it does not compute while others are measured."""
    port = free_ports()
    try:
        with log.open("wb") as output:
            process = subprocess.Popen([daemon, "-a", "127.0.0.1", "-p", str(port)], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=programs.environment({}))
    except OSError as why:
        raise Unmeasured(f"{daemon}: {why.strerror}") from why
    try:
        wait_for(port, process, log)
        yield port
    finally:
        end(process)


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for(port, process, log, tries=600):
    for _ in range(tries):
        if process.poll() is not None:
            lines = log.read_text(errors="replace").split("\n")
            raise Unmeasured(f"pocld ended with status {process.returncode}: {next(filter(None, reversed(lines)), 'no output')}")
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), 1).close()
        time.sleep(0.05)
    raise Unmeasured("pocld does not listen")


def free_ports():
    """The first of the three consecutive ports that it uses."""
    for _ in range(100):
        with contextlib.ExitStack() as held, contextlib.suppress(OSError, OverflowError):
            first = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            for more in (1, 2):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port + more))
            return port
    raise Unmeasured("no three free ports in a row for pocld")


@contextlib.contextmanager
def quiet_input():
    """A standard input that has nothing and does not end: the clients of PoCL 7.0 and 7.1 connect anew whenever theirs can be
    read, and do nothing else where that is always."""
    ours, theirs = os.pipe()
    try:
        yield ours
    finally:
        os.close(ours)
        os.close(theirs)
