"""Client, worker and server are killed at random points, and the link between them fails in every way that TCP leaves it, below
TLS or without: no call hangs, no result is wrong, no error is a strange one, nothing stays behind, and the next client works.

CLEAVE_TEST_FAULTS says how often; CLEAVE_TEST_SEED with which numbers. A line for each fault says what it did."""

import itertools
import json
import os
import random
import signal
import subprocess
import time

from certificates import Certificates
from compare import OPTIONS, ComparedTest, main
from proxy import Proxy
from serving import PATIENCE, Obedient, Server, client_variables

TIMES = int(os.environ.get("CLEAVE_TEST_FAULTS", "10"))
SEED = int(os.environ.get("CLEAVE_TEST_SEED", "1"))
TIMEOUT = 2  # seconds; the client's, and the server's
HEARTBEAT = 200  # milliseconds
# A call that is longer than any that works, and than what it takes to notice a silent peer, hangs.
HUNG = 60  # seconds
RECOVER = 60  # seconds
EXPECTED = (0, -2, -14)  # none; CL_DEVICE_NOT_AVAILABLE; CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
NO_DEVICE = -1  # the server was gone before there was a client


class Faults(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates")

    def setUp(self):
        super().setUp()
        self.where = self.folder / self.id().rpartition(".")[2]
        self.where.mkdir()
        self.temporary = self.where / "temporary"
        self.temporary.mkdir()
        self.server = self.start()
        self.longest = 0.0

    def start(self, before=None, timeout=TIMEOUT):
        server = Server(
            self.where, self.environment(TMPDIR=self.temporary), "--metrics", "tcp:127.0.0.1:0", "--state",
            self.where / "state", "--timeout", str(timeout * 1000), "--heartbeat", str(HEARTBEAT), before=before,
            tls=self.certificates.options())
        self.addCleanup(server.end)
        return server

    def begin(self, address, seconds, seed, recover=0, timeout=TIMEOUT):
        environment = self.environment()
        environment.update({name: str(value) for name, value in {
            **client_variables(self.folder, address, timeout), **self.certificates.variables()}.items()})
        program = subprocess.Popen([OPTIONS.programs / "varied_work", str(seconds), str(seed), "0", str(recover)],
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def outcome(self, program, what, errors=EXPECTED):
        """Of a client that was not killed."""
        try:
            out, err = program.communicate(timeout=2 * HUNG + RECOVER)
        except subprocess.TimeoutExpired as hung:
            stacks = subprocess.run(["gdb", "-p", str(program.pid), "-batch", "-ex", "thread apply all bt"],
                                    capture_output=True, text=True, check=False).stdout if os.path.exists(
                                        "/usr/bin/gdb") else ""
            raise AssertionError(f"{what}: the client hangs\n{self.server.log.read_text()}\n{stacks}") from hung
        words = f"{what}\n{out}{err}\n{self.server.log.read_text()}"
        self.assertEqual(program.returncode, 0, words)
        outcome = json.loads(out)
        self.assertIn(outcome["error"], errors, words)
        self.assertLess(outcome["longest_ms"], HUNG * 1000, words)
        self.longest = max(self.longest, outcome["longest_ms"])
        return outcome

    def assertNothingIsLeft(self, shared):
        self.server.wait_until_free()
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertEqual(os.listdir("/dev/shm"), shared)

    def assertServes(self):
        client = Obedient(OPTIONS.programs / "obedient", self.environment(),
                          **client_variables(self.folder, self.server.addresses["tcp"], TIMEOUT))
        self.assertEqual(client.ask("work"), "right")
        client.end()
        self.server.wait_until_free()

    def say(self, number, what, outcome):
        print(f"{number + 1}/{TIMES}: {what}: {outcome}", flush=True)

    def kill(self, victim, program, chance):
        """Gives whether the client is still there."""
        if victim == "client":
            program.kill()
            program.communicate()
            return False
        if victim == "worker":
            workers = self.server.workers()
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
            return True
        (self.server.kill_alone if victim == "supervisor" else self.server.kill)()
        time.sleep(chance.choice((0, 0, 0.3)))
        self.server = self.start(before=self.server)
        return True

    def test_killed_at_random_points(self):
        shared = os.listdir("/dev/shm")
        for number in range(TIMES):
            chance = random.Random(f"{SEED} {number}")
            victim = chance.choice(("client", "worker", "supervisor", "server"))
            transport = chance.choice(("tcp", "unix", "tls"))
            delay = chance.uniform(0, 1.5)
            what = f"seed {SEED}, the {victim} killed after {delay:.2f} s over {transport}"
            program = self.begin(self.server.addresses[transport], 3, number, RECOVER)
            time.sleep(delay)
            outcome = "killed"
            if self.kill(victim, program, chance):
                outcome = self.outcome(program, what, (*EXPECTED, NO_DEVICE))
            self.assertNothingIsLeft(shared)
            if number % 10 == 0:
                self.assertServes()
            self.say(number, what, outcome)
        print(f"the longest call: {self.longest:.0f} ms")

    def link(self, seed, transport):
        proxy = Proxy(self.server.addresses[transport], seed)
        self.addCleanup(proxy.close)
        return proxy

    def test_odd_pieces_and_delays_change_nothing(self):
        self.server.end()
        self.server = self.start(self.server, PATIENCE)
        ways = ((1, 0), (7, 0.0003), (1460, 0.002), (100_000, 0.02))
        for seed, (transport, (pieces, delay)) in enumerate(itertools.product(("tcp", "tls"), ways)):
            proxy = self.link(seed, transport)
            proxy.pieces, proxy.delay = pieces, delay
            program = self.begin(proxy.address, 3, seed, timeout=PATIENCE)
            what = f"pieces up to {pieces}, delays up to {delay} s over {transport}"
            outcome = self.outcome(program, what, (0,))
            proxy.close()
            print(f"{what}: {outcome}, {proxy.passed} bytes")
            self.server.wait_until_free()

    def test_a_silent_link_ends_every_call_in_time(self):
        for number in range(max(1, TIMES // 3)):
            chance = random.Random(f"{SEED} {number}")
            transport = chance.choice(("tcp", "tls"))
            proxy = self.link(number, transport)
            proxy.pieces = chance.choice((0, 1000))
            program = self.begin(proxy.address, HUNG, number, RECOVER)
            stalled = chance.choice((("up",), ("down",), ("up", "down")))
            time.sleep(chance.uniform(0, 1.5))
            odd = chance.choice((None, chance.randint(1, 40)))
            if odd is None:
                proxy.stalled = frozenset(stalled)
            else:  # so many bytes more: within a head, a record or a frame
                proxy.left = dict.fromkeys(stalled, odd)
            what = f"seed {SEED}, nothing passes {' and '.join(stalled)} but {odd or 0} bytes more over {transport}"
            # Both ends take the other one for gone; then the link is a new one.
            self.server.wait_for(lambda: self.server.metric("clients") == 0, f"{what}: the server keeps the client")
            time.sleep(chance.uniform(0, 3))
            proxy.stalled, proxy.left = frozenset(), {}
            outcome = self.outcome(program, what, (*EXPECTED, NO_DEVICE))
            proxy.close()
            self.server.wait_until_free()
            self.say(number, what, outcome)
        self.assertServes()
        print(f"the longest call: {self.longest:.0f} ms")

    def test_a_link_that_is_reset_is_noticed_at_once(self):
        for number in range(max(1, TIMES // 3)):
            chance = random.Random(f"{SEED} {number}")
            transport = chance.choice(("tcp", "tls"))
            proxy = self.link(number, transport)
            proxy.pieces = chance.choice((0, 3, 1000))
            program = self.begin(proxy.address, 3, number, RECOVER)
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
            self.server.wait_until_free()
            self.say(number, what, outcome)
        self.assertServes()


if __name__ == "__main__":
    main()
