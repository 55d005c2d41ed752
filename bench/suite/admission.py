"""The suite `admission`: how long a server's client waits to be admitted, alone and alongside a thousand hostile connections
from another address that are replaced as soon as the server closes them, and what a connection costs that sends nothing."""

import collections
import contextlib
import multiprocessing
import pathlib
import selectors
import socket
import struct
import time

import programs
import remote
from results import Results, Row, machine, median

HOSTILE = "127.0.0.2"
CONNECTIONS = 1000
DRIBBLE = 0.05  # seconds between two bytes of those that are slow
HEADER = struct.Struct("<IHHQ")  # of a frame: the size of its message, the kind, 0, the size of its payload
# A FlatBuffers table: its place, its vtable of nine fields of which three are there, and these.
HELLO = struct.Struct("<I11HHiHHB3x")
HELLO_KIND = 1
LARGEST_REFUSAL = 500  # bytes; a description of devices is longer


def hello(is_query):
    message = HELLO.pack(28, 22, 12, 4, 6, 0, 0, 0, 0, 0, 0, 8, 0, 24, 1, 1, is_query)
    return HEADER.pack(len(message), HELLO_KIND, 0, 0) + message


def received(connection, size):
    data = b""
    while len(data) < size:
        some = connection.recv(size - len(data))
        if not some:
            raise ConnectionError("the server has closed the connection")
        data += some
    return data


def admission(port):
    """Seconds from the connection to the description of the devices."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 20) as one:
        one.sendall(hello(False))
        size = HEADER.unpack(received(one, HEADER.size))[0]
        received(one, size)
        if size < LARGEST_REFUSAL:
            raise ConnectionError("the server has refused a valid client")
        return time.monotonic() - begin


class Attack:
    """A third of the connections are silent, a third stop in the first frame, a third go on byte by byte."""

    def __init__(self, port, opened):
        self.port, self.opened = port, opened
        self.selector = selectors.DefaultSelector()
        self.slow = collections.deque()
        self.count = 0

    def connect(self):
        one = socket.socket()
        one.setblocking(False)
        one.bind((HOSTILE, 0))
        one.connect_ex(("127.0.0.1", self.port))
        self.count += 1
        self.selector.register(one, selectors.EVENT_READ, self.count % 3)
        if self.count % 3:
            with contextlib.suppress(OSError):
                one.send(b"\x10")
        if self.count % 3 == 2:
            self.slow.append(one)

    def replace(self, one):
        self.selector.unregister(one)
        one.close()
        self.connect()

    def run(self):
        for _ in range(CONNECTIONS):
            self.connect()
        dribbles = time.monotonic()
        while True:
            for key, _ in self.selector.select(DRIBBLE):
                self.replace(key.fileobj)
            self.opened.value = self.count
            if time.monotonic() < dribbles:
                continue
            dribbles = time.monotonic() + DRIBBLE
            self.slow = collections.deque(one for one in self.slow if one.fileno() >= 0)
            for one in self.slow:
                with contextlib.suppress(OSError):
                    one.send(b"\0")


@contextlib.contextmanager
def attack(port):
    opened = multiprocessing.Value("L", 0)
    attacker = multiprocessing.Process(target=lambda: Attack(port, opened).run(), daemon=True)
    attacker.start()
    while opened.value < CONNECTIONS:
        time.sleep(0.01)
    try:
        yield opened
    finally:
        attacker.kill()
        attacker.join()


def processor_time(server):
    """Seconds that the server's processes have used."""
    total = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if server not in (int(process.name), int(fields[1])):
                continue
            total += sum(int(task.read_text().split()[0]) for task in process.glob("task/*/schedstat"))
    return total / 1e9


def bare_connects(port, count):
    for _ in range(count):
        socket.create_connection(("127.0.0.1", port), 20).close()


def latencies(port, count):
    """Of clients that come one by one, each when a worker stands ready."""
    values = []
    for _ in range(count):
        time.sleep(0.3)
        values.append(admission(port))
    return sorted(values)


def add_latencies(found, words, values, base=None, asked=None):
    for name, at in (("median", 0.5), ("99th percentile", 0.99)):
        value = values[min(int(at * len(values)), len(values) - 1)]
        before = base and 1e3 * base[min(int(at * len(base)), len(base) - 1)]
        found.add(Row("admission", f"{words}, {name}", 1e3 * value, "ms", baseline=before,
                      asked=asked if at > 0.9 else None))


def measure(given):
    count = 10 if given.quick else 100
    port = remote.free_port()
    found = Results("admission", machine(given.platform or "the first platform", programs.library()))
    with remote.server(f"tcp:127.0.0.1:{port}", options=("--spare", "2")) as server:
        admission(port)
        alone = latencies(port, count)
        add_latencies(found, "a client alone", alone)
        connects = 500 if given.quick else 5000
        costs = []
        for _ in range(3):
            time.sleep(1)
            before = processor_time(server.pid)
            bare_connects(port, connects)
            time.sleep(0.2)
            costs.append(1e3 * (processor_time(server.pid) - before) / connects)
        found.add(Row("admission", "processor time of a connection that says nothing", median(costs), "ms", asked=0.3))
        with attack(port) as opened:
            before = opened.value, time.monotonic()
            add_latencies(found, f"a client beside {CONNECTIONS} hostile connections", latencies(port, count), alone, 100)
            rate = (opened.value - before[0]) / (time.monotonic() - before[1])
        found.add(Row("admission", "hostile connections opened in a second", rate))
    return found
