"""A cleave-serverd of a test's own, and programs that use it."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from support.emulation import CLIENT_LIBRARY, as_client
from support.options import OPTIONS, SERVERD
from support.processes import TIMEOUT, command_line, processes_of_session, run, wait_until
from support.programs import ProgramTest, stop_process

# For every server, such as "--commands-per-client 64 --data-per-client 4K".
EXTRA_SERVER_OPTIONS = os.environ.get("CLEAVE_TEST_SERVER_OPTIONS", "").split()
HANG_TIMEOUT = 120  # seconds after which a client that does not answer hangs
DEVICE_LOST = "error -2"  # CL_DEVICE_NOT_AVAILABLE
METRICS = ("--metrics", "tcp:127.0.0.1:0")


def defaults(options):
    """A driver's cache that workers share, since compiling takes most of a test's time; the sandbox has tests of its own."""
    user = [] if os.geteuid() != 0 or "--user" in options else ["--user", "root"]
    return user if "--sandbox" in options else [*user, "--sandbox", "off"]


class Server:
    """Runs until stop(), on a unix socket and on a TCP port that the system chooses; `addresses` has them by transport.

    `environment` decides which drivers it offers. `before`: a server that has ended, whose addresses this one takes over.
    `host`: the address of TCP and TLS. `tls`: the options for TLS, if it listens for that, too. `vsock`: a port, if it listens
    on that. `prefix`: a command that starts it somewhere else.
    """

    def __init__(self, folder, environment, *options, before=None, host="127.0.0.1", tls=(), vsock=None, prefix=()):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.path = self.folder / "socket"
        wanted = before.addresses if before else {"tcp": f"tcp:{host}:0", "unix": f"unix:{self.path}"}
        if tls:
            wanted.setdefault("tls", f"tls:{host}:0")
        if vsock is not None:
            wanted.setdefault("vsock", f"vsock:any:{vsock}")
        self.log = self.folder / "log"
        listen = [word for address in wanted.values() for word in ("--listen", address)]
        options = [*defaults(options), *options, *EXTRA_SERVER_OPTIONS]
        command = [*prefix, SERVERD, *listen, *tls, *options]
        self._start(command, environment)
        deadline = time.monotonic() + TIMEOUT
        # A port that is taken over may be another process's for a moment: the system hands ports out to clients as well.
        while before and self.process.poll() is not None and time.monotonic() < deadline:
            self._start(command, environment)
        self.wait_for(lambda: len(self._listening()) == len(wanted), "the server does not listen")
        self.addresses = {address.partition(":")[0]: address for address in self._listening()}

    def _start(self, command, environment):
        with self.log.open("w") as log:
            self.process = subprocess.Popen([str(word) for word in command], env=environment, stdout=log, stderr=log,
                                            start_new_session=True)
        wait_until(lambda: self.process.poll() is not None or self._listening(), self.text)

    def text(self):
        """What it has logged."""
        return self.log.read_text()

    def _listening(self):
        return re.findall(r"listening on (\S+)\n", self.text())

    def wait_for(self, condition, message):
        def is_met():
            if condition():  # queried once: it may be true only for a moment
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"{message}: the server has ended\n{self.text()}")
            return False

        wait_until(is_met, lambda: f"{message}\n{self.text()}")

    def wait_for_log(self, text, count=1):
        self.wait_for(lambda: self.text().count(text) >= count, f"the log does not say {text!r} {count} times")

    def workers(self):
        """Its worker processes, spare ones included."""
        return [one for one in processes_of_session(self.process.pid) if "--worker" in command_line(one)]

    def left_in(self, folder):
        """What is in its folder for temporary files, besides one empty folder for each worker."""
        found = list(Path(folder).rglob("*"))
        of_workers = [path for path in found if path.name.startswith("cleave-worker.")]
        return sorted({*found} - {*of_workers}) + of_workers[len(self.workers()):]

    def metric(self, name):
        """Of a server with the options METRICS."""
        self.wait_for(lambda: "metrics on" in self.text(), "it has no metrics")
        place = re.search(r"metrics on tcp:(\S+)\n", self.text()).group(1)
        with urllib.request.urlopen(f"http://{place}/metrics", timeout=TIMEOUT) as answer:
            return int(re.search(rf"^cleave_server_{name} (\d+)$", answer.read().decode(), re.MULTILINE).group(1))

    def wait_until_idle(self, spares=1):
        """No client is left, nor any worker but the spare ones."""
        self.wait_for(lambda: self.metric("clients") == 0 and len(self.workers()) <= spares, "a client is left behind")

    def kill(self):
        """The server and all its workers, as when a machine fails."""
        self.signal_all(signal.SIGKILL)
        self.process.wait()

    def signal_all(self, number):
        """Workers lead process groups of their own."""
        for process in processes_of_session(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def kill_supervisor(self):
        """The server without its workers, which have to notice."""
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not self.workers(), "workers outlive their server")

    def stop(self):
        stop_process(self.process)


class ScriptedClient:
    """A client that executes commands, one line each (scripted_client.cpp, or another program that answers a line with one)."""

    def __init__(self, environment, *command):
        command, environment = as_client(command or [OPTIONS.programs / "scripted_client"], environment)
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def reply(self):
        watchdog = threading.Timer(HANG_TIMEOUT, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        if not line:
            raise AssertionError(f"the client has ended: {self.process.wait()}\n{self.process.stderr.read()}")
        return line.rstrip("\n")

    def execute(self, command):
        self.send(command)
        return self.reply()

    def stop(self):
        self.process.kill()
        self.process.communicate()


class RemoteTest(ProgramTest):
    """Programs on servers' devices. Clients know no driver but the remote one, or, with Cleave in front of them, none."""

    client_timeout = 20  # seconds, CLEAVE_REMOTE_TIMEOUT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.remote_icd = cls.folder / "remote.icd"
        cls.remote_icd.write_text(f"{CLIENT_LIBRARY}\n")
        cls.no_drivers = f"{cls.folder / 'no-drivers'}/"
        Path(cls.no_drivers).mkdir()

    @classmethod
    def new_server(cls, folder, *options, environment=None, **others):
        """A server in that folder of the script's, which the caller stops."""
        environment = cls.with_vendor_below(cls.environment() if environment is None else environment)
        return Server(cls.folder / folder, environment, *options, **others)

    def start_server(self, folder, *options, **others):
        server = self.new_server(folder, *options, **others)
        self.addCleanup(server.stop)
        return server

    def client_environment(self, address, **settings):
        return self.environment(**({"OCL_ICD_VENDORS": self.remote_icd, "CLEAVE_REMOTE": address,
                                    "CLEAVE_REMOTE_TIMEOUT": self.client_timeout} | settings))

    def start_client(self, address, **settings):
        client = ScriptedClient(self.client_environment(address, **settings))
        self.addCleanup(client.stop)
        return client

    def start_program(self, program, *arguments, environment, prefix=()):
        """One of the group's programs, whose output is read at its end."""
        command, environment = as_client((*prefix, OPTIONS.programs / program, *arguments), environment)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_client(self, environment, program="scripted_client", *arguments):
        """Runs one of the group's programs to its end, without input."""
        command, environment = as_client((OPTIONS.programs / program, *arguments), environment)
        return run(*command, environment=environment, timeout=HANG_TIMEOUT, stdin=subprocess.DEVNULL)

    def run_remotely(self, method, addresses, *command, **settings):
        """By one of the LOAD_METHODS; `native`: only the remote driver is loaded."""
        vendors = self.remote_icd if method == "native" else self.no_drivers
        return self.run_program(method, *command,
                                **({"OCL_ICD_VENDORS": vendors, "CLEAVE_REMOTE": addresses} | settings))

    def assertSameRemotely(self, native, method, addresses, *command, **settings):
        run_ = self.run_remotely(method, addresses, *command, **settings)
        self.assertSameOutput(native, run_)
        return run_

    def assertServes(self, server, address, **settings):
        """A new client can work, and leaves nothing behind."""
        client = self.start_client(address, **settings)
        self.assertEqual(client.execute("work"), "ok", server.text())
        client.stop()
        server.wait_until_idle()

    def assertNoCrash(self, *servers):
        for server in servers:
            self.assertNotIn("crashed", server.text())
