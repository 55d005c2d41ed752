"""The suite `remote`: what it costs to use the devices of a server on this machine, over TCP and over a unix socket.

The same program runs natively, with the server's devices and with those of PoCL-Remote, the peer, where that is installed,
alternately. Plain sockets are measured within each run, and the requirements are calculated from their figures. Each run says
which driver it had, and the suite ends if that was not the column's: the environment may name drivers that a loader puts first.
Then where it pays to use a server at all: offload.py.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import offload
import peer
import programs
from results import Results, Row, Unmeasured, machine, median, spread
from throttled_link import ThrottledLink

PRODUCTS = (64, 128, 256, 512)
MAPS = ("map for reading", "map for writing", "map to overwrite")  # and the unmap
PARTS = ("calls", "between", "offload")
LINK_RATE = 10_000_000  # bytes a second, of the client's link while contents move between servers


def command():
    return programs.library().parent.parent.parent / "bin" / "cleave-serverd"


@contextlib.contextmanager
def server(address, settings=None, options=()):
    """A server of all devices here, until the end: its process."""
    if not command().exists():
        raise Unmeasured(f"{command()} is missing: Cleave was built without the remote backend")
    user = ["--user", "root"] if os.geteuid() == 0 else []
    process = subprocess.Popen([command(), "--listen", address, *user, *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=programs.environment(settings or {}), text=True)
    try:
        wait_for(address, process)
        yield process
    finally:
        process.terminate()
        process.communicate()


def wait_for(address, process):
    kind, _, place = address.partition(":")
    for _ in range(200):
        if process.poll() is not None:
            raise Unmeasured(f"cleave-serverd: {process.stderr.read().strip()}")
        with contextlib.suppress(OSError):
            if kind == "unix":
                with socket.socket(socket.AF_UNIX) as one:
                    return one.connect(place)
            host, _, port = place.rpartition(":")
            return socket.create_connection((host, int(port)), 1).close()
        time.sleep(0.05)
    raise Unmeasured(f"cleave-serverd does not listen on {address}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def work(given, platform, settings, *option, limit=600, **more):
    """The times of the work, in microseconds, and what platform it was on."""
    option = option or (["--quick"] if given.quick else [])
    status, output = programs.run("cleave_remote_work", platform, *option, settings=settings, limit=limit, **more)
    if status != 0:
        raise Unmeasured(f"cleave_remote_work: exit status {status}")
    return json.loads(output)


def nothing_but(address):
    """The environment of a program whose only devices are that server's."""
    return {"LD_PRELOAD": str(programs.library()), "CLEAVE_REMOTE": address, "CLEAVE_REMOTE_PREFER": "required",
            "OCL_ICD_VENDORS": os.devnull, "OCL_ICD_FILENAMES": "", "OPENCL_LAYERS": ""}


def check_native(run):
    """A server's devices, or launches that Cleave splits, are no baseline."""
    if pathlib.Path(run["driver"]).name.startswith("libcleave-"):
        raise Unmeasured(f"the native platform, {run['platform']}, is of {run['driver']}: look at the loader's environment (OCL_ICD_*)")
    if run["under Cleave"] == "yes":
        raise Unmeasured("natively a Cleave was in between: look at LD_PRELOAD, LD_LIBRARY_PATH and OPENCL_LAYERS")


def check_remote(run, native):
    if pathlib.Path(run["driver"]).name != "libcleave-remote.so":
        raise Unmeasured(f"the server's platform, {run['platform']}, is of {run['driver'] or 'an unknown driver'}, "
                         "not of libcleave-remote.so: look at the loader's environment (OCL_ICD_*)")
    if run["device"] != native["device"]:
        raise Unmeasured(f"the server's device is {run['device']}, not {native['device']}: name one with --platform")


def native_figures(given, *option):
    run = work(given, given.platform, {}, *option)
    check_native(run)
    return run


def remote_figures(given, address, native):
    run = work(given, given.platform, nothing_but(address))
    check_remote(run, native)
    return run


def peer_figures(given, beside, native):
    """For the peer's turn. It has its daemon's first device, whatever platform is requested."""
    def measured(**options):
        run = work(given, "", **options)
        beside.check(run, native)
        return run
    return measured


class Bench:
    """The runs of one kind of socket."""

    def __init__(self, found, kind, native, remote, beside=()):
        self.found, self.kind, self.native, self.remote, self.beside = found, kind, native, remote, beside

    def values(self, what):
        return [run[what] for run in self.remote]

    def socket(self, what):
        """Of the same runs as the figure that it is compared with."""
        return median([run[f"{self.kind} {what}"] for run in self.remote])

    def base(self, what):
        return median([run[what] for run in self.native])

    def peer(self, what):
        return median([run[what] for run in self.beside]) if self.beside else None

    def add(self, what, asked=None, note=""):
        values = self.values(what)
        self.found.add(Row(self.kind, f"{self.kind}: {what}", median(values), "us", baseline=self.base(what),
                           spread=spread(values), asked=asked, note=note, peer=self.peer(what)))

    def add_share(self, words, what, reference, asked):
        """The share of the plain socket's rate."""
        values = [reference / value for value in self.values(what)]
        self.found.add(Row(self.kind, f"{self.kind}: {words}", median(values), spread=spread(values), asked=asked,
                           at_least=True))

    def add_all(self):
        self.add("start")
        on_processor = self.native[0].get("processor") == "yes"
        self.add("launch and finish", 1.5 * (self.socket("ping-pong") + self.base("launch and finish")))
        for what in ("a launch of 10000", "argument and launch of 10000"):
            self.add(f"{what}, on the client's thread", self.base(f"{what}, on the client's thread") + 2)
            self.add(f"{what}, to the end")
        for what, back in (("write", ""), ("read", " back")):
            self.add(f"{what} 64 MiB")
            if self.kind == "tcp":
                self.add_share(f"{what} 64 MiB, of a plain socket", f"{what} 64 MiB", self.socket(f"64 MiB{back}"), 0.85)
            else:
                self.add_share(f"{what} 64 MiB, of a native {what}", f"{what} 64 MiB", self.base(f"{what} 64 MiB"),
                               0.7 if on_processor else 1.0)
            self.add(f"{what} 4 KiB", 1.6 * self.socket("4 KiB"))
        for what in MAPS:
            self.add(f"{what} 64 MiB")
            # A processor's own maps copy nothing.
            if self.kind == "unix" and not on_processor:
                self.add_share(f"{what} 64 MiB, of a native one", f"{what} 64 MiB", self.base(f"{what} 64 MiB"), 0.8)
            self.add(f"{what} 4 KiB")
        for size in PRODUCTS:
            self.add(f"product {size}", note=self.moving(size))
        if self.beside:
            self.add_rates()

    def moving(self, size):
        """The share of a product's time that its transfers take."""
        share = median(self.values(f"product {size}, transfers")) / median(self.values(f"product {size}"))
        words = f"{100 * share:.0f} % of it transfers"
        if self.beside:
            words += f", of the peer's {100 * self.peer(f'product {size}, transfers') / self.peer(f'product {size}'):.0f} %"
        return words

    def add_rates(self):
        """The requirement relative to the peer."""
        what = "a launch of 10000, to the end"
        self.add_share("rate of 10000 launches, the peer's = 1", what, self.peer(what), 20)
        for size in PRODUCTS:
            self.add_share(f"rate of product {size}, the peer's = 1", f"product {size}", self.peer(f"product {size}"), 1)


def move_between(given, native):
    """The contents of a buffer between two servers, while the client's link to each carries LINK_RATE."""
    size = 64 if given.quick else 1024
    addresses = [f"tcp:127.0.0.1:{free_port()}" for _ in range(2)]
    options = [("--peers", addresses[1], "--peer-address", addresses[0]), ("--peers", addresses[0], "--peer-address", addresses[1])]
    with server(addresses[0], options=options[0]), server(addresses[1], options=options[1]):
        links = [ThrottledLink(address, LINK_RATE) for address in addresses]
        try:
            # The platform of several servers has a name of its own, and is the only one.
            status, output = programs.run("cleave_remote_work", "", "--between", size, limit=900,
                                          settings=nothing_but(",".join(link.address for link in links)))
            if status != 0:
                raise Unmeasured(f"cleave_remote_work --between: exit status {status}")
            run = json.loads(output)
            check_remote(run, native)
            return size, run, sum(link.passed for link in links)
        finally:
            for link in links:
                link.close()


def add_between(found, size, run, passed):
    link = f"the client's link: {LINK_RATE / 1e6:.0f} MB/s"
    found.add(Row("between", f"between two servers: {size} MB of contents", run["contents"], "us", baseline=run["tcp contents"],
                  note=f"{link}; the baseline is a plain socket"))
    found.add(Row("between", "between two servers: of a plain socket", run["tcp contents"] / run["contents"], asked=0.85, at_least=True,
                  note=f"{link}, which carried {passed / 1e6:.1f} MB"))


def measure_calls(given, beside):
    native = []
    remote = {"tcp": [], "unix": []}
    with tempfile.TemporaryDirectory() as folder:
        addresses = {"tcp": f"tcp:127.0.0.1:{free_port()}", "unix": f"unix:{pathlib.Path(folder) / 'server'}"}
        with server(addresses["tcp"]), server(addresses["unix"]):
            for _ in range(1 if given.quick else 5):
                native.append(native_figures(given))
                for kind, address in addresses.items():
                    remote[kind].append(remote_figures(given, address, native[-1]))
                if beside:
                    beside.turn(peer_figures(given, beside, native[-1]))
    return native, remote


def measure(given):
    parts = given.only or PARTS
    beside = peer.find(given.peer) if "calls" in parts else None
    if "calls" in parts:
        native, remote = measure_calls(given, beside)
    found = Results("remote", machine(given.platform or "the first platform", programs.library()),
                    peer=beside.summary() if beside else "")
    if "calls" in parts:
        for kind, runs in remote.items():
            Bench(found, kind, native, runs, beside.runs if beside and kind == "tcp" else ()).add_all()
    if "between" in parts:
        add_between(found, *move_between(given, native_figures(given, "--identify")))
    if "offload" in parts:
        port = free_port()
        with server(f"tcp:127.0.0.1:{port}", options=("--sandbox", "off")):
            offload.measure(found, port, given.quick)
    return found
