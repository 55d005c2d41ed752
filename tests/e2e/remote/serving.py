"""A server of a test's own, on a unix socket and a TCP port of loopback, and on one for TLS where that is asked for; and
programs that use it."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from compare import CLEAVE, LIBRARIES

SERVERD = CLEAVE.parent / "cleave-serverd"
# Of every server, such as "--commands-per-client 64 --data-per-client 4K".
MORE_OPTIONS = os.environ.get("CLEAVE_TEST_SERVER_OPTIONS", "").split()
PATIENCE = 20  # seconds
HUNG = 120  # seconds, after which an answer is not waited for any more


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what, patience=PATIENCE):
    """Calls `condition` until it is true. `what` says what is wrong if it never is: a text, or a function that gives one."""
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.02)


def status_of(process):
    """The fields of /proc/PID/stat behind the name, or None: there is no such process, or only its exit status."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields


def processes_of_session(session):
    found = []
    for entry in Path("/proc").iterdir():
        fields = status_of(entry.name) if entry.name.isdigit() else None
        if fields is not None and int(fields[3]) == session:
            found.append(int(entry.name))
    return found


class Server:
    """Runs until end(). `environment` decides which drivers it offers. `before`: a server that is gone, whose addresses this
    one takes over. `host`: the address of TCP and TLS. `tls`: its options for TLS, where it listens for that, too; `vsock`: its
    port of that. `prefix`: a command that starts it somewhere else."""

    def __init__(self, folder, environment, *options, before=None, host="127.0.0.1", tls=(), vsock=None,
                 prefix=()):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / "socket"
        self.addresses = before.addresses if before else {
            "tcp": f"tcp:{host}:{free_port()}", "unix": f"unix:{self.path}"}
        if tls:
            self.addresses.setdefault("tls", f"tls:{host}:{free_port()}")
        if vsock is not None:
            self.addresses.setdefault("vsock", f"vsock:any:{vsock}")
        self.log = self.folder / "log"
        places = [word for address in self.addresses.values() for word in ("--listen", address)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*prefix, SERVERD, *places, *tls, *options, *MORE_OPTIONS], env=environment, stdout=log, stderr=log,
                start_new_session=True)
        self.wait_for(lambda: self.log.read_text().count("listening on") == len(self.addresses), "it does not listen")

    def wait_for(self, condition, what):
        def met():
            if condition():  # asked for once: it may be true for a moment only
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"{what}: it has ended\n{self.log.read_text()}")
            return False

        wait_until(met, lambda: f"{what}\n{self.log.read_text()}")

    def workers(self):
        """The processes of its workers, those that have no client yet among them."""
        return [one for one in processes_of_session(self.process.pid) if one != self.process.pid]

    def metric(self, name):
        """Of a server with the option --metrics."""
        self.wait_for(lambda: "metrics on" in self.log.read_text(), "it has no metrics")
        place = re.search(r"metrics on tcp:(\S+)\n", self.log.read_text()).group(1)
        with urllib.request.urlopen(f"http://{place}/metrics", timeout=PATIENCE) as answer:
            return int(re.search(rf"^cleave_server_{name} (\d+)$", answer.read().decode(), re.MULTILINE).group(1))

    def wait_until_free(self, spares=1):
        """No client is left, nor any worker but those that are ready for the next one."""
        self.wait_for(lambda: self.metric("clients") == 0 and len(self.workers()) <= spares,
                      "a client is left behind")

    def kill(self):
        """It and all its workers, as when a machine goes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_alone(self):
        """The supervisor; its workers have to notice."""
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.workers(), "workers outlive their server")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()


class Obedient:
    """A client that does what it is told (obedient.cpp)."""

    def __init__(self, program, environment, **changes):
        environment = {**environment, **{name: str(value) for name, value in changes.items()}}
        self.process = subprocess.Popen([program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def answer(self):
        watchdog = threading.Timer(HUNG, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise AssertionError(f"it has ended: {self.process.wait()}\n{self.process.stderr.read()}")
        return line.rstrip("\n")

    def ask(self, words):
        self.tell(words)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.communicate()


def client_variables(folder, address, timeout):
    """For a program that knows the client's library alone."""
    icd = Path(folder) / "remote.icd"
    icd.write_text(f"{LIBRARIES / 'libcleave-remote.so'}\n")
    return {"OCL_ICD_VENDORS": icd, "CLEAVE_REMOTE": address, "CLEAVE_REMOTE_TIMEOUT": timeout}
