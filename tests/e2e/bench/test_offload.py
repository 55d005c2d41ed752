"""The part of the suite `remote` that shows where a server pays: its link and its arithmetic. No measurement."""

import socket
import threading
import time
import unittest

from bench_modules import narrow_relay, offload, results
from support.options import main


def rows(*times):
    """(side, row) of sides 1, 2, and so on."""
    return [(side, results.Row("offload", "", there, "us", baseline=here)) for side, (here, there) in enumerate(times, 1)]


class BreakEven(unittest.TestCase):
    def test_it_is_the_first_size_from_which_on_it_pays(self):
        self.assertEqual(offload.break_even(rows((1, 5), (5, 5), (9, 5), (20, 6))), 3)
        self.assertEqual(offload.break_even(rows((9, 5), (9, 5))), 1)

    def test_size_that_does_not_pay_moves_it_behind_itself(self):
        self.assertEqual(offload.break_even(rows((9, 5), (1, 5), (9, 5))), 3)

    def test_it_may_be_none(self):
        self.assertIsNone(offload.break_even(rows((1, 5), (9, 5), (1, 5))))


class Relay(unittest.TestCase):
    def setUp(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        threading.Thread(target=self.echo, daemon=True).start()

    def echo(self):
        peer, _ = self.listener.accept()
        with peer:
            while data := peer.recv(1 << 16):
                peer.sendall(data)

    def test_bytes_arrive_unchanged_and_no_sooner_than_the_link_allows(self):
        relay = narrow_relay.Relay(self.listener.getsockname()[1], megabits=8, milliseconds=20)
        self.addCleanup(relay.close)
        sent = bytes(range(256)) * 800  # 0.2 s each way
        with socket.create_connection(("127.0.0.1", int(relay.address.rpartition(":")[2]))) as client:
            client.settimeout(60)
            begin = time.monotonic()
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            received = b""
            while data := client.recv(1 << 16):
                received += data
        self.assertEqual(received, sent)
        self.assertGreaterEqual(time.monotonic() - begin, 0.2 + 0.04)


if __name__ == "__main__":
    main()
