"""The suite `split`: every kernel unsplit and in slices, in every mode, and with five VMs and the default settings."""

import programs
from results import Results, Row, machine, median, ratio

KERNELS = ("tiled product", "stencil", "n-body", "Mandelbrot", "reduction", "scan", "histogram", "sort step", "empty")
MODES = ("sequential", "queued", "pipelined")
DEFAULT = "by default"
COUNTS = (2, 4, 10, 20, 100)
QUICK_COUNTS = (2, 20, 100)


def measure(given):
    found = None
    options = [*KERNELS, *programs.target(given), "--repeats", 3 if given.quick else 9, "--waits", 0, "--no-events",
               *(["--small"] if given.quick else [])]
    counts = QUICK_COUNTS if given.quick else COUNTS
    runs = [(mode, {"CLEAVE_SPLIT": f"fixed:{slices}", "CLEAVE_LAUNCH": mode, "CLEAVE_MIN_ITEMS": "0"})
            for slices in counts for mode in MODES]
    for mode, settings in [*runs, (DEFAULT, {})]:
        settings = settings | {"CLEAVE_VMS": "5", "CLEAVE_WAIT": "native"}
        lines, right = programs.measure_all("launches", *options, settings=settings, limit=600)
        found = found or Results("split", machine(lines[0]["device"], programs.library()))
        found.sound &= right and len(lines) == len(KERNELS)
        for line in lines:
            add(found, mode, line)
    return found


def add(found, mode, line):
    value, spread = ratio(line["cleave"], line["native"])
    made = round(line["slices"] / line["split"]) if line["split"] else 1
    notes = [] if line["right"] else ["wrong result"]
    if mode == "pipelined" and not line["pipelined"]:
        notes.append("on one queue" if line["split"] else "whole")
    found.add(Row(mode, f"{line['work']}, {mode}, {made} slices", value, baseline=median(line["native"]), spread=spread,
                  slices=made, kernel=line["work"], note="; ".join(notes)))
