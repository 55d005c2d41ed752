"""What was measured: rows with their baseline, kept as JSON and printed as a table."""

import dataclasses
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys


class Unmeasured(Exception):
    """Something that is needed is missing."""


@dataclasses.dataclass
class Row:
    part: str  # of the suite
    what: str
    value: float
    unit: str = ""
    baseline: float | None = None  # of the same run, in the same unit; for a ratio, the native time in ms
    spread: float | None = None  # of the value: the median distance from the median
    asked: float | None = None  # the requirement
    at_least: bool = False  # else at most
    note: str = ""
    slices: int | None = None
    kernel: str = ""
    neighbours: int | None = None
    claim: str = ""  # the paper's claim
    policy: str = ""
    peer: float | None = None  # the peer's value, of the same run and in the same unit

    @property
    def good(self):
        if self.asked is None:
            return None
        return self.value >= self.asked if self.at_least else self.value <= self.asked


@dataclasses.dataclass
class Results:
    suite: str
    machine: dict
    rows: list = dataclasses.field(default_factory=list)
    sound: bool = True  # every result was the native one
    peer: str = ""  # the peer's name and version, or why it has no figures

    def add(self, row):
        self.rows.append(row)
        print(f"  {row.what}: {shown(row)}", file=sys.stderr, flush=True)

    def of(self, part):
        return [row for row in self.rows if row.part == part]


def median(values):
    return statistics.median(values)


def spread(values):
    middle = statistics.median(values)
    return statistics.median(abs(value - middle) for value in values)


def ratio(changed, native):
    """The ratio of the medians, and its spread."""
    base = median(native)
    return median(changed) / base, (spread(changed) + spread(native)) / base


def machine(device, library):
    """The machine, the driver and the versions, without which a figure means nothing."""
    processor = next((line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), "unknown")
    return {"device": device, "processor": processor, "cores": len(os.sched_getaffinity(0)),
            "system": platform.platform(), "python": platform.python_version(), "cleave": version(library)}


def version(library):
    command = library.parent.parent.parent / "bin" / "cleave"
    try:
        return subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def shown(row):
    return quantity(row.value, row.unit) + (f" (required: {bound(row)})" if row.asked is not None else "")


def print_table(found):
    print(f"\n{found.suite}: {found.machine['device']}; {found.machine['cores']} cores; {found.machine['cleave']}\n")
    columns = {"": [row.what for row in found.rows], "measured": [quantity(row.value, row.unit) for row in found.rows],
               "spread": ["" if row.spread is None else f"{row.spread:.2g}" for row in found.rows],
               "native": ["" if row.baseline is None else quantity(row.baseline, row.unit or "ms") for row in found.rows],
               "the peer": [beside(row) if found.peer else "" for row in found.rows],
               "required": [bound(row) for row in found.rows], "the paper": [row.claim for row in found.rows],
               "remark": ["; ".join(filter(None, ["missed" if row.good is False else "", row.note])) for row in found.rows]}
    print_columns({title: cells for title, cells in columns.items() if title in ("", "measured") or any(cells)})
    if found.peer:
        print(f"\nThe peer: {found.peer}")
    if not found.sound:
        print("\nNot every result was the native one.")


def print_columns(columns):
    """A Markdown table whose columns line up."""
    widths = {title: max(map(len, (title, *cells))) for title, cells in columns.items()}
    lines = [list(columns), ["-" * width for width in widths.values()], *zip(*columns.values())]
    for line in lines:
        print("| " + " | ".join(f"{cell:{width}}" for cell, width in zip(line, widths.values())) + " |")


def quantity(value, unit):
    return f"{value:.4g}{' ' + unit if unit else ''}"


def beside(row):
    return "-" if row.peer is None else quantity(row.peer, row.unit)


def bound(row):
    return "" if row.asked is None else f"{'≥' if row.at_least else '≤'} {quantity(row.asked, row.unit)}"


def keep(found, file):
    file.write_text(json.dumps(dataclasses.asdict(found), indent=1) + "\n")
    print(f"kept in {file}", file=sys.stderr)


def load(file):
    try:
        data = json.loads(file.read_text())
        data["rows"] = [Row(**row) for row in data["rows"]]
        return Results(**data)
    except (OSError, ValueError, TypeError, KeyError) as why:
        raise Unmeasured(f"{file} holds no results: {why}") from why
