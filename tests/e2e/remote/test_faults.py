"""Client, worker and server are killed at random points, and the link between them fails in every way that TCP can fail,
below TLS or without: no call hangs, no result is wrong, no unexpected error is returned, nothing is left behind, and the
next client works.

CLEAVE_TEST_FAULTS says how often; CLEAVE_TEST_SEED with which numbers. Each fault prints a line."""

import itertools
import json
import os
import random
import signal
import subprocess
import time

from certificates import Certificates
from proxy import Proxy
from support.options import main
from support.remote import METRICS, RemoteTest

TIMES = int(os.environ.get("CLEAVE_TEST_FAULTS", "10"))
SEED = int(os.environ.get("CLEAVE_TEST_SEED", "1"))
CONNECTION_TIMEOUT = 2  # seconds; the client's, and the server's
PATIENT_TIMEOUT = 20  # the same for a link that is slow but works
HEARTBEAT = 200  # milliseconds
# A call that takes longer than any that works, and than it takes to notice a silent peer, hangs.
HANG_TIMEOUT = 60  # seconds
RECOVERY_TIMEOUT = 60  # seconds
EXPECTED = (0, -2, -14)  # none; CL_DEVICE_NOT_AVAILABLE; CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
NO_DEVICE = -1  # the server was gone before there was a client


def stacks_of(process):
    gdb = "/usr/bin/gdb"
    if not os.path.exists(gdb):
        return ""
    return subprocess.run([gdb, "-p", str(process.pid), "-batch", "-ex", "thread apply all bt"], capture_output=True,
                          text=True, check=False).stdout


class Faults(RemoteTest):
    client_timeout = CONNECTION_TIMEOUT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates")

    def setUp(self):
        super().setUp()
        self.temporary = self.own_folder() / "temporary"
        self.temporary.mkdir()
        self.server = self.start()
        self.slowest = 0.0

    def start(self, before=None, timeout=CONNECTION_TIMEOUT):
        return self.start_server(
            self.own_folder(), *METRICS, "--state", self.own_folder() / "state", "--timeout", timeout * 1000,
            "--heartbeat", HEARTBEAT, before=before, tls=self.certificates.options(),
            environment=self.environment(TMPDIR=self.temporary))

    def begin(self, address, seconds, seed, recovery=0, timeout=CONNECTION_TIMEOUT):
        environment = self.client_environment(address, CLEAVE_REMOTE_TIMEOUT=timeout, **self.certificates.variables())
        return self.start_program("random_work", seconds, seed, 0, recovery, environment=environment)

    def outcome(self, program, what, errors=EXPECTED):
        """Of a client that was not killed."""
        try:
            out, err = program.communicate(timeout=2 * HANG_TIMEOUT + RECOVERY_TIMEOUT)
        except subprocess.TimeoutExpired as hung:
            raise AssertionError(f"{what}: the client hangs\n{self.server.text()}\n{stacks_of(program)}") from hung
        message = f"{what}\n{out}{err}\n{self.server.text()}"
        self.assertEqual(program.returncode, 0, message)
        outcome = json.loads(out)
        self.assertIn(outcome["error"], errors, message)
        self.assertLess(outcome["longest_ms"], HANG_TIMEOUT * 1000, message)
        self.slowest = max(self.slowest, outcome["longest_ms"])
        return outcome

    def assertNothingIsLeft(self, shared):
        self.server.wait_until_idle()
        self.server.wait_for(lambda: not self.server.left_in(self.temporary), "files are left behind")
        left = [name for name in os.listdir("/dev/shm") if "cleave" in name and name not in shared]
        self.assertEqual(left, [])

    def assertWorks(self):
        self.assertServes(self.server, self.server.addresses["tcp"])

    def report(self, number, what, outcome):
        print(f"{number + 1}/{TIMES}: {what}: {outcome}", flush=True)

    def kill(self, victim, program, chance):
        """Returns whether the client still runs."""
        if victim == "client":
            program.kill()
            program.communicate()
            return False
        if victim == "worker":
            workers = self.server.workers()
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
            return True
        (self.server.kill_supervisor if victim == "supervisor" else self.server.kill)()
        time.sleep(chance.choice((0, 0, 0.3)))
        self.server = self.start(before=self.server)
        return True

    def test_processes_killed_at_random_points(self):
        shared = os.listdir("/dev/shm")
        for number in range(TIMES):
            chance = random.Random(f"{SEED} {number}")
            victim = chance.choice(("client", "worker", "supervisor", "server"))
            transport = chance.choice(("tcp", "unix", "tls"))
            delay = chance.uniform(0, 1.5)
            what = f"seed {SEED}, the {victim} killed after {delay:.2f} s over {transport}"
            program = self.begin(self.server.addresses[transport], 3, number, RECOVERY_TIMEOUT)
            time.sleep(delay)
            outcome = "killed"
            if self.kill(victim, program, chance):
                outcome = self.outcome(program, what, (*EXPECTED, NO_DEVICE))
            self.assertNothingIsLeft(shared)
            if number % 10 == 0:
                self.assertWorks()
            self.report(number, what, outcome)
        print(f"the slowest call: {self.slowest:.0f} ms")

    def link(self, seed, transport):
        proxy = Proxy(self.server.addresses[transport], seed)
        self.addCleanup(proxy.close)
        return proxy

    def test_fragmentation_and_delays_change_nothing(self):
        self.server.stop()
        self.server = self.start(self.server, PATIENT_TIMEOUT)
        links = ((1, 0), (7, 0.0003), (1460, 0.002), (100_000, 0.02))
        for seed, (transport, (fragments, delay)) in enumerate(itertools.product(("tcp", "tls"), links)):
            proxy = self.link(seed, transport)
            proxy.fragments, proxy.delay = fragments, delay
            program = self.begin(proxy.address, 3, seed, timeout=PATIENT_TIMEOUT)
            what = f"fragments up to {fragments} bytes, delays up to {delay} s over {transport}"
            outcome = self.outcome(program, what, (0,))
            proxy.close()
            print(f"{what}: {outcome}, {proxy.passed} bytes")
            self.server.wait_until_idle()

    def test_silent_link_ends_every_call_in_time(self):
        for number in range(max(1, TIMES // 3)):
            chance = random.Random(f"{SEED} {number}")
            transport = chance.choice(("tcp", "tls"))
            proxy = self.link(number, transport)
            proxy.fragments = chance.choice((0, 1000))
            program = self.begin(proxy.address, HANG_TIMEOUT, number, RECOVERY_TIMEOUT)
            stalled = chance.choice((("up",), ("down",), ("up", "down")))
            time.sleep(chance.uniform(0, 1.5))
            more = chance.choice((None, chance.randint(1, 40)))
            if more is None:
                proxy.stalled = frozenset(stalled)
            else:  # so many bytes more: within a header, a record or a frame
                proxy.left = dict.fromkeys(stalled, more)
            what = f"seed {SEED}, {' and '.join(stalled)} stalled after {more or 0} bytes more over {transport}"
            # Both ends take the other one for gone; then the link is a new one.
            self.server.wait_for(lambda: self.server.metric("clients") == 0, f"{what}: the server keeps the client")
            time.sleep(chance.uniform(0, 3))
            proxy.stalled, proxy.left = frozenset(), {}
            outcome = self.outcome(program, what, (*EXPECTED, NO_DEVICE))
            proxy.close()
            self.server.wait_until_idle()
            self.report(number, what, outcome)
        self.assertWorks()
        print(f"the slowest call: {self.slowest:.0f} ms")

    def test_reset_link_is_noticed_at_once(self):
        for number in range(max(1, TIMES // 3)):
            chance = random.Random(f"{SEED} {number}")
            transport = chance.choice(("tcp", "tls"))
            proxy = self.link(number, transport)
            proxy.fragments = chance.choice((0, 3, 1000))
            program = self.begin(proxy.address, 3, number, RECOVERY_TIMEOUT)
            for _ in range(3):
                time.sleep(chance.uniform(0, 0.8))
                if chance.random() < 0.5:
                    proxy.cut()
                    continue
                # After so many bytes more of what comes next, if anything does.
                proxy.cuts, proxy.left = True, {chance.choice(("up", "down")): chance.randint(0, 2000)}
                time.sleep(0.1)
                proxy.left = {}
            what = f"seed {SEED}, three times reset over {transport}"
            outcome = self.outcome(program, what, (*EXPECTED, NO_DEVICE))
            proxy.close()
            self.server.wait_until_idle()
            self.report(number, what, outcome)
        self.assertWorks()


if __name__ == "__main__":
    main()
