"""The picture of the suite `micro`."""

from plots import ASKED, CLEAVE, SERIES, bars, line, ticks


def draw(found, pyplot):
    figure, places = pyplot.subplots(1, 3, figsize=(16, 5), constrained_layout=True)
    bars(places[0], found.of("calls") + found.of("whole") + found.of("vendor library"), "Calls and launches that stay whole")
    places[0].set_xlabel("ns that Cleave adds (red: the most allowed)")
    for part, words, color in (("slices", "no event", CLEAVE), ("slices with an event", "with an event", SERIES[1])):
        rows = found.of(part)
        line(places[1], rows, "slices", fmt="o-", label=words, color=color)
        ticks(places[1], [row.slices for row in rows])
    places[1].axhline(1000, color=ASKED, linestyle=":", label="the most allowed")
    places[1].set(title="A launch in slices", xlabel="slices", ylabel="ns that Cleave adds to so many enqueues", ylim=(0, None))
    places[1].legend()
    bars(places[2], found.of("start"), "Programs that start")
    places[2].set_xlabel("ms that Cleave adds (red: the most allowed)")
    figure.suptitle("What Cleave's own calls, launches and slices cost, beyond what the driver costs")
    return figure
