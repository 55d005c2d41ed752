"""vsock between client and server on one machine: by the kernel's own way from a machine to itself where it has one (its
module vsock_loopback), and by a library that plays the kernel everywhere."""

import json
import os
import random
import socket
import subprocess
import unittest

from compare import OPTIONS, ComparedTest, main
from serving import HUNG, SERVERD, Obedient, Server, client_variables

TIMEOUT = 20  # seconds, the setting: no call here waits for it
LOST = "error -2"  # CL_DEVICE_NOT_AVAILABLE
ITSELF = 1  # VMADDR_CID_LOCAL
STAND_IN = (OPTIONS.programs / "vsock_stand_in.so").resolve(strict=True)


def any_port():
    return random.SystemRandom().randrange(20_000, 60_000)


def why_not():
    """Why there is no vsock from this machine to itself; empty if there is."""
    try:
        with socket.socket(socket.AF_VSOCK) as listener, socket.socket(socket.AF_VSOCK) as client:
            port = any_port()
            listener.bind((socket.VMADDR_CID_ANY, port))
            listener.listen()
            client.settimeout(5)
            client.connect((ITSELF, port))
    except OSError as problem:
        return f"no vsock from this machine to itself (vsock_loopback): {problem}"
    return ""


WHY_NOT = why_not()


class Vsock:
    """What holds for both."""

    def variables(self):
        return {}

    def start(self, before=None):
        server = Server(self.where, self.environment(**self.variables()), "--metrics", "tcp:127.0.0.1:0", before=before,
                        vsock=any_port())
        self.addCleanup(server.end)
        return server

    def setUp(self):
        super().setUp()
        self.where = self.folder / self.id().rpartition(".")[2]

    def client(self, server=None, cid=ITSELF, port=None):
        port = port or server.addresses["vsock"].rpartition(":")[2]
        return self.environment(**self.variables(), **client_variables(self.folder, f"vsock:{cid}:{port}", TIMEOUT))

    def begin(self, server):
        client = Obedient(OPTIONS.programs / "obedient", self.client(server))
        self.addCleanup(client.end)
        return client

    def run_to_its_end(self, program, *arguments, **client):
        return subprocess.run([OPTIONS.programs / program, *arguments], env=self.client(**client), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=HUNG, check=False)

    def test_work_is_done_and_the_log_says_for_whom(self):
        server = self.start()
        client = self.begin(server)
        self.assertEqual(client.ask("work"), "right", server.log.read_text())
        self.assertIn(f": client vsock {ITSELF} obedient: came", server.log.read_text())
        client.end()
        done = self.run_to_its_end("varied_work", "3", "1", server=server)
        self.assertEqual((done.returncode, json.loads(done.stdout)["error"]), (0, 0), f"{done}\n{server.log.read_text()}")
        server.wait_until_free()

    def test_another_server_takes_the_place_of_one_that_was_killed(self):
        server = self.start()
        client = self.begin(server)
        self.assertEqual(client.ask("hold"), "held", server.log.read_text())
        server.kill()
        self.assertEqual(client.ask("use"), LOST)
        self.assertEqual(client.ask("work"), LOST)
        server = self.start(server)
        self.assertEqual(client.ask("work"), "right", server.log.read_text())
        client.process.kill()
        server.wait_until_free()

    def test_where_nobody_listens_the_client_says_so(self):
        done = self.run_to_its_end("obedient", port=any_port())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cleave: vsock:1:\d+ is not in reach: no server there\n")

    def test_a_port_that_is_taken_is_named(self):
        taken = self.start().addresses["vsock"]
        done = subprocess.run([SERVERD, "--listen", taken], env=self.environment(**self.variables()), capture_output=True,
                              text=True, timeout=HUNG, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--listen {taken}: somebody else listens there; stop it, or name another address", done.stderr)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class OfTheKernel(Vsock, ComparedTest):
    pass


class Played(Vsock, ComparedTest):
    def variables(self):
        return {"LD_PRELOAD": STAND_IN, "CLEAVE_STAND_IN": f"cleave-vsock-{os.getpid()}"}

    def test_machines_that_are_not_there(self):
        done = self.run_to_its_end("obedient", cid=77, port=5)
        self.assertIn("vsock:77:5 is not in reach: there is no vsock here; ", done.stderr)


class WithoutVsock(ComparedTest):
    def test_both_ends_say_what_is_missing(self):
        without = self.environment(LD_PRELOAD=STAND_IN)
        done = subprocess.run([SERVERD, "--listen", "vsock:any:5"], env=without, capture_output=True, text=True,
                              timeout=HUNG, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--listen vsock:any:5: this kernel has no vsock; load its module (vhost_vsock, ", done.stderr)
        client = {name: str(value) for name, value in client_variables(self.folder, "vsock:2:5", TIMEOUT).items()}
        done = subprocess.run([OPTIONS.programs / "obedient"], env={**without, **client}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=HUNG, check=False)
        self.assertIn("vsock:2:5 is not in reach: there is no vsock here; ", done.stderr)


if __name__ == "__main__":
    if WHY_NOT:
        print(f"left out: {WHY_NOT}; what follows is played")
    main()
