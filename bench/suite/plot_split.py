"""The picture of the suite `split`: a field for each mode, a line for each kernel."""

from plots import NATIVE, SERIES, line, ticks

KINDS = {"sequential": "each slice is waited for", "queued": "all at once on one queue",
         "pipelined": "dealt over several queues", "by default": "five VMs, no setting"}


def draw(found, pyplot):
    figure, places = pyplot.subplots(1, len(KINDS), figsize=(20, 6), sharey=True, constrained_layout=True)
    for place, (mode, words) in zip(places, KINDS.items()):
        rows = found.of(mode)
        for kernel, color in zip(dict.fromkeys(row.kernel for row in rows), SERIES):
            line(place, [row for row in rows if row.kernel == kernel], "slices", fmt="o-", label=kernel, color=color)
        place.axhline(1, color=NATIVE, linewidth=1)
        place.set(title=f"{mode}: {words}", xlabel="slices of a launch", yscale="log")
        ticks(place, sorted({row.slices for row in rows}))
    values = [row.value for row in found.rows]
    steps = [step for step in (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
             if min(values) / 1.5 < step < 1.5 * max(values)]
    places[0].set_yticks(steps, [f"{step:g}" for step in steps])
    places[0].minorticks_off()
    places[0].set_ylabel("time, ratio to the same kernel launched whole (1: no loss)")
    places[0].set_ylim(min(values) / 1.3, 1.3 * max(values))
    places[-1].legend(fontsize=9, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.suptitle("What splitting a launch costs: medians and their spread, native and split in turns in one process")
    return figure
