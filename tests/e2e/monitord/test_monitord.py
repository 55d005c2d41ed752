"""The daemon on libvirt's test driver, as clients and scrapers see it."""

import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import urllib.error
import urllib.request

from daemon_test import DaemonTest
from support.options import OPTIONS, main
from support.processes import TIMEOUT

DOMAIN = """<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>d{0}</name>
<memory>8192</memory><os><type>hvm</type></os><test:runstate>{1}</test:runstate></domain>"""
RUNNING, PAUSED = 1, 3  # virDomainState


class Counting(DaemonTest):
    def test_counts_the_test_drivers_domain(self):
        self.started()
        client = self.client()
        self.assertEqual(client.line(), "cleave-monitor 1 heartbeat=2000 busy-share=20 interval=3000")
        self.assertEqual(client.until(r"count \d+ (\d+) (\d+)( pressure=\d+)?").groups()[:2], ("1", "1"))

    def test_counts_running_domains_of_several_hypervisors(self):
        states = [RUNNING, PAUSED, RUNNING, PAUSED, RUNNING]
        node = self.folder / "node.xml"
        node.write_text(f"<node>{''.join(DOMAIN.format(*each) for each in enumerate(states))}</node>")
        self.started("--connect", "test:///default", connect=f"test://{node}")
        self.assertEqual(self.client().until(r"count \d+ (\d+) \d+( pressure=\d+)?")[1], "4")

    def test_without_a_hypervisor_the_count_is_unknown(self):
        self.started("--heartbeat", 100, connect=f"test://{self.folder}/not-there.xml")
        client = self.client()
        client.line()
        self.assertEqual(client.line(), "unknown 1")
        self.assertEqual(client.line(), "alive 1")

    def test_connection_that_breaks_while_libvirt_writes_does_not_end_it(self):
        """Nothing answers at the other end of such a connection. The signal that a write may raise comes for certain."""
        daemon = self.started("--heartbeat", 100, "--interval", 100, connect="qemu+ext:///session?command=/not/there")
        self.wait_for_log(daemon, "no connection to qemu.ext:")
        daemon.send_signal(signal.SIGPIPE)
        client = self.client()
        client.until(r"alive \d+")
        client.until(r"alive \d+")
        self.assertIsNone(daemon.poll())

    def test_hypervisor_that_starts_later_is_found(self):
        node = self.folder / "node.xml"
        self.started(connect=f"test://{node}")
        client = self.client()
        client.until("unknown 1")
        node.with_suffix(".new").write_text(f"<node>{DOMAIN.format(0, RUNNING)}</node>")
        node.with_suffix(".new").rename(node)
        self.assertEqual(client.until(r"count \d+ (\d+) \d+( pressure=\d+)?")[1], "1")


class Listening(DaemonTest):
    def test_socat_is_a_client(self):
        self.assertTrue(shutil.which("socat"), "socat is not installed")
        self.started("--heartbeat", 100)
        socat = subprocess.Popen(["socat", "-", f"UNIX-CONNECT:{self.path}"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(socat.stdout.readline(), "cleave-monitor 1 heartbeat=100 busy-share=20 interval=3000\n")
        self.assertRegex(socat.stdout.readline(), "^(count|unknown) ")
        socat.kill()  # it goes on reading when its input ends
        socat.communicate()

    def test_tcp_and_unix_at_once(self):
        daemon = self.start("--listen", f"unix:{self.path}", "tcp:127.0.0.1:0")
        port = self.wait_for_log(daemon, r"listening on tcp:127\.0\.0\.1:(\d+)")[1]
        for address in (self.path, ("127.0.0.1", int(port))):
            client = self.client(address)
            client.send(b"ping\n")
            client.until(r"alive \d+")

    def test_random_input_is_harmless(self):
        daemon = self.start("--listen", f"unix:{self.path}", "tcp:127.0.0.1:0", "--metrics", "tcp:127.0.0.1:0")
        ports = [int(self.wait_for_log(daemon, rf"{what} on tcp:127\.0\.0\.1:(\d+)")[1])
                 for what in ("listening", "metrics")]
        places = [self.path, *(("127.0.0.1", port) for port in ports)]
        good = self.client()
        good.until(r"count \d+ 1 1( pressure=\d+)?")
        numbers = random.Random(27460)
        starts = (b"", b"", b"ping", b"GET /metrics", b"GET / HTTP/1.1\r\n")
        for round_ in range(200):
            client = self.client(places[round_ % len(places)])
            try:
                client.send(numbers.choice(starts))  # half a line, where nothing follows
                for _ in range(numbers.randrange(5)):
                    client.send(numbers.randbytes(numbers.randrange(1, 4000)))
            except OSError:
                pass  # it has disconnected
            client.close()
        self.assertIsNone(daemon.poll())
        good.send(b"ping\n")
        good.until(r"alive \d+")

    def test_endless_line_ends_the_connection_on_every_listener(self):
        daemon = self.start("--listen", f"unix:{self.path}", "tcp:127.0.0.1:0")
        port = int(self.wait_for_log(daemon, r"listening on tcp:127\.0\.0\.1:(\d+)")[1])
        for address in (self.path, ("127.0.0.1", port)):
            client = self.client(address)
            client.until(r"(count|unknown) .*")
            client.send(b"x" * 128)
            client.until("bye the line is too long")
            self.assertEqual(client.line(), "")

    def test_socket_has_the_configured_mode(self):
        self.started("--socket-mode", "0622")
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o622)

    def test_socket_is_replaced_only_if_its_daemon_has_ended(self):
        first = self.started()
        status, message = self.refused("--config", self.config, "--listen", f"unix:{self.path}")
        self.assertEqual(status, 1)
        self.assertIn("another process listens there", message)
        first.kill()
        first.wait()
        self.assertTrue(os.path.exists(self.path))
        self.started()
        self.client().until(r"count \d+ 1 1( pressure=\d+)?")

    def test_clients_beyond_the_limit_are_refused(self):
        daemon = self.started("--max-clients", 2)
        kept = [self.client(), self.client()]
        for client in kept:
            client.line()
        self.assertEqual(self.client().line(), "bye full")
        self.wait_for_log(daemon, "1 clients refused")


class Activated(DaemonTest):
    def test_listens_on_the_service_managers_sockets(self):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.path)
        listening.listen()
        # LISTEN_PID must be the daemon's own, which a shell knows before it becomes the daemon.
        script = 'exec 3<&"$0"; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"'
        command = ["sh", "-c", script, str(listening.fileno()), str(OPTIONS.monitord), "--config", str(self.config),
                   "--connect", "test:///default"]
        daemon = subprocess.Popen(command, pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        listening.close()
        self.client().until(r"count \d+ 1 1( pressure=\d+)?")
        daemon.terminate()
        self.assertEqual(daemon.wait(TIMEOUT), 0)
        self.assertTrue(os.path.exists(self.path), "the socket is the service manager's")

    def test_notifies_the_service_manager(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(str(self.folder / "notify"))
        manager.settimeout(TIMEOUT)
        self.addCleanup(manager.close)
        environment = dict(os.environ, NOTIFY_SOCKET=str(self.folder / "notify"), WATCHDOG_USEC="200000")
        daemon = self.started(env=environment)
        self.assertEqual(manager.recv(200), b"READY=1")
        states = set()
        while b"WATCHDOG=1" not in states:
            states.add(manager.recv(200))
        daemon.terminate()
        while b"STOPPING=1" not in states:
            states.add(manager.recv(200))
        self.assertTrue(any(each.startswith(b"STATUS=") for each in states))
        self.assertEqual(daemon.wait(TIMEOUT), 0)


class Serving(DaemonTest):
    def get(self, port, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_metrics_and_health(self):
        daemon = self.started("--metrics", "tcp:127.0.0.1:0")
        port = self.wait_for_log(daemon, r"metrics on tcp:127\.0\.0\.1:(\d+)")[1]
        self.client().until(r"count \d+ 1 1( pressure=\d+)?")
        status, text = self.get(port, "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("\n# TYPE cleave_monitor_running gauge\ncleave_monitor_running 1\n", text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+ [0-9.]+)$")
        self.assertEqual(self.get(port, "/healthz")[0], 200)
        self.assertEqual(self.get(port, "/nothing")[0], 404)

    def test_unhealthy_without_a_hypervisor(self):
        daemon = self.started("--metrics", "tcp:127.0.0.1:0", connect=f"test://{self.folder}/not-there.xml")
        port = self.wait_for_log(daemon, r"metrics on tcp:127\.0\.0\.1:(\d+)")[1]
        self.assertEqual(self.get(port, "/healthz"), (503, "0 of 1 hypervisors connected\n"))


class Stopping(DaemonTest):
    def test_signals_stop_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.started()
            client = self.client()
            client.until(r"count \d+ 1 1( pressure=\d+)?")
            daemon.send_signal(number)
            client.until("bye stopping")
            self.assertEqual(daemon.wait(TIMEOUT), 0)
            self.assertEqual(os.listdir(self.folder), [self.config.name], "it leaves files behind")

    def test_a_hangup_reads_the_options_again(self):
        daemon = self.started("--heartbeat", 100)
        client = self.client()
        client.until(r"count \d+ 1 1( pressure=\d+)?")
        self.config.write_text("clients-per-peer = 1\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for_log(daemon, r".*SIGHUP: max-clients \d+, clients-per-peer 1 and patience 30000 hold from now on.*")
        self.client().until("bye full")
        self.config.write_text("patience = 'long'\n")
        for _ in range(20):
            daemon.send_signal(signal.SIGHUP)
        self.wait_for_log(daemon, r".*SIGHUP: .*patience: 'long' is not understood.*the options stay as they were")
        client.until(r"alive \d+")
        self.assertIsNone(daemon.poll())

    def test_hung_domain_costs_the_pressure_alone(self):
        """Neither the count, nor the end, its log or the files that it removes."""
        environment = {**os.environ, "LD_PRELOAD": str(OPTIONS.programs / "hung_domain.so")}
        daemon = self.started("--heartbeat", 100, "--interval", 100, env=environment)
        client = self.client()
        client.until(r"count \d+ 1 \d+")
        lines = [client.line() for _ in range(50)]  # longer than a listing may take, by the heartbeat
        self.assertFalse([line for line in lines if not re.fullmatch(r"alive \d+|count \d+ 1 \d+", line)], lines)
        daemon.terminate()
        client.until("bye stopping")
        self.assertEqual(daemon.wait(TIMEOUT), 0)
        self.assertEqual(os.listdir(self.folder), [self.config.name], "it leaves files behind")
        # It connects while it starts to listen, so either line may be the first.
        said = [daemon.log.get() for _ in range(daemon.log.qsize())]
        self.assertFalse([line for line in said if "connected to test:///default" not in line], said)

    def test_invalid_options_are_one_line_and_status_2(self):
        self.config.write_text("\nheartbeat = 'fast'\n")
        for options, expected in (
            (["--listen", "tcp:0.0.0.0:27460"], "--listen: tcp:0.0.0.0:27460 is every network of this host"),
            (["--listen", "nowhere"], "--listen: 'nowhere' is not understood; expected unix:PATH"),
            (["--metrics", "tcp:192.0.2.1:1"], "--metrics: tcp:192.0.2.1:1 can be reached from outside"),
            (["--config", self.config], f"{self.config}:2: heartbeat: 'fast' is not understood"),
            (["--config", self.folder / "none"], "--config: there is no file "),
            (["--frob"], "--frob"),
        ):
            status, message = self.refused(*options)
            self.assertEqual(status, 2, message)
            self.assertIn(expected, message)


if __name__ == "__main__":
    main()
