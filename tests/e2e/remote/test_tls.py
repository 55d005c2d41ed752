"""TLS between client and server, and its failures: links that stop within a record or a handshake, peers that do not speak
TLS, certificates that prove nothing. Every call of the client ends in time, the server forgets whom it refuses, and other
clients are not affected."""

import contextlib
import os
import socket
import ssl
import subprocess
import threading
import time

from certificates import Authority, Certificates
from proxy import Proxy
from support.options import main
from support.processes import require_installed, wait_until
from support.remote import DEVICE_LOST, HANG_TIMEOUT, METRICS, RemoteTest
from tls_relay import TlsRelay

SHORT_TIMEOUT = 1  # seconds, the client's where no server answers
SERVER_TIMEOUT = 5  # seconds
HEARTBEAT = 200  # milliseconds
UNLIMITED = 1 << 40  # bytes
SLOW_INTERVAL = 0.1  # seconds between two bytes
SLOW_BYTES = 400  # sent one by one; the server's limit for a handshake is over long before


class TlsTest(RemoteTest):
    client_timeout = 10  # seconds; in that time any server answers

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.folder / "certificates")
        cls.theirs = Authority(cls.folder / "certificates", "theirs")

    def setUp(self):
        super().setUp()
        self.server = self.start("server")
        self.address = self.server.addresses["tls"]

    def start(self, name, *options, **tls):
        return self.start_server(self.own_folder() / name, *METRICS, "--timeout", SERVER_TIMEOUT * 1000, "--heartbeat",
                                 HEARTBEAT, *options, tls=self.certificates.options(**tls))

    def client_environment(self, address, **settings):
        return super().client_environment(address, **(self.certificates.variables() | settings))

    def link(self, **attributes):
        proxy = Proxy(self.address)
        self.addCleanup(proxy.close)
        for name, value in attributes.items():
            setattr(proxy, name, value)
        return proxy

    def refusal(self, address=None, **settings):
        """The message of a program that gets no device, and therefore ends."""
        done = self.run_client(self.client_environment(address or self.address, **settings))
        self.assertEqual(done.returncode, 1, f"there is a device\n{done.stderr}\n{self.server.text()}")
        return done.stderr

    def assertStillServes(self):
        self.assertServes(self.server, self.address)

    def assertReconnects(self, client, message=None):
        """Its connection is lost, and it gets another one."""
        self.assertEqual(client.execute("use"), DEVICE_LOST, message)
        self.assertEqual(client.execute("work"), "ok", message)
        client.stop()

    def client_with_context(self, address):
        client = self.start_client(address)
        self.assertEqual(client.execute("hold"), "held")
        return client


class Links(TlsTest):
    def test_link_that_stalls_within_a_record_ends_calls_in_time(self):
        for direction in ("down", "up"):
            proxy = self.link()
            client = self.client_with_context(proxy.address)
            # Heartbeats pass: only the client's own thread reads now.
            before = proxy.passed
            wait_until(lambda: proxy.passed > before, "no heartbeat")
            proxy.left = {direction: 9}  # a record's header is 5 bytes
            wait_until(lambda: proxy.left[direction] == 0, "no heartbeat")
            self.assertEqual(client.execute("use"), DEVICE_LOST, direction)
            self.server.wait_until_idle()
            proxy.left = {}
            self.assertReconnects(client, direction)
            proxy.close()
        self.server.wait_until_idle()

    def test_reset_within_a_record_ends_calls(self):
        for direction in ("down", "up"):
            proxy = self.link()
            client = self.client_with_context(proxy.address)
            proxy.left, proxy.cuts = {direction: 9}, True
            wait_until(lambda: not proxy.connections, "it is not reset")
            proxy.left = {}
            self.assertReconnects(client, direction)
            proxy.close()
        self.server.wait_until_idle()

    def test_handshake_that_stops_anywhere_ends_in_time(self):
        proxy = self.link(left={"up": UNLIMITED, "down": UNLIMITED})
        client = self.start_client(proxy.address)
        client.execute("available")
        client.stop()
        sizes = {direction: UNLIMITED - left for direction, left in proxy.left.items()}
        for direction, size in sizes.items():
            for stop in (0, 1, 5, size // 6, size // 3, size // 2):
                for cuts in (False, True):
                    proxy = self.link(left={direction: stop}, cuts=cuts)
                    self.assertRegex(self.refusal(proxy.address, CLEAVE_REMOTE_TIMEOUT=SHORT_TIMEOUT), "cannot be used: ",
                                     f"{direction} {stop} {cuts}")
                    proxy.close()
        self.server.wait_until_idle()
        self.assertStillServes()

    def test_close_notify_ends_the_connection(self):
        """One end sends it, and leaves the TCP connection open."""
        for end in ("client", "server"):
            relay = TlsRelay(self.address, self.certificates)
            self.addCleanup(relay.close)
            client = self.client_with_context(relay.address)
            relay.send_close_notify(end)
            self.assertEqual(client.execute("use"), DEVICE_LOST, end)
            self.server.wait_until_idle()
            self.assertReconnects(client, end)
            relay.close()
        self.server.wait_until_idle()


class Intruders(TlsTest):
    """Connections that are no clients."""

    def connect(self):
        host, port = self.address.removeprefix("tls:").split(":")
        intruder = socket.create_connection((host, int(port)))
        intruder.settimeout(HANG_TIMEOUT)
        self.addCleanup(intruder.close)
        return intruder

    def connect_with_certificate(self):
        context = ssl.create_default_context(cafile=self.certificates.ours.path)
        context.load_cert_chain(self.certificates.client, self.certificates.client.with_suffix(".key"))
        intruder = context.wrap_socket(self.connect(), server_hostname="127.0.0.1")
        self.addCleanup(intruder.close)
        return intruder

    def assertIsDisconnected(self, intruder):
        try:
            while intruder.recv(4096):
                pass
        except ConnectionError:
            pass  # unread data of its own makes it a reset

    def client_hello(self):
        outgoing = ssl.MemoryBIO()
        try:
            ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def test_unfinished_handshakes_delay_no_others_and_are_refused(self):
        hello = self.client_hello()
        openings = (b"", hello[:1], hello[:5], hello[:100], hello[:-1], hello)
        intruders = [self.connect() for _ in openings]
        for intruder, data in zip(intruders, openings):
            intruder.sendall(data)
        client = self.start_client(self.address)
        self.assertEqual(client.execute("work"), "ok")
        client.stop()
        for intruder in intruders:
            self.assertIsDisconnected(intruder)
        self.server.wait_until_idle()
        # A worker may have ended before the server reads its last message.
        self.server.wait_for(lambda: self.server.metric("refused_total") == len(openings), "not all have been refused")

    def test_garbage_is_refused(self):
        hello = self.client_hello()
        corrupted = bytes(byte ^ (0x55 if place % 17 == 16 else 0) for place, byte in enumerate(hello))
        for data in (b"GET / HTTP/1.1\r\nHost: there\r\n\r\n", bytes(4096), b"\xff" * 70_000,
                     b"\x16\x03\x01\xff\xff" + bytes(70_000), corrupted, hello + hello, hello + bytes(4096)):
            intruder = self.connect()
            try:
                intruder.sendall(data)
                intruder.shutdown(socket.SHUT_WR)
            except ConnectionError:
                pass
            self.assertIsDisconnected(intruder)
        self.server.wait_until_idle()
        self.assertNoCrash(self.server)
        self.assertStillServes()

    def assertSlowSenderIsDisconnected(self, intruder, data):
        """A byte at a time: never so slow that nothing arrives, and never finished."""
        sent = 0
        try:
            for byte in data:
                intruder.sendall(bytes([byte]))
                sent += 1
                time.sleep(SLOW_INTERVAL)
        except (ConnectionError, ssl.SSLError):
            pass
        self.assertLess(sent, len(data), "it could have gone on")

    def test_slow_senders_are_disconnected_in_time(self):
        self.assertSlowSenderIsDisconnected(
            self.connect(), b"\x16\x03\x01\x0f\xff\x01\x00\x0f\xfb\x03\x03" + bytes(SLOW_BYTES))
        # The header of a frame whose message is a Hello of 4096 bytes.
        self.assertSlowSenderIsDisconnected(self.connect_with_certificate(), b"\x00\x10\x00\x00\x01" + bytes(SLOW_BYTES))
        self.server.wait_until_idle()
        self.assertStillServes()

    def test_renegotiation_and_old_versions_are_refused(self):
        host = self.address.removeprefix("tls:")
        files = ["-CAfile", self.certificates.ours.path, "-cert", self.certificates.client, "-key",
                 self.certificates.client.with_suffix(".key")]
        # R asks for a handshake within the first, K for new keys.
        for options, command in ((["-tls1_2"], "R\n"), (["-tls1_3"], "K\n"), (["-tls1_1"], "\n"), (["-tls1"], "\n"),
                                 (["-tls1_2", "-cipher", "AES256-GCM-SHA384"], "\n")):  # the key alone would decrypt it later
            with subprocess.Popen(
                    [require_installed("openssl", "openssl"), "s_client", "-connect", host, *options, *files],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as intruder:
                # Its input stays open until it has ended: the server has to end it.
                watchdog = threading.Timer(HANG_TIMEOUT, intruder.kill)
                watchdog.start()
                with contextlib.suppress(BrokenPipeError):  # the server may have ended it already
                    os.write(intruder.stdin.fileno(), command.encode())
                output = intruder.stdout.read()
                watchdog.cancel()
            self.assertNotEqual(intruder.returncode, -9, f"{options} may stay\n{output}")
            if "-cipher" in options:
                self.assertIn("Cipher is (NONE)", output)
        self.server.wait_until_idle()
        self.assertNoCrash(self.server)
        self.assertStillServes()


class Messages(TlsTest):
    """What the program's one line and the server's log say when a connection fails."""

    def assertRefused(self, server, client_message, server_message="", **settings):
        self.assertRegex(self.refusal(server.addresses["tls"], **settings), f"cannot be used: {client_message}")
        server.wait_for_log(server_message)

    def test_client_certificates_that_prove_nothing(self):
        ours, theirs = self.certificates.ours, self.theirs
        stranger = theirs.sign("stranger")
        expired = ours.sign("expired", days=0)
        self.assertRefused(self.server, "TLS: .*certificate", CLEAVE_REMOTE_CA=theirs.path)
        self.assertRefused(self.server, "TLS: .*unknown ca", "unable to get local issuer certificate",
                           **self.certificates.variables(stranger))
        self.assertRefused(self.server, "TLS: .*expired", "certificate has expired", **self.certificates.variables(expired))
        self.assertRefused(self.server, "TLS: .*certificate required", "did not return a certificate",
                           CLEAVE_REMOTE_CERT="")
        self.assertStillServes()

    def test_server_certificates_for_another_name_or_time(self):
        ours = self.certificates.ours
        for name, alternative, days, message in (("late", "IP:127.0.0.1", 0, "TLS: certificate has expired"),
                                                 ("elsewhere", "IP:127.0.0.2", 2, "TLS: IP address mismatch"),
                                                 ("nowhere", "DNS:nowhere", 2, "TLS: IP address mismatch")):
            certificate = ours.sign(name, alternative, days)
            server = self.start(name, certificate=certificate)
            self.assertRefused(server, message)
            by_name = server.addresses["tls"].replace("127.0.0.1", "localhost")
            self.assertIn("TLS: ", self.refusal(by_name))
            server.stop()

    def test_peers_that_do_not_speak_tls(self):
        plain = self.address.replace("tls:", "tcp:")
        self.assertRegex(self.refusal(plain), "cannot be used: the connection was closed during the handshake")
        secure = self.server.addresses["tcp"].replace("tcp:", "tls:")
        self.assertRegex(self.refusal(secure), "cannot be used: TLS: ")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"tls:127.0.0.1:{silent.getsockname()[1]}"
            self.assertRegex(self.refusal(address, CLEAVE_REMOTE_TIMEOUT=SHORT_TIMEOUT),
                             "cannot be used: TLS: no answer in time")
        self.server.wait_until_idle()
        self.assertStillServes()

    def test_unusable_files_are_named(self):
        client = self.certificates.client
        for settings, message in (({"CLEAVE_REMOTE_CA": client.with_suffix(".key")}, "client.key cannot be used"),
                                  ({"CLEAVE_REMOTE_CERT": f"{client},{self.certificates.ours.path.with_suffix('.key')}"},
                                   "ours.key cannot be used"),
                                  ({"CLEAVE_REMOTE_CERT": self.folder / "absent.pem"}, "absent.pem cannot be used")):
            self.assertRegex(self.refusal(**settings), f"cannot be used: TLS: .*{message}")

    def test_pipe_in_place_of_a_file_is_named(self):
        pipe = self.own_folder() / "pipe"
        os.mkfifo(pipe)
        for setting, fix in (("CLEAVE_REMOTE_CA", "name a PEM file"), ("CLEAVE_REMOTE_CERT", "name a PEM file"),
                             ("CLEAVE_REMOTE_TOKEN_FILE", "name a file whose first line is the token")):
            self.assertRegex(self.refusal(**{setting: pipe}), f"{pipe} is a pipe, not a regular file: {fix}")

    def test_token_is_asked_for_over_tls(self):
        token, other = self.secret(), self.secret("another one\n", "other")
        server = self.start("asks", "--token-file", token, asks=False)
        no_certificate = {"CLEAVE_REMOTE_CERT": ""}
        for file in ("", other):
            self.assertRefused(server, "the server refused: the token is wrong or missing", "refused: the token is wrong",
                               CLEAVE_REMOTE_TOKEN_FILE=file, **no_certificate)
        self.assertServes(server, server.addresses["tls"], CLEAVE_REMOTE_TOKEN_FILE=token, **no_certificate)


if __name__ == "__main__":
    main()
