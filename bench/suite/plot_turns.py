"""The picture of the suite `turns`."""

from plots import CLEAVE, NATIVE, SERIES, bars
from turns import CLIENTS, HIGH, TURNS
from turns import NATIVE as NATIVELY

STYLES = {NATIVELY: (NATIVE, "o-"), TURNS: (CLEAVE, "o-"), HIGH: (SERIES[1], "s--")}
RATIOS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw(found, pyplot):
    """A panel for each kind of figure that was measured."""
    panels = [(waits, found.of(f"{kind} P99"), f"{words}: P99, ratio to alone") for kind, words in CLIENTS.items()]
    panels += [(by_way, found.of("throughput"), "Jobs, all together: ratio to one, natively"),
               (by_way, found.of("processor of all"), "Processor time of all jobs, cores"),
               (bars, found.of("weights"), "Shares by weight"),
               (bars, [row for part in ("overlap", "idle", "remote") for row in found.of(part)]
                + [row for row in found.of("outsiders") if ", P99," in row.what],
                "Time, or throughput: ratio to alone, natively")]
    panels = [panel for panel in panels if panel[1]]
    columns = 4 if len(panels) > 4 else 2
    lines = -(-len(panels) // columns)
    figure, places = pyplot.subplots(lines, columns, figsize=(5 * columns, 4.5 * lines), constrained_layout=True, squeeze=False)
    for place, (draw_panel, rows, title) in zip(places.flat, panels):
        draw_panel(place, rows, title)
    for place in places.flat[len(panels):]:
        place.axis("off")
    return figure


def waits(place, rows, title):
    by_way(place, rows, title)
    logarithmic(place)


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
    place.set_xticks(sorted({row.neighbours for row in rows}))
    place.legend(fontsize=8)
