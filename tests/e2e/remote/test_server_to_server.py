"""Contents that move between the servers of a context go directly between them where their operators permit it, and through the
program's machine where they do not, where an older server does not know how, and where the way between them fails: with the same
results."""

import socket
import struct
import types

from certificates import Certificates
from proxy import Listener, Proxy
from support.options import OPTIONS, main
from support.processes import wait_until
from support.remote import DEVICE_LOST, HANG_TIMEOUT, METRICS, RemoteTest

SIZES = (4 << 10, 256 << 10, (6 << 20) + 4)
DIRECT_SIZES = 2  # of these; the others are too small for it
MOVES = 4  # of each: there and back, twice
ALL = MOVES * sum(SIZES)
LITTLE = 1 << 20  # bytes, at most, of all that is not contents
SHORT_TIMEOUT = 1000  # milliseconds, of servers one of which falls silent

# The features, on the wire, of a server that offers contents and fetches them from others; and of an older one.
OFFERS, FETCHES = 1 << 8, 1 << 9
FEATURES = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | OFFERS | FETCHES | 1 << 11 | 1 << 12


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class ProxyOfAnOlderServer(Proxy):
    """Its Welcome lacks some features."""

    def __init__(self, target, lacks):
        self.lacks = lacks
        super().__init__(target)

    def changed(self, direction, data):
        there, not_there = (struct.pack("<Q", FEATURES & ~lacks) for lacks in (0, self.lacks))
        if direction == "down" and there in data:
            self.found = True
            return data.replace(there, not_there, 1)
        return data


class Refusing(Listener):
    """It ends each connection at once."""

    def __init__(self):
        self.connections = 0
        super().__init__("tcp")

    def serve(self, client):
        self.connections += 1
        client.close()


class ServerToServer(RemoteTest):
    def setUp(self):
        super().setUp()
        self.command = [OPTIONS.programs / "moving_contents", *SIZES]

    def start(self, name, port, *options, kind="tcp", **others):
        """On a port that is known before."""
        addresses = {kind: f"{kind}:127.0.0.1:{port}"}
        return self.start_server(self.own_folder() / name, *METRICS, *options,
                                 before=types.SimpleNamespace(addresses=addresses), **others)

    def pair(self, *options, peers=None, between=None, ports=None, kind="tcp", **others):
        """Two servers that fetch contents from each other: by `between`, the addresses of the two for each other, if not by their
        own. `peers`: whom they may fetch from, if not from each other."""
        ports = ports or [free_port(), free_port()]
        own = between or [f"{kind}:127.0.0.1:{port}" for port in ports]
        self.servers = [self.start(name, port, "--peer-address", own[this], *(peers if peers is not None else ["--peers", own[1 - this]]),
                                   *options, kind=kind, **others)
                        for this, (name, port) in enumerate(zip(("one", "two"), ports))]

    def moved(self, proxies, **settings):
        """How many bytes go over the program's link while it does its work, whose results are the native ones."""
        run = self.assertSameRemotely(self.run_native(*self.command), "native", ",".join(proxy.address for proxy in proxies),
                                      *self.command, **settings)
        self.assertEqual(run.err, "", run)
        self.assertNoCrash(*self.servers)
        return sum(proxy.passed for proxy in proxies)

    def links(self, kind="tcp"):
        proxies = [Proxy(server.addresses[kind]) for server in self.servers]
        for proxy in proxies:
            self.addCleanup(proxy.close)
        return proxies

    def direct_transfers(self):
        return sum(server.metric("fetched_from_total") for server in self.servers)

    def assertDirect(self, passed):
        self.assertLess(passed, LITTLE)
        self.assertEqual(self.direct_transfers(), MOVES * DIRECT_SIZES)

    def assertThroughTheProgram(self, passed):
        self.assertGreater(passed, 2 * ALL)

    def test_contents_go_directly(self):
        self.pair()
        self.assertDirect(self.moved(self.links()))

    def test_a_network_is_permitted(self):
        ports = [free_port(), free_port()]
        self.pair(ports=ports, peers=["--peers", ",".join(f"tcp:127.0.0.0/24:{port}" for port in ports)])
        self.assertDirect(self.moved(self.links()))

    def test_over_tls(self):
        certificates = Certificates(self.own_folder() / "certificates")
        self.pair("--peer-ca", certificates.ours.path, *certificates.options(), kind="tls")
        self.assertDirect(self.moved(self.links("tls"), **certificates.variables()))

    def test_where_other_servers_certificates_are_worth_nothing(self):
        certificates = Certificates(self.own_folder() / "certificates")
        self.pair(*certificates.options(), kind="tls")  # signed by none of the system's authorities
        self.assertThroughTheProgram(self.moved(self.links("tls"), **certificates.variables()))
        self.assertEqual(self.direct_transfers(), 0)
        self.assertIn("certificate", self.servers[1].text())

    def test_in_the_sandbox(self):
        self.pair("--sandbox", "auto")
        self.assertDirect(self.moved(self.links()))

    def test_nobody_is_permitted_unless_the_operator_says_so(self):
        self.pair(peers=[])
        self.assertThroughTheProgram(self.moved(self.links()))
        self.assertEqual(self.direct_transfers(), 0)

    def test_other_servers_are_not_connected_to(self):
        self.pair(peers=["--peers", f"tcp:127.0.0.1:{free_port()},tcp:127.0.1.0/24"])
        self.assertThroughTheProgram(self.moved(self.links()))
        self.assertEqual([server.metric("connections_total") for server in self.servers], [1, 1])
        self.assertIn("none of its addresses is of a server that --peers names", self.servers[1].text())

    def test_older_servers(self):
        for lacks in (OFFERS, FETCHES):
            self.pair()
            proxies = [ProxyOfAnOlderServer(server.addresses["tcp"], lacks) for server in self.servers]
            for proxy in proxies:
                self.addCleanup(proxy.close)
            self.assertThroughTheProgram(self.moved(proxies))
            self.assertEqual([proxy.found for proxy in proxies], [True, True])
            self.assertEqual(self.direct_transfers(), 0)

    def broken(self, *options, **attributes):
        """Servers that reach each other by links of such attributes, which are returned: to the first, and to the second."""
        ports = [free_port(), free_port()]
        between = [Proxy(f"tcp:127.0.0.1:{port}") for port in ports]
        for proxy in between:
            self.addCleanup(proxy.close)
            for name, value in attributes.items():
                setattr(proxy, name, value)
        self.pair(*options, ports=ports, between=[proxy.address for proxy in between])
        return between

    def test_a_link_between_them_that_breaks_off_in_the_middle(self):
        self.broken(left={"down": 3 << 20}, cuts=True)
        passed = self.moved(self.links())
        self.assertGreater(passed, 2 * SIZES[-1])
        self.assertGreater(self.direct_transfers(), 0)

    def test_a_link_between_them_that_stalls_in_the_middle(self):
        self.broken("--timeout", SHORT_TIMEOUT, left={"down": 3 << 20})
        passed = self.moved(self.links())
        self.assertGreater(passed, 2 * SIZES[-1])
        self.assertGreater(self.direct_transfers(), 0)

    def test_a_server_that_dies_in_the_middle(self):
        """The program learns in time that the contents are lost, or the device is."""
        for dies, error in ((0, "clEnqueueReadBuffer: error"), (1, DEVICE_LOST)):
            source, _ = self.broken("--timeout", SHORT_TIMEOUT, left={"down": 3 << 20})
            addresses = ",".join(server.addresses["tcp"] for server in self.servers)
            program = self.start_program("moving_contents", SIZES[-1], environment=self.client_environment(addresses))
            wait_until(lambda: source.left["down"] == 0, "nothing is under way between the servers")
            self.servers[dies].kill()
            out, err = program.communicate(timeout=HANG_TIMEOUT)
            self.assertEqual((program.returncode != 0, out), (True, ""), err)
            self.assertIn(error, err)

    def test_a_link_between_them_that_dribbles(self):
        self.broken(fragments=5000)
        self.assertDirect(self.moved(self.links()))

    def test_nobody_listens_where_the_other_should(self):
        self.pair(between=[f"tcp:127.0.0.1:{free_port()}" for _ in range(2)])
        self.assertThroughTheProgram(self.moved(self.links()))
        self.assertIn("no server there", self.servers[1].text())

    def test_what_fails_in_one_context_is_not_tried_in_the_next(self):
        between = [Refusing(), Refusing()]
        for one in between:
            self.addCleanup(one.close)
        self.pair(between=[one.address for one in between])
        self.command = [OPTIONS.programs / "moving_contents", "--apart", *[SIZES[1]] * 3]
        self.assertGreater(self.moved(self.links()), 3 * MOVES * SIZES[1])
        self.assertEqual([one.connections for one in between], [1, 1])


if __name__ == "__main__":
    main()
