"""The picture of the suite `gpu`."""

from plots import ASKED, CLEAVE, NATIVE, bars


def draw(found, pyplot):
    figure, places = pyplot.subplots(2, 2, figsize=(14, 9), constrained_layout=True)
    draw_product(found, places[0][0])
    draw_waits(found, places[0][1])
    draw_ratios(found, places[1][0])
    draw_shares(found, places[1][1])
    return figure


def draw_product(found, place):
    """What slices cost."""
    for part, label, style in (("product", "no event", "o-"), ("product with events", "with an event", "s--")):
        rows = found.of(part)
        place.errorbar([row.slices for row in rows], [row.value for row in rows], yerr=[row.spread for row in rows],
                       fmt=style, capsize=3, label=label, color=CLEAVE)
    rows = found.of("product")
    place.plot([row.slices for row in rows], [row.asked for row in rows], ":", color=ASKED, label="the most allowed")
    place.axhline(1, color=NATIVE, linewidth=1)
    place.set(title="5120×5120 product, pipelined: time", xlabel="slices", ylabel="ratio to the whole launch")
    if rows:
        place.set(xscale="log")
        place.legend()


def draw_waits(found, place):
    """What others gain."""
    rows = found.of("waits beside it")
    place.plot([row.slices for row in rows], [row.value for row in rows], "o-", color=CLEAVE, label="split")
    place.plot([row.slices for row in rows], [row.baseline for row in rows], "o-", color=NATIVE, label="whole")
    place.set(title="Longest wait of a small kernel on another queue", xlabel="slices", ylabel="ms")
    if rows:
        place.set(xscale="log", yscale="log")
        place.legend()


def draw_ratios(found, place):
    rows = [row for part in ("others", "quantum", "budget", "stream") for row in found.of(part)
            if not row.unit and not row.at_least]
    bars(place, rows, "Other work: time, ratio to native (red: the most allowed)")
    if rows:
        place.set_xlim(left=0.9)


def draw_shares(found, place):
    rows = [row for row in found.of("waiting") if row.unit == "s"] + found.of("contention")
    bars(place, rows, "Processor seconds for a wait of 1 s; throughput beside a waiting program")
