"""A link between a client and a server on this machine that is as slow as a real one, over TCP and without any rights: bytes leave
at a rate and arrive after a delay, in each direction. The relay holds a fifth of a second's worth, as routers do, and then lets the
sender wait."""

import collections
import contextlib
import socket
import threading
import time

HELD = 0.2  # seconds


class _Way:
    """One direction of one connection: a thread that receives, and one that sends when it is time."""

    def __init__(self, source, target, rate, delay):
        self.source, self.target, self.rate, self.delay = source, target, rate, delay
        self.due = collections.deque()  # (time, data)
        self.changed = threading.Condition()
        for work in (self.receive, self.send):
            threading.Thread(target=work, daemon=True).start()

    def receive(self):
        free = 0.0  # when the link has sent all that it has taken
        size = max(1, min(1 << 16, int(self.rate * 0.01)))  # what it sends in 10 ms
        with contextlib.suppress(OSError):
            while data := self.source.recv(size):
                now = time.monotonic()
                free = max(free, now) + len(data) / self.rate
                with self.changed:
                    self.due.append((free + self.delay, data))
                    self.changed.notify()
                time.sleep(max(0.0, free - now - HELD))
        with self.changed:
            self.due.append((0.0, b""))
            self.changed.notify()

    def send(self):
        with contextlib.suppress(OSError):
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.due)
                    due, data = self.due.popleft()
                if not data:
                    return self.target.shutdown(socket.SHUT_WR)
                time.sleep(max(0.0, due - time.monotonic()))
                self.target.sendall(data)


class Relay:
    """Until close(). `megabits` per second and `milliseconds`, each way."""

    def __init__(self, port, megabits, milliseconds):
        self.target = ("127.0.0.1", port)
        self.rate, self.delay = megabits * 125_000, milliseconds / 1000
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sockets += [client, server]
                _Way(client, server, self.rate, self.delay)
                _Way(server, client, self.rate, self.delay)

    def close(self):
        for one in (self.listener, *self.sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
