"""The picture of the suite `clients`."""

from plots import ASKED, CLEAVE, NATIVE


def draw(found, pyplot):
    parts = list(dict.fromkeys(row.part for row in found.rows))
    figure, places = pyplot.subplots(1, len(parts), figsize=(6 * len(parts), 4), squeeze=False, constrained_layout=True)
    for place, part in zip(places[0], parts):
        rows = found.of(part)
        place.barh([row.what.removeprefix(f"{part}: ") for row in rows], [row.value for row in rows],
                   xerr=[row.spread or 0 for row in rows],
                   color=[NATIVE if row.baseline is None else CLEAVE for row in rows])
        for row in rows:
            if row.asked is not None:
                place.axvline(row.asked, color=ASKED)
        place.invert_yaxis()
        place.set(title=part, xlabel="ms", xscale="log")
    figure.suptitle(f"{found.machine['clients']} clients of one server: one with kernels of {found.machine['long']}, "
                    f"the others of {found.machine['short']}")
    return figure
