"""The picture of the suite `remote`."""

from plots import ASKED, CLEAVE, NATIVE, PAPER, SERIES

PEER = PAPER


def rows_of(found, *words):
    return [row for row in found.rows if any(word in row.what for word in words) and row.unit]


def side_by_side(place, rows, title):
    heights = range(len(rows))
    place.barh([at + 0.2 for at in heights], [row.value for row in rows], 0.4, color=CLEAVE, label="with a server")
    place.barh([at - 0.2 for at in heights], [row.baseline for row in rows], 0.4, color=NATIVE, label="native")
    peers = [(at, row.peer) for at, row in zip(heights, rows) if row.peer is not None]
    if peers:
        place.plot([value for _, value in peers], [at + 0.2 for at, _ in peers], "D", color=PEER, label="the peer")
    asked = [(at, row.asked) for at, row in zip(heights, rows) if row.asked is not None]
    place.plot([value for _, value in asked], [at + 0.2 for at, _ in asked], "|", color=ASKED, markersize=14,
               label="the most allowed")
    place.set_yticks(list(heights), [row.what for row in rows])
    place.set(title=title, xscale="log", xlabel="us")
    place.legend()


def offload_by_link(found):
    """Of each link the sizes with their rows."""
    links = {}
    for row in found.of("offload"):
        link, _, product = row.what.partition(": product ")
        if product.isdigit():
            links.setdefault(link, []).append((int(product), row))
    return links


def draw_offload(place, links):
    """Lines cross the slow device's where it pays."""
    here = {}
    for (link, rows), color in zip(links.items(), (CLEAVE, *SERIES[1:]) * len(links)):
        place.plot([side for side, _ in rows], [row.value / 1e3 for _, row in rows], "o-", color=color, label=link)
        for side, row in rows:
            here[side] = min(row.baseline / 1e3, here.get(side, row.baseline / 1e3))
    place.plot(list(here), list(here.values()), "k--", label="the slow device here")
    place.set(title="Where a server pays", xlabel="rows", ylabel="ms", xscale="log", yscale="log")
    place.set_xticks(list(here), [str(side) for side in here])
    place.minorticks_off()
    place.legend()


def draw(found, pyplot):
    links = offload_by_link(found)
    figure, places = pyplot.subplots(1, 4 if links else 3, figsize=(25 if links else 19, 6), constrained_layout=True)
    if links:
        draw_offload(places[3], links)
    side_by_side(places[0], rows_of(found, "finish", "10000"), "Launches")
    side_by_side(places[1], rows_of(found, "MiB", "KiB"), "Transfers")
    for kind, color in (("tcp", CLEAVE), ("unix", SERIES[1])):
        rows = rows_of(found, f"{kind}: product")
        places[2].plot([int(row.what.split()[-1]) for row in rows], [row.value / row.baseline for row in rows], "o-",
                       color=color, label=kind)
    beside = [row for row in rows_of(found, "product") if row.peer is not None]
    if beside:
        places[2].plot([int(row.what.split()[-1]) for row in beside], [row.peer / row.baseline for row in beside], "D--",
                       color=PEER, label="the peer, tcp")
    places[2].set(title="Matrix products with their transfers", xlabel="rows", ylabel="time, native = 1",
                  **({"yscale": "log"} if beside else {"ylim": (0, None)}))
    places[2].legend()
    figure.suptitle("The devices of a server on this machine, against the same devices natively")
    return figure
