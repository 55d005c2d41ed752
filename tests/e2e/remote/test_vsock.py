"""vsock between client and server on one machine: by the kernel's loopback if it has one (the module vsock_loopback), and by
a preloaded library that emulates vsock everywhere."""

import json
import os
import random
import socket
import unittest

from support.options import OPTIONS, SERVERD, main
from support.processes import run
from support.remote import DEVICE_LOST, METRICS, RemoteTest, defaults

LOOPBACK = 1  # VMADDR_CID_LOCAL
EMULATION = (OPTIONS.programs / "emulated_vsock.so").resolve(strict=True)


def any_port():
    return random.SystemRandom().randrange(20_000, 60_000)


def missing_vsock():
    """Why there is no vsock from this machine to itself; empty if there is."""
    try:
        with socket.socket(socket.AF_VSOCK) as listener, socket.socket(socket.AF_VSOCK) as client:
            port = any_port()
            listener.bind((socket.VMADDR_CID_ANY, port))
            listener.listen()
            client.settimeout(5)
            client.connect((LOOPBACK, port))
    except OSError as problem:
        return f"no vsock from this machine to itself (vsock_loopback): {problem}"
    return ""


MISSING = missing_vsock()


class Vsock:
    """The tests of both."""

    emulation = {}

    @classmethod
    def environment(cls, **changes):
        return super().environment(**(cls.emulation | changes))

    def start(self, before=None):
        return self.start_server(self.own_folder(), *METRICS, before=before, vsock=any_port())

    def client_address(self, server=None, cid=LOOPBACK, port=None):
        return f"vsock:{cid}:{port or server.addresses['vsock'].rpartition(':')[2]}"

    def connect(self, server):
        return self.start_client(self.client_address(server))

    def test_work_is_done_and_the_log_names_the_client(self):
        server = self.start()
        client = self.connect(server)
        self.assertEqual(client.execute("work"), "ok", server.text())
        self.assertIn(f': client vsock {LOOPBACK} "scripted_client": connected', server.text())
        client.stop()
        done = self.run_client(self.client_environment(self.client_address(server)), "random_work", "3", "1")
        self.assertEqual((done.returncode, json.loads(done.stdout)["error"]), (0, 0), f"{done}\n{server.text()}")
        server.wait_until_idle()

    def test_killed_server_is_replaced(self):
        server = self.start()
        client = self.connect(server)
        self.assertEqual(client.execute("hold"), "held", server.text())
        server.kill()
        self.assertEqual(client.execute("use"), DEVICE_LOST)
        self.assertEqual(client.execute("work"), DEVICE_LOST)
        server = self.start(server)
        self.assertEqual(client.execute("work"), "ok", server.text())
        client.process.kill()
        server.wait_until_idle()

    def test_client_reports_that_there_is_no_server(self):
        done = self.run_client(self.client_environment(self.client_address(port=any_port())))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cleave: vsock:1:\d+ cannot be used: no server there\n")

    def test_port_in_use_is_named(self):
        taken = self.start().addresses["vsock"]
        done = run(SERVERD, *defaults(()), "--listen", taken, environment=self.environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--listen {taken}: another process listens there; stop it, or name another address", done.stderr)


@unittest.skipIf(MISSING, MISSING)
class KernelVsock(Vsock, RemoteTest):
    pass


class EmulatedVsock(Vsock, RemoteTest):
    emulation = {"LD_PRELOAD": EMULATION, "CLEAVE_EMULATED_VSOCK": f"cleave-vsock-{os.getpid()}"}

    def test_unknown_machine_is_unreachable(self):
        done = self.run_client(self.client_environment(self.client_address(cid=77, port=5)))
        self.assertIn("vsock:77:5 cannot be used: there is no vsock here; ", done.stderr)


class NoVsock(RemoteTest):
    def test_both_ends_say_what_is_missing(self):
        done = run(SERVERD, *defaults(()), "--listen", "vsock:any:5", environment=self.environment(LD_PRELOAD=EMULATION))
        self.assertEqual(done.returncode, 1)
        self.assertIn("--listen vsock:any:5: this kernel has no vsock; load its module (vhost_vsock, ", done.stderr)
        done = self.run_client(self.client_environment("vsock:2:5", LD_PRELOAD=EMULATION))
        self.assertIn("vsock:2:5 cannot be used: there is no vsock here; ", done.stderr)


if __name__ == "__main__":
    if MISSING:
        print(f"left out: {MISSING}; only the emulation is tested")
    main()
