"""A part of the suite `remote`: products on a slow device of this machine, and on a server's device over links of several rates and
round trips; where the break-even is, and which of the two `remote.prefer = auto` chooses once it has learnt.

The slow device is Oclgrind, an interpreter, where it is installed; the figures say which it was. A link is a relay in this process
(narrow_relay.py). The server keeps its driver's cache, so that builds are not what is measured. The rule learns as a program's user sees it: by runs of the same command line, two here, two at the server where
it tries that, and the next one is what it has chosen. Its time is measured by the program: builds, transfers, products."""

import contextlib
import json
import pathlib
import tempfile
from dataclasses import dataclass

import narrow_relay
import programs
from results import Row, Unmeasured

OCLGRIND = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
SIDES = (32, 64, 96, 128)
LINKS = ((1, 5), (10, 50), (10, 5), (100, 1), (1000, 0.1))  # Mbit/s, ms each way
PART = "offload"
LEARNING = 4  # runs, before the one that counts


@dataclass
class Link:
    megabits: float
    milliseconds: float

    def words(self):
        return f"{self.megabits:g} Mbit/s, {2 * self.milliseconds:g} ms"


def product(side, settings):
    """Seconds of one run of the program's work, and the file of the driver that it had."""
    status, output = programs.run("cleave_remote_work", "", "--product", side, settings=settings, limit=600)
    if status != 0:
        raise Unmeasured(f"cleave_remote_work --product {side}: exit status {status}")
    run = json.loads(output)
    return run["product"] / 1e6, pathlib.Path(run["driver"]).name == "libcleave-remote.so"


def settings_for(address, prefer, cache):
    local = {"OCL_ICD_VENDORS": str(OCLGRIND), "OCL_ICD_FILENAMES": ""} if OCLGRIND.exists() else {}
    return {"LD_PRELOAD": str(programs.library()), "OPENCL_LAYERS": "", "CLEAVE_REMOTE": address, "CLEAVE_REMOTE_PREFER": prefer,
            "CLEAVE_CACHE": str(cache), **local}


def measure_at(side, address, cache):
    """The shortest time here and at the server, and what the rule's run took and where it was."""
    times = {False: [], True: []}
    for _ in range(LEARNING):
        time, remote = product(side, settings_for(address, "auto", cache))
        times[remote].append(time)
    chosen, is_remote = product(side, settings_for(address, "auto", cache))
    times[is_remote].append(chosen)
    for prefer in ("local", "remote"):
        time, remote = product(side, settings_for(address, prefer, cache))
        times[remote].append(time)
    return min(times[False]), min(times[True]), chosen, is_remote


def break_even(rows, of):
    """The smallest size from which on it pays to go to the server; None: none that was measured."""
    pays = None
    for side, row in rows:
        pays = None if not of(row) else pays or side
    return pays


def add_link(found, link, port, sides):
    rows = []
    with tempfile.TemporaryDirectory(prefix="cleave-bench-") as cache, contextlib.closing(
            narrow_relay.Relay(port, link.megabits, link.milliseconds)) as relay:
        for side in sides:
            here, there, chosen, is_remote = measure_at(side, relay.address, cache)
            rows.append((side, Row(PART, f"{link.words()}: product {side}", there * 1e6, "us", baseline=here * 1e6,
                                   note="remote" if is_remote else "local")))
            found.add(rows[-1][1])
            found.add(Row(PART, f"{link.words()}: product {side}, the rule's run to the better of both", chosen / min(here, there)))
    pays = break_even(rows, lambda row: row.value < row.baseline)
    chosen = break_even(rows, lambda row: row.note == "remote")
    found.add(Row(PART, f"{link.words()}: break-even", pays or 0, "rows", note=f"the rule's: {chosen or 'none of these'}"))


def measure(found, port, quick):
    slow = "Oclgrind" if OCLGRIND.exists() else "the first device, since Oclgrind is not installed"
    found.machine["slow device"] = slow
    for megabits, milliseconds in LINKS[-1:] if quick else LINKS:
        add_link(found, Link(megabits, milliseconds), port, SIDES[:2] if quick else SIDES)
