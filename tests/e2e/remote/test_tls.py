"""TLS between client and server, and all that can go wrong with it: links that stop within a record or a handshake, peers
that speak something else, certificates that prove nothing. Every call of the client's ends in time, the server forgets
whoever is not let in, and others do not notice."""

import socket
import ssl
import subprocess
import threading
import time

from certificates import Authority, Certificates
from compare import OPTIONS, ComparedTest, main, needed
from proxy import Proxy
from serving import HUNG, Obedient, Server, client_variables, wait_until
from tls_relay import TlsRelay

TIMEOUT = 10  # seconds, the client's; in that time any server answers
HURRY = 1  # where none will
SILENCE = 5  # seconds, the server's
HEARTBEAT = 200  # milliseconds
LOST = "error -2"  # CL_DEVICE_NOT_AVAILABLE
PLENTY = 1 << 40  # bytes
DRIBBLE = 0.1  # seconds between two bytes
DRIBBLED = 400  # of them; the server's patience with a beginner is over long before


class WithTls(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates")
        cls.theirs = Authority(cls.folder / "certificates", "theirs")

    def setUp(self):
        super().setUp()
        self.where = self.folder / self.id().rpartition(".")[2]
        self.server = self.start("server")

    def start(self, name, *options, **tls):
        self.where.mkdir(exist_ok=True)
        server = Server(self.where / name, self.environment(), "--metrics", "tcp:127.0.0.1:0", "--timeout",
                        str(SILENCE * 1000), "--heartbeat", str(HEARTBEAT), *options, tls=self.certificates.options(**tls))
        self.addCleanup(server.end)
        return server

    def variables(self, address, **changes):
        timeout = changes.pop("timeout", TIMEOUT)
        return {**client_variables(self.folder, address, timeout), **self.certificates.variables(), **changes}

    def begin(self, address=None, **changes):
        client = Obedient(OPTIONS.programs / "obedient", self.environment(),
                          **self.variables(address or self.server.addresses["tls"], **changes))
        self.addCleanup(client.end)
        return client

    def link(self, **attributes):
        proxy = Proxy(self.server.addresses["tls"])
        self.addCleanup(proxy.close)
        for name, value in attributes.items():
            setattr(proxy, name, value)
        return proxy

    def complaint(self, address=None, **changes):
        """What a program says that gets no device, and that it ends."""
        done = subprocess.run(
            [OPTIONS.programs / "obedient"], env={**self.environment(), **{
                name: str(value) for name, value in self.variables(
                    address or self.server.addresses["tls"], **changes).items()}},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HUNG, check=False)
        self.assertEqual(done.returncode, 1, f"there is a device\n{done.stderr}\n{self.server.log.read_text()}")
        return done.stderr

    def assertServes(self):
        client = self.begin()
        self.assertEqual(client.ask("work"), "right", self.server.log.read_text())
        client.end()
        self.server.wait_until_free()


class Links(WithTls):
    def test_a_record_that_stops_halfway_ends_calls_in_time(self):
        for direction in ("down", "up"):
            proxy = self.link()
            client = self.begin(proxy.address)
            self.assertEqual(client.ask("hold"), "held")
            # Signs of life pass: nobody but the client's own thread reads now.
            before = proxy.passed
            wait_until(lambda: proxy.passed > before, "no sign of life")
            proxy.left = {direction: 9}  # a record's head is 5 bytes
            wait_until(lambda: proxy.left[direction] == 0, "no sign of life")
            self.assertEqual(client.ask("use"), LOST, direction)
            self.server.wait_until_free()
            proxy.left = {}
            self.assertEqual(client.ask("work"), "right", direction)
            client.end()
            proxy.close()
        self.server.wait_until_free()

    def test_a_cut_within_a_record_ends_calls(self):
        for direction in ("down", "up"):
            proxy = self.link()
            client = self.begin(proxy.address)
            self.assertEqual(client.ask("hold"), "held")
            proxy.left, proxy.cuts = {direction: 9}, True
            wait_until(lambda: not proxy.connections, "it is not cut")
            proxy.left = {}
            self.assertEqual(client.ask("use"), LOST, direction)
            self.assertEqual(client.ask("work"), "right", direction)
            client.end()
            proxy.close()
        self.server.wait_until_free()

    def test_a_handshake_that_stops_anywhere_ends_in_time(self):
        proxy = self.link(left={"up": PLENTY, "down": PLENTY})
        client = self.begin(proxy.address)
        client.ask("available")
        client.end()
        whole = {direction: PLENTY - left for direction, left in proxy.left.items()}
        for direction, size in whole.items():
            for stop in (0, 1, 5, size // 6, size // 3, size // 2):
                for cuts in (False, True):
                    proxy = self.link(left={direction: stop}, cuts=cuts)
                    self.assertRegex(self.complaint(proxy.address, timeout=HURRY), "is not in reach: ",
                                     f"{direction} {stop} {cuts}")
                    proxy.close()
        self.server.wait_until_free()
        self.assertServes()

    def test_the_end_that_tls_has_is_an_end(self):
        """One end says close_notify, and leaves the connection open."""
        for end in ("client", "server"):
            relay = TlsRelay(self.server.addresses["tls"], self.certificates)
            self.addCleanup(relay.close)
            client = self.begin(relay.address)
            self.assertEqual(client.ask("hold"), "held")
            relay.notify(end)
            self.assertEqual(client.ask("use"), LOST, end)
            self.server.wait_until_free()
            self.assertEqual(client.ask("work"), "right", end)
            client.end()
            relay.close()
        self.server.wait_until_free()


class Strangers(WithTls):
    """Who is no client of ours."""

    def connect(self):
        host, port = self.server.addresses["tls"].removeprefix("tls:").split(":")
        stranger = socket.create_connection((host, int(port)))
        stranger.settimeout(HUNG)
        self.addCleanup(stranger.close)
        return stranger

    def known(self):
        """A stranger with a certificate."""
        context = ssl.create_default_context(cafile=self.certificates.ours.path)
        context.load_cert_chain(self.certificates.client, self.certificates.client.with_suffix(".key"))
        stranger = context.wrap_socket(self.connect(), server_hostname="127.0.0.1")
        self.addCleanup(stranger.close)
        return stranger

    def assertIsSentAway(self, stranger):
        try:
            while stranger.recv(4096):
                pass
        except ConnectionError:
            pass  # unread words of its own make it a reset

    def first_words(self):
        """Of a handshake."""
        outgoing = ssl.MemoryBIO()
        try:
            ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def test_who_never_shakes_hands_delays_nobody_and_is_sent_away(self):
        hello = self.first_words()
        openings = (b"", hello[:1], hello[:5], hello[:100], hello[:-1], hello)
        strangers = [self.connect() for _ in openings]
        for stranger, words in zip(strangers, openings):
            stranger.sendall(words)
        client = self.begin()
        self.assertEqual(client.ask("work"), "right")
        client.end()
        for stranger in strangers:
            self.assertIsSentAway(stranger)
        self.server.wait_until_free()
        # A worker may have gone before the server hears its last words.
        self.server.wait_for(lambda: self.server.metric("refused_total") == len(openings), "not all have been refused")

    def test_garbage_is_no_handshake(self):
        hello = self.first_words()
        spoilt = bytes(byte ^ (0x55 if place % 17 == 16 else 0) for place, byte in enumerate(hello))
        for words in (b"GET / HTTP/1.1\r\nHost: there\r\n\r\n", bytes(4096), b"\xff" * 70_000,
                      b"\x16\x03\x01\xff\xff" + bytes(70_000), spoilt, hello + hello, hello + bytes(4096)):
            stranger = self.connect()
            try:
                stranger.sendall(words)
                stranger.shutdown(socket.SHUT_WR)
            except ConnectionError:
                pass
            self.assertIsSentAway(stranger)
        self.server.wait_until_free()
        self.assertNotIn("crashed", self.server.log.read_text())
        self.assertServes()

    def assertDribblingEnds(self, stranger, words):
        """A byte at a time: never so slow that nothing comes, and never done."""
        sent = 0
        try:
            for byte in words:
                stranger.sendall(bytes([byte]))
                sent += 1
                time.sleep(DRIBBLE)
        except (ConnectionError, ssl.SSLError):
            pass
        self.assertLess(sent, len(words), "it could have gone on")

    def test_who_dribbles_is_sent_away_in_time(self):
        self.assertDribblingEnds(self.connect(), bytes(b"\x16\x03\x01\x0f\xff\x01\x00\x0f\xfb\x03\x03") + bytes(DRIBBLED))
        # The head of a frame whose message is a Hello of 4096 bytes.
        self.assertDribblingEnds(self.known(), b"\x00\x10\x00\x00\x01" + bytes(DRIBBLED))
        self.server.wait_until_free()
        self.assertServes()

    def test_renegotiation_and_old_versions_are_refused(self):
        host = self.server.addresses["tls"].removeprefix("tls:")
        files = ["-CAfile", self.certificates.ours.path, "-cert", self.certificates.client, "-key",
                 self.certificates.client.with_suffix(".key")]
        # R asks for a handshake within the first, K for new keys.
        for options, words in ((["-tls1_2"], "R\n"), (["-tls1_3"], "K\n"), (["-tls1_1"], "\n"), (["-tls1"], "\n")):
            with subprocess.Popen(
                    [needed("openssl", "openssl"), "s_client", "-connect", host, *options, *files], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as stranger:
                # Its input stays open until it has ended: the server has to end it.
                watchdog = threading.Timer(HUNG, stranger.kill)
                watchdog.start()
                stranger.stdin.write(words)
                stranger.stdin.flush()
                said = stranger.stdout.read()
                watchdog.cancel()
            self.assertNotEqual(stranger.returncode, -9, f"{options} may stay\n{said}")
        self.server.wait_until_free()
        self.assertNotIn("crashed", self.server.log.read_text())
        self.assertServes()


class WhatIsSaid(WithTls):
    """To whom it does not work: in the program's one line, and in the server's log."""

    def assertRefused(self, server, client_says, server_says="", **changes):
        self.assertRegex(self.complaint(server.addresses["tls"], **changes), f"is not in reach: {client_says}")
        server.wait_for(lambda: server_says in server.log.read_text(), f"it does not say {server_says}")

    def test_certificates_that_prove_nothing(self):
        ours, theirs = self.certificates.ours, self.theirs
        stranger = theirs.sign("stranger")
        expired = ours.sign("expired", days=-1)
        self.assertRefused(self.server, "TLS: .*certificate", CLEAVE_REMOTE_CA=theirs.path)
        self.assertRefused(self.server, "TLS: .*unknown ca", "unable to get local issuer certificate",
                           **self.certificates.variables(stranger))
        self.assertRefused(self.server, "TLS: .*expired", "certificate has expired", **self.certificates.variables(expired))
        self.assertRefused(self.server, "TLS: .*certificate required", "did not return a certificate",
                           CLEAVE_REMOTE_CERT="", CLEAVE_REMOTE_KEY="")
        self.assertServes()

    def test_servers_that_are_not_who_they_say(self):
        ours = self.certificates.ours
        for name, alternative, days, words in (("late", "IP:127.0.0.1", -1, "TLS: certificate has expired"),
                                               ("elsewhere", "IP:127.0.0.2", 2, "TLS: IP address mismatch"),
                                               ("nowhere", "DNS:nowhere", 2, "TLS: IP address mismatch")):
            certificate = ours.sign(name, alternative, days)
            server = self.start(name, certificate=certificate)
            self.assertRefused(server, words)
            by_name = server.addresses["tls"].replace("127.0.0.1", "localhost")
            self.assertIn("TLS: ", self.complaint(by_name))
            server.end()

    def test_ends_that_do_not_speak_tls(self):
        plain = self.server.addresses["tls"].replace("tls:", "tcp:")
        self.assertRegex(self.complaint(plain), "is not in reach: the connection broke off at the start")
        secure = self.server.addresses["tcp"].replace("tcp:", "tls:")
        self.assertRegex(self.complaint(secure), "is not in reach: TLS: ")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.assertRegex(self.complaint(f"tls:127.0.0.1:{silent.getsockname()[1]}", timeout=HURRY),
                             "is not in reach: TLS: no answer in time")
        self.server.wait_until_free()
        self.assertServes()

    def test_files_that_cannot_be_used(self):
        client = self.certificates.client
        for changes, words in (({"CLEAVE_REMOTE_CA": client.with_suffix(".key")}, "client.key cannot be used"),
                               ({"CLEAVE_REMOTE_KEY": self.certificates.ours.path.with_suffix(".key")},
                                "ours.key cannot be used"),
                               ({"CLEAVE_REMOTE_CERT": self.folder / "nobody.pem"}, "nobody.pem cannot be used")):
            self.assertRegex(self.complaint(**changes), f"is not in reach: TLS: .*{words}")

    def test_a_token_goes_over_tls(self):
        token, other = self.where / "token", self.where / "other"
        token.write_text("a token of this test\n")
        other.write_text("another one\n")
        token.chmod(0o600)
        # To a server that asks nobody for a certificate.
        server = self.start("asks", "--token-file", token, asks=False)
        nobody = {"CLEAVE_REMOTE_CERT": "", "CLEAVE_REMOTE_KEY": ""}
        for file in ("", other):
            self.assertRefused(server, "it refuses: the token is wrong or missing", "refused: the token is wrong",
                               CLEAVE_REMOTE_TOKEN_FILE=file, **nobody)
        client = self.begin(server.addresses["tls"], CLEAVE_REMOTE_TOKEN_FILE=token, **nobody)
        self.assertEqual(client.ask("work"), "right")
        client.end()
        server.wait_until_free()


if __name__ == "__main__":
    main()
