"""Pictures of the results, where matplotlib is installed: what all of them share."""

import importlib
import sys
import textwrap

NATIVE, CLEAVE, ASKED, PAPER = "#8c8c8c", "#1f6fb4", "#c44e52", "#dd8452"
SERIES = ("#1f6fb4", "#2a9d6f", "#8172b3", "#ccb974", "#64b5cd", "#c44e52", "#dd8452", "#937860", "#8c8c8c")
SUITES = ("clients", "gpu", "micro", "neighbours", "remote", "share", "split", "turns")


def draw(found, file):
    """The picture that `plot_SUITE.py` makes of these results."""
    try:
        import matplotlib
    except ImportError:
        print(f"no picture: matplotlib is missing (Debian: python3-matplotlib); then: cleave bench plot "
              f"{file.with_suffix('.json')}", file=sys.stderr)
        return
    if found.suite not in SUITES:
        print(f"no picture: none is known for {found.suite}", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = importlib.import_module(f"plot_{found.suite}").draw(found, pyplot)
    words = found.machine
    processor = f"{words['processor']}, {words['cores']} cores" if "processor" in words else ""
    figure.supxlabel("; ".join(filter(None, (words["device"], processor, words["cleave"]))), fontsize=9, color="#555555")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
    print(f"drawn in {file}", file=sys.stderr)


def line(place, rows, along, **style):
    """Values with their spread, over an attribute of the rows."""
    place.errorbar([getattr(row, along) for row in rows], [row.value for row in rows],
                   yerr=[row.spread or 0 for row in rows], capsize=3, **style)


def ticks(place, values):
    """On a logarithmic axis: these, as plain numbers."""
    place.set_xscale("log")
    place.set_xticks(values, [f"{value:g}" for value in values])
    place.minorticks_off()


def bars(place, rows, title):
    place.barh([textwrap.fill(row.what, 36) for row in rows], [row.value for row in rows], color=CLEAVE,
               xerr=[row.spread or 0 for row in rows])
    for at, row in enumerate(rows):
        if row.asked is not None:
            place.plot([row.asked] * 2, [at - 0.4, at + 0.4], color=ASKED)
    place.invert_yaxis()
    place.set_title(title, fontsize=10)
    place.tick_params(axis="y", labelsize=8)
