"""The picture of the suite `share`: heat maps of pairs, and latency against throughput."""

import math

from plots import CLEAVE, NATIVE, PAPER, SERIES
from share import CAP, LATENCY, PRIORITY, THROUGHPUT, TURNS, WAYS
from share import NATIVE as NATIVELY

STYLES = {NATIVELY: (NATIVE, "o"), TURNS: (CLEAVE, "o"), PRIORITY: (SERIES[1], "s"), CAP: (SERIES[2], "^")}
RATIOS = (0.5, 1, 1.25, 2, 5, 10, 20, 50, 100, 200, 500)
# The only published figure with this denominator: the mean over its pairs, of inference beside training (ASPLOS 2025).
PUBLISHED = {"Tally, NVIDIA A100": 1.072}


def draw(found, pyplot):
    figure = pyplot.figure(figsize=(20, 11), constrained_layout=True)
    places = figure.subplot_mosaic([[f"heat {way}" for way in WAYS], ["scatter", "scatter", "alone", "alone"]])
    for way in WAYS:
        heat_map(places[f"heat {way}"], [row for row in found.of("P99") if row.policy == way and row.neighbours == 1], way)
    against(places["scatter"], found)
    alone(places["alone"], found.of("alone"))
    return figure


def heat_map(place, rows, way):
    """P99 of a row's program beside a column's, as a ratio to that alone."""
    values = {tuple(row.kernel.split()): row.value for row in rows}
    down = [name for name in LATENCY if any(pair[0] == name for pair in values)]
    across = [name for name in THROUGHPUT if any(pair[1] == name for pair in values)]
    place.set_title(f"P99, ratio to alone: {way}", fontsize=10)
    if not values:
        return
    place.imshow([[math.log10(values.get((one, other), math.nan)) for other in across] for one in down], cmap="YlOrRd", vmin=0,
                 vmax=2, aspect="auto")
    place.set_xticks(range(len(across)), across, rotation=30, ha="right")
    place.set_yticks(range(len(down)), down)
    for i, one in enumerate(down):
        for j, other in enumerate(across):
            if (one, other) in values:
                value = values[one, other]
                place.text(j, i, f"{value:.3g}", ha="center", va="center", color="white" if value > 30 else "black")


def against(place, found):
    """A point for each group and way: the latency of the one, and the mean of what the others get done."""
    for way, (color, mark) in STYLES.items():
        for row in found.of("P99"):
            done = [each.value for each in found.of("done") if (each.kernel, each.policy) == (row.kernel, way)]
            if row.policy == way and done:
                place.plot(row.value, sum(done) / len(done) * (1 if row.neighbours == 1 else len(done)), mark, color=color,
                           fillstyle="full" if row.neighbours == 1 else "none")
        place.plot([], [], mark, color=color, label=way)
    place.plot([], [], "o", color="black", fillstyle="none", label="beside several: their sum")
    for name, value in PUBLISHED.items():
        place.axvline(value, color=PAPER, linestyle=":", label=f"{name}: published mean of P99")
    place.set_xscale("log")
    limits = place.get_xlim()
    place.set_xticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
    place.minorticks_off()
    place.set_xlim(limits)
    place.set_ylim(bottom=0)
    place.set_xlabel("P99 of the latency-critical program, ratio to alone natively")
    place.set_ylabel("work of the others, ratio to alone natively")
    place.legend(fontsize=8)


def alone(place, rows):
    place.barh([row.kernel for row in rows], [row.value for row in rows], xerr=[row.spread or 0 for row in rows], color=CLEAVE)
    place.axvline(1, color=NATIVE)
    place.invert_yaxis()
    place.set_title("Alone under Cleave: time, ratio to natively", fontsize=10)
