"""A proxy between a client and a server, over TCP on loopback, that plays a bad link without needing any rights. Its
attributes decide how bad, and may be changed at any time."""

import random
import select
import socket
import struct
import threading
import time

INTERVAL = 0.02  # seconds between two checks of the attributes


class _Direction:
    """One direction of one connection."""

    def __init__(self, proxy, name, source, target):
        self.proxy, self.name, self.source, self.target = proxy, name, source, target
        self.random = random.Random(f"{proxy.seed} {name} {len(proxy.connections)}")

    def run(self):
        try:
            while True:
                if not select.select([self.source], [], [], INTERVAL)[0]:
                    continue
                data = self.source.recv(1 << 16)
                if not data:
                    break
                self.forward(self.proxy.changed(self.name, data))
            self.target.shutdown(socket.SHUT_WR)
        except (OSError, ValueError):
            pass  # cut

    def forward(self, data):
        while data:
            size = self.random.randint(1, self.proxy.fragments) if self.proxy.fragments else len(data)
            if self.proxy.delay:
                time.sleep(self.random.uniform(0, self.proxy.delay))
            while (size := self.proxy.allowed(self.name, size)) == 0:
                time.sleep(INTERVAL)
                self.source.getpeername()  # ends with an error when it has been cut
            if self.proxy.rate:
                time.sleep(size / self.proxy.rate)
            self.target.sendall(data[:size])
            self.proxy.passed += size
            data = data[size:]


class Listener:
    """Listens on a port of its own, and hands each client to serve() until close()."""

    def __init__(self, kind):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"{kind}:127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.serve(client)

    def close(self):
        self.listener.close()


class Proxy(Listener):
    """Listens until close(). `fragments`: data is forwarded in fragments of random sizes up to that, 0: as it arrives. `delay`:
    up to so many seconds before each. `rate`: bytes per second in each direction, 0: not limited. `stalled`: the directions, "up" (to the server) and "down", in which nothing is
    forwarded while the connection stays open. `left`: how many bytes more are forwarded in a direction, of all connections
    together; then it stalls, or with `cuts` all connections are reset."""

    def __init__(self, target, seed=0):
        kind, host, port = target.split(":")  # tcp or tls
        self.target, self.seed = (host, int(port)), seed
        self.fragments, self.delay, self.rate, self.stalled = 0, 0.0, 0, frozenset()
        self.left, self.cuts = {}, False
        self.lock = threading.Lock()  # around what is left
        self.passed = 0  # bytes
        self.connections = []
        super().__init__(kind)

    def serve(self, client):
        try:
            server = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections.append((client, server))
        for name, source, target in (("up", client, server), ("down", server, client)):
            threading.Thread(target=_Direction(self, name, source, target).run, daemon=True).start()

    def allowed(self, direction, size):
        """How many of so many bytes may be forwarded now."""
        if direction in self.stalled:
            return 0
        with self.lock:
            left = self.left  # another one may take its place
            if direction not in left:
                return size
            size = min(size, left[direction])
            left[direction] -= size
        if size == 0 and self.cuts:
            self.cut()
        return size

    def changed(self, _direction, data):
        """What is forwarded instead."""
        return data

    def cut(self):
        """Resets all connections at both ends."""
        for pair in self.connections:
            for one in pair:
                try:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    one.close()
                except OSError:
                    pass
        self.connections = []

    def close(self):
        super().close()
        self.cut()
