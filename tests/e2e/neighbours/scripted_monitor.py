"""A monitor that sends what a test wants, on a unix socket, in a process or in threads of the test."""

import os
import signal
import socket
import sys
import threading


class ScriptedMonitor:
    """Listens on `path`. Each client is sent `greeting` and the last line; then every further line."""

    def __init__(self, path, greeting="cleave-monitor 1 heartbeat=200\n", count=None):
        self.path = str(path)
        self.greeting = greeting
        self.sequence = 0
        self.last = ""
        self.clients = []
        self.accepted = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX)
        if os.path.exists(self.path):
            os.unlink(self.path)
        if count is not None:
            self.count(count)
        self._socket.bind(self.path)
        self._socket.listen(16)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._accept, self._heartbeat)]
        for thread in self._threads:
            thread.start()

    def count(self, vms, busy=0):
        self.sequence += 1
        self.send(f"count {self.sequence} {vms} {busy}\n")

    def unknown(self):
        self.sequence += 1
        self.send(f"unknown {self.sequence}\n")

    def send(self, line):
        with self._lock:
            self.last = line
            self._send(line)

    def close(self):
        self._closed.set()
        self._socket.shutdown(socket.SHUT_RDWR)  # ends accept()
        for thread in self._threads:
            thread.join()
        self._socket.close()
        with self._lock:
            for client in self.clients:
                client.close()
            self.clients = []
        if os.path.exists(self.path):
            os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, line):
        for client in list(self.clients):
            try:
                client.sendall(line.encode())
            except OSError:
                self.clients.remove(client)

    def _accept(self):
        while not self._closed.is_set():
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self.clients.append(client)
                self._send_one(client)

    def _send_one(self, client):
        try:
            client.sendall((self.greeting + self.last).encode())
        except OSError:
            self.clients.remove(client)

    def _heartbeat(self):
        while not self._closed.wait(0.2):
            with self._lock:
                if self.sequence:
                    self._send(f"alive {self.sequence}\n")


def main():
    """A monitor as a process, for tests that stop or kill it: PATH COUNT."""
    monitor = ScriptedMonitor(sys.argv[1], count=int(sys.argv[2]))
    print("listening", flush=True)
    signal.sigwait({signal.SIGTERM})
    monitor.close()


if __name__ == "__main__":
    main()
