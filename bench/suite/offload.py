"""A part of the suite `remote`: products on a slow device of this machine, and on a server's device over links of several rates and
round trips; and for each link the break-even, the smallest size from which on the server is faster.

The slow device is Oclgrind, an interpreter, where it is installed; the figures say which it was. A link is a relay in this process
(narrow_relay.py). The server keeps its driver's cache, so that builds are not what is measured. Each time is the shortest of several
runs, as the program measures it: builds, transfers, products."""

import contextlib
import json
import pathlib
from dataclasses import dataclass

import narrow_relay
import programs
from results import Row, Unmeasured

OCLGRIND = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
SIDES = (32, 64, 96, 128)
LINKS = ((1, 5), (10, 50), (10, 5), (100, 1), (1000, 0.1))  # Mbit/s, ms each way
PART = "offload"
RUNS = 3  # here, and at the server


@dataclass
class Link:
    megabits: float
    milliseconds: float

    def words(self):
        return f"{self.megabits:g} Mbit/s, {2 * self.milliseconds:g} ms"


def product(side, address, prefer):
    """The seconds of the shortest run of the program's work."""
    settings = settings_for(address, prefer)
    return min(run_once(side, settings, prefer == "remote") for _ in range(RUNS))


def run_once(side, settings, is_remote):
    status, output = programs.run("cleave_remote_work", "", "--product", side, settings=settings, limit=600)
    if status != 0:
        raise Unmeasured(f"cleave_remote_work --product {side}: exit status {status}")
    run = json.loads(output)
    if (pathlib.Path(run["driver"]).name == "libcleave-remote.so") != is_remote:
        raise Unmeasured(f"cleave_remote_work --product {side}: ran on {run['driver']}")
    return run["product"] / 1e6


def settings_for(address, prefer):
    local = {"OCL_ICD_VENDORS": str(OCLGRIND), "OCL_ICD_FILENAMES": ""} if OCLGRIND.exists() else {}
    return {"LD_PRELOAD": str(programs.library()), "OPENCL_LAYERS": "", "CLEAVE_REMOTE": address, "CLEAVE_REMOTE_PREFER": prefer,
            **local}


def break_even(rows):
    """The smallest size from which on it pays to go to the server; None: none that was measured."""
    pays = None
    for side, row in rows:
        pays = (pays or side) if row.value < row.baseline else None
    return pays


def add_link(found, link, port, sides):
    rows = []
    with contextlib.closing(narrow_relay.Relay(port, link.megabits, link.milliseconds)) as relay:
        for side in sides:
            here, there = product(side, relay.address, "local"), product(side, relay.address, "remote")
            rows.append((side, Row(PART, f"{link.words()}: product {side}", there * 1e6, "us", baseline=here * 1e6)))
            found.add(rows[-1][1])
    found.add(Row(PART, f"{link.words()}: break-even", break_even(rows) or 0, "rows"))


def measure(found, port, quick):
    slow = "Oclgrind" if OCLGRIND.exists() else "the first device, since Oclgrind is not installed"
    found.machine["slow device"] = slow
    for megabits, milliseconds in LINKS[-1:] if quick else LINKS:
        add_link(found, Link(megabits, milliseconds), port, SIDES[:2] if quick else SIDES)
