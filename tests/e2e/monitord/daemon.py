"""A running cleave-monitord, and clients of it."""

import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

DAEMON = sys.argv[1]
PATIENCE = 60  # seconds until something that should happen is taken never to


class Client:
    """Connects to a unix path or a TCP (host, port)."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        self.lines = self.socket.makefile("r", encoding="ascii")

    def line(self):
        """The next line without its newline; empty at the end of the stream."""
        return self.lines.readline().rstrip("\n")

    def until(self, pattern):
        """Reads up to the first line that matches, and gives its match."""
        while True:
            line = self.line()
            found = re.fullmatch(pattern, line)
            if found:
                return found
            if not line:
                raise AssertionError(f"the stream ended before a line like {pattern}")

    def say(self, data):
        self.socket.sendall(data)

    def close(self):
        self.lines.close()
        self.socket.close()


class DaemonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cleave-monitord-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = str(self.folder / "monitor.sock")
        self.config = self.folder / "monitord.toml"
        self.config.write_text("")

    def start(self, *options, connect="test:///default", **others):
        """Starts the daemon, and waits until it listens. Its standard error is read line by line."""
        command = [DAEMON, "--config", str(self.config), "--connect", connect, *map(str, options)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **others)
        process.said = queue.Queue()

        def read():
            for line in process.stderr:
                process.said.put(line.rstrip("\n"))

        reader = threading.Thread(target=read)
        reader.start()

        def finish():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            reader.join()
            process.stderr.close()

        self.addCleanup(finish)
        return process

    def wait_until_said(self, process, pattern):
        while True:
            line = process.said.get(timeout=PATIENCE)
            found = re.search(pattern, line)
            if found:
                return found

    def started(self, *options, **others):
        process = self.start("--listen", f"unix:{self.path}", *options, **others)
        self.wait_until_said(process, "listening on unix:")
        return process

    def client(self, address=None):
        client = Client(address or self.path)
        self.addCleanup(client.close)
        return client

    def refused(self, *options):
        """Runs the daemon to its end: its exit status, and the one line it said."""
        done = subprocess.run([DAEMON, *map(str, options)], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.returncode, done.stderr
