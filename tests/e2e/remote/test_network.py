"""Client and server on two networks: results are right where packets are lost, late and out of order; where the link is cut
every call ends in time, and when it is mended the client works again."""

import json
import os
import random
import subprocess
import sys
import time

from certificates import Certificates
from compare import OPTIONS, ComparedTest, main
from network import NEAR, Cable, Wire, why_not
from serving import Server, client_variables

SKIPPED = 77  # what CMakeLists.txt tells ctest
TIMEOUT = 2  # seconds; the client's, and the server's
PATIENT = 20  # where many packets in a row may be lost
HUNG = 60  # seconds
LOST = (-2, -14)  # CL_DEVICE_NOT_AVAILABLE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
LOSS, DELAY = 0.05, 0.02  # of the packets; seconds
TIMES = max(1, int(os.environ.get("CLEAVE_TEST_FAULTS", "10")) // 10)


class OverANetwork(ComparedTest):
    transport = "tcp"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates", f"IP:{NEAR}")

    def use(self, network, timeout=TIMEOUT):
        """A server at its near end."""
        self.timeout = timeout
        self.addCleanup(network.close)
        self.network = network
        where = self.folder / self.id().rpartition(".")[2]
        where.mkdir()
        self.token = where / "token"
        self.token.write_text("a token of this test\n")
        self.token.chmod(0o600)
        self.server = Server(where, self.environment(), "--token-file", self.token, "--timeout", str(timeout * 1000),
                             "--heartbeat", "500", host=NEAR, tls=self.certificates.options(), prefix=network.inside(0))
        self.addCleanup(self.server.end)
        return network

    def wire(self, seed):
        try:
            return Wire(seed)
        except OSError as problem:
            self.skipTest(str(problem))

    def begin(self, seconds, seed, recover=0):
        environment = self.environment(CLEAVE_REMOTE_TOKEN_FILE=self.token)
        environment.update({name: str(value) for name, value in {
            **client_variables(self.folder, self.server.addresses[self.transport], self.timeout),
            **self.certificates.variables()}.items()})
        program = subprocess.Popen(
            [*self.network.inside(1), OPTIONS.programs / "varied_work", str(seconds), str(seed), "0", str(recover)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def outcome(self, program, what):
        out, err = program.communicate(timeout=4 * HUNG)
        words = f"{what}\n{out}{err}\n{self.server.log.read_text()}"
        self.assertEqual(program.returncode, 0, words)
        outcome = json.loads(out)
        self.assertLess(outcome["longest_ms"], HUNG * 1000, words)
        print(f"{what}: {outcome}", flush=True)
        return outcome

    def assertWorksInSpiteOf(self, what, seconds=6):
        for seed in range(TIMES):
            outcome = self.outcome(self.begin(seconds, seed), what)
            self.assertEqual(outcome["error"], 0, self.server.log.read_text())
            self.assertGreater(outcome["steps"], 0)

    def assertNoticesACut(self):
        for seed in range(TIMES):
            chance = random.Random(seed)
            program = self.begin(HUNG, seed, HUNG)
            self.server.wait_for(lambda: self.server.log.read_text().count(": came") > seed, "no client came")
            time.sleep(chance.uniform(0, 2))
            self.network.cut()
            self.server.wait_for(lambda: self.server.log.read_text().count(": went") > 2 * seed, "the client stays")
            # Its calls have to end while the link is still cut.
            time.sleep(2 * TIMEOUT)
            self.network.mend()
            outcome = self.outcome(program, "a link that was cut")
            self.assertIn(outcome["error"], LOST)

    def test_packets_that_are_lost_and_late(self):
        wire = self.use(self.wire(1), PATIENT)
        wire.loss, wire.delay = LOSS, DELAY
        self.assertWorksInSpiteOf(f"{LOSS:.0%} lost, {DELAY * 1000:.0f} ms late and out of order")
        self.assertGreater(wire.lost, 0)
        print(f"{wire.passed} packets passed, {wire.lost} were lost")

    def test_the_same_by_the_kernels_netem(self):
        cable = self.use(Cable(), PATIENT)
        try:
            cable.worsen("loss", f"{LOSS:.0%}", "delay", f"{DELAY * 1000:.0f}ms")
        except OSError as problem:
            self.skipTest(f"this kernel has no netem: {problem}")
        self.assertWorksInSpiteOf("netem")

    def test_a_cut_cable(self):
        self.use(Cable())
        self.assertNoticesACut()

    def test_a_wire_on_which_nothing_passes(self):
        self.use(self.wire(2))
        self.assertNoticesACut()


class OverANetworkWithTls(OverANetwork):
    transport = "tls"


if __name__ == "__main__":
    MISSING = why_not()
    if MISSING:
        print(f"skipped for want of {MISSING}")
        sys.exit(SKIPPED)
    main()
