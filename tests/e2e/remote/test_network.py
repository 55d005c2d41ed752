"""Client and server on two networks: results are right while packets are lost, delayed and reordered; while the link is cut
every call ends in time, and when it is restored the client works again."""

import json
import os
import random
import time

from certificates import Certificates
from network import SERVER_ADDRESS, Network, TunnelLink, VirtualCable
from support.options import main, skip
from support.remote import RemoteTest

CONNECTION_TIMEOUT = 2  # seconds; the client's, and the server's
PATIENT_TIMEOUT = 20  # the same for a link that may lose many packets in a row
HANG_TIMEOUT = 60  # seconds
LOST = (-2, -14)  # CL_DEVICE_NOT_AVAILABLE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
LOSS, DELAY = 0.05, 0.02  # of the packets; seconds
TIMES = max(1, int(os.environ.get("CLEAVE_TEST_FAULTS", "10")) // 10)


class OverNetwork(RemoteTest):
    transport = "tcp"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates", f"IP:{SERVER_ADDRESS}")

    def use(self, network, timeout=CONNECTION_TIMEOUT):
        """Starts a server at the network's first end."""
        self.timeout = timeout
        self.addCleanup(network.close)
        self.network = network
        self.token = self.secret()
        self.server = self.start_server(
            self.own_folder(), "--token-file", self.token, "--timeout", timeout * 1000, "--heartbeat", "500",
            host=SERVER_ADDRESS, tls=self.certificates.options(), prefix=network.inside(0))
        return network

    def tunnel(self, seed):
        try:
            return TunnelLink(seed)
        except OSError as problem:
            self.skipTest(str(problem))

    def begin(self, seconds, seed, recovery=0):
        environment = self.client_environment(
            self.server.addresses[self.transport], CLEAVE_REMOTE_TIMEOUT=self.timeout,
            CLEAVE_REMOTE_TOKEN_FILE=self.token, **self.certificates.variables())
        return self.start_program("random_work", seconds, seed, 0, recovery, environment=environment,
                                  prefix=self.network.inside(1))

    def outcome(self, program, what):
        out, err = program.communicate(timeout=4 * HANG_TIMEOUT)
        message = f"{what}\n{out}{err}\n{self.server.text()}"
        self.assertEqual(program.returncode, 0, message)
        outcome = json.loads(out)
        self.assertLess(outcome["longest_ms"], HANG_TIMEOUT * 1000, message)
        print(f"{what}: {outcome}", flush=True)
        return outcome

    def assertWorksDespite(self, what, seconds=6):
        for seed in range(TIMES):
            outcome = self.outcome(self.begin(seconds, seed), what)
            self.assertEqual(outcome["error"], 0, self.server.text())
            self.assertGreater(outcome["steps"], 0)

    def assertNoticesCut(self):
        for seed in range(TIMES):
            chance = random.Random(seed)
            program = self.begin(HANG_TIMEOUT, seed, HANG_TIMEOUT)
            self.server.wait_for_log(": connected", seed + 1)
            time.sleep(chance.uniform(0, 2))
            self.network.cut()
            self.server.wait_for_log(": disconnected", 2 * seed + 1)
            # Its calls have to end while the link is still cut.
            time.sleep(2 * CONNECTION_TIMEOUT)
            self.network.restore()
            outcome = self.outcome(program, "a link that was cut")
            self.assertIn(outcome["error"], LOST)

    def test_lost_and_delayed_packets_change_nothing(self):
        link = self.use(self.tunnel(1), PATIENT_TIMEOUT)
        link.loss, link.delay = LOSS, DELAY
        self.assertWorksDespite(f"{LOSS:.0%} lost, {DELAY * 1000:.0f} ms delayed and reordered")
        self.assertGreater(link.lost, 0)
        print(f"{link.passed} packets passed, {link.lost} were lost")

    def test_packets_lost_and_delayed_by_netem_change_nothing(self):
        cable = self.use(VirtualCable(), PATIENT_TIMEOUT)
        try:
            cable.add_netem("loss", f"{LOSS:.0%}", "delay", f"{DELAY * 1000:.0f}ms")
        except OSError as problem:
            self.skipTest(f"this kernel has no netem: {problem}")
        self.assertWorksDespite("netem")

    def test_interface_taken_down_ends_calls_in_time(self):
        self.use(VirtualCable())
        self.assertNoticesCut()

    def test_dropped_packets_end_calls_in_time(self):
        self.use(self.tunnel(2))
        self.assertNoticesCut()


class OverNetworkWithTls(OverNetwork):
    transport = "tls"


if __name__ == "__main__":
    if missing := Network.missing():
        skip(f"needs {missing}")
    main()
