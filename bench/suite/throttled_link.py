"""A relay over TCP on loopback that passes only so many bytes a second on, in each direction: a client's narrow link."""

import socket
import threading
import time


class ThrottledLink:
    """Listens until close(); `address` is where."""

    PART = 1 << 14  # bytes

    def __init__(self, target, rate):
        host, port = target.removeprefix("tcp:").rsplit(":", 1)
        self.target, self.rate, self.passed = (host, int(port)), rate, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.relay, args=(source, target), daemon=True).start()

    def relay(self, source, target):
        free = time.monotonic()  # when the link is
        try:
            while data := source.recv(self.PART):
                free = max(free, time.monotonic()) + len(data) / self.rate
                time.sleep(max(0, free - time.monotonic()))
                target.sendall(data)
                self.passed += len(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # an end has gone

    def close(self):
        self.listener.close()
