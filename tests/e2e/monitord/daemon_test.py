"""A running cleave-monitord, and clients of it."""

import queue
import re
import signal
import socket
import subprocess
import threading

from support.options import OPTIONS
from support.processes import TIMEOUT, FolderTest, run


class Client:
    """Connects to a unix path or a TCP (host, port)."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(address)
        self.lines = self.socket.makefile("r", encoding="ascii")

    def line(self):
        """The next line without its newline; empty at the end of the stream."""
        return self.lines.readline().rstrip("\n")

    def until(self, pattern):
        """Reads up to the first line that matches, and returns its match."""
        while True:
            line = self.line()
            found = re.fullmatch(pattern, line)
            if found:
                return found
            if not line:
                raise AssertionError(f"the stream ended before a line like {pattern}")

    def send(self, data):
        self.socket.sendall(data)

    def close(self):
        self.lines.close()
        self.socket.close()


class DaemonTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "monitor.sock")
        self.config = self.folder / "monitord.toml"
        self.config.write_text("")

    def start(self, *options, connect="test:///default", **others):
        """Starts the daemon, and waits until it listens. Its standard error is read line by line."""
        command = [str(OPTIONS.monitord), "--config", str(self.config), "--connect", connect, *map(str, options)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **others)
        process.log = queue.Queue()

        def read():
            for line in process.stderr:
                process.log.put(line.rstrip("\n"))

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

    def wait_for_log(self, process, pattern):
        while True:
            line = process.log.get(timeout=TIMEOUT)
            found = re.search(pattern, line)
            if found:
                return found

    def started(self, *options, **others):
        process = self.start("--listen", f"unix:{self.path}", *options, **others)
        self.wait_for_log(process, "listening on unix:")
        return process

    def client(self, address=None):
        client = Client(address or self.path)
        self.addCleanup(client.close)
        return client

    def refused(self, *options):
        """Runs the daemon to its end. Returns its exit status and its one line of error."""
        done = run(OPTIONS.monitord, *options)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.returncode, done.stderr
