"""The picture of the suite `turns`."""

from plots import CLEAVE, NATIVE, SERIES, bars
from turns import CLIENTS, HIGH, TURNS
from turns import NATIVE as NATIVELY

STYLES = {NATIVELY: (NATIVE, "o-"), TURNS: (CLEAVE, "o-"), HIGH: (SERIES[1], "s--")}
RATIOS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw(found, pyplot):
    figure, places = pyplot.subplots(2, 4, figsize=(20, 9), constrained_layout=True)
    for place, (kind, words) in zip(places[0], CLIENTS.items()):
        by_way(place, found.of(f"{kind} P99"), f"{words}: P99, ratio to alone")
        logarithmic(place)
    by_way(places[1][0], found.of("throughput"), "Jobs, all together: ratio to one, natively")
    by_way(places[1][1], found.of("processor of all"), "Processor time of all jobs, cores")
    bars(places[1][2], found.of("weights"), "Shares by weight")
    others = [row for part in ("overlap", "idle", "remote") for row in found.of(part)]
    others += [row for row in found.of("outsiders") if ", P99," in row.what]
    bars(places[1][3], others, "Time, or throughput: ratio to alone, natively")
    return figure


def logarithmic(place):
    place.set_yscale("log")
    limits = place.get_ylim()
    place.set_yticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
    place.minorticks_off()
    place.set_ylim(limits)


def by_way(place, rows, title):
    """Over the number of jobs, a line for each way of sharing."""
    for way, (color, style) in STYLES.items():
        own = [row for row in rows if row.what.endswith(f": {way}")]
        if own:
            place.errorbar([row.neighbours for row in own], [row.value for row in own], yerr=[row.spread or 0 for row in own],
                           fmt=style, capsize=3, label=way, color=color)
    place.set_title(title, fontsize=10)
    place.set_xlabel("jobs")
    if rows:
        place.set_xticks(sorted({row.neighbours for row in rows}))
        place.legend(fontsize=8)
