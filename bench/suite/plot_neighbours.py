"""The picture of the suite `neighbours`: the paper's figures 2, 4, 5 and 6 and its 500 groups."""

from plots import CLEAVE, NATIVE, PAPER, SERIES, line, ticks

GAIN, LOSS, MANY = 0.8, 1.05, 1.38  # the paper's claims, as ratios


def draw(found, pyplot):
    figure, places = pyplot.subplots(2, 4, figsize=(22, 9.5), constrained_layout=True)
    draw_slowing(found.of("fig2"), places[0][0])
    draw_groups(found.of("fig4"), places[0][1], "Fig. 4: the neighbours' time, the job in groups", GAIN,
                "the paper: up to 20 % faster")
    draw_groups(found.of("fig5"), places[0][2], "Fig. 5: the GPGPU job's time, in groups", LOSS,
                "the paper: less than 5 % slower")
    draw_best(found, places[1][0])
    draw_processor(found.of("processor"), places[1][1])
    draw_many(found, places[1][2])
    draw_losses(found, places[0][3])
    draw_losses(found, places[1][3], policies_only=True)
    words = found.machine
    figure.suptitle(f"A GPGPU job of four matrix products beside 1 to 4 neighbours (products of {words['neighbours']} matrices "
                    f"on 4 threads each)\n{words['isolation']} on {words['shared cores']} cores; launches in groups (slices), "
                    f"mode {words['mode']}; lower is better everywhere")
    return figure


def pairs(place, rows, low, high, words, shift=0.2):
    """Two bars for each number of neighbours."""
    at = [row.neighbours for row in rows]
    place.bar([x - shift for x in at], low, 2 * shift, color=NATIVE, label=words[0])
    place.bar([x + shift for x in at], high, 2 * shift, color=CLEAVE, label=words[1])
    place.set(xlabel="neighbours", xticks=at)
    place.legend()


def draw_slowing(rows, place):
    pairs(place, rows, [row.baseline for row in rows], [row.value * row.baseline for row in rows],
          ("without the GPGPU job", "with the job, launches whole"))
    place.set(title="Fig. 2: what the job costs its neighbours", ylabel="a neighbour's product, ms")


def draw_groups(rows, place, title, claim, words):
    for neighbours, color in zip(dict.fromkeys(row.neighbours for row in rows), SERIES):
        line(place, [row for row in rows if row.neighbours == neighbours], "slices", fmt="o-", color=color,
             label=f"{neighbours} neighbour{'s' if neighbours > 1 else ''}")
    place.axhline(1, color=NATIVE, linewidth=1)
    place.axhline(claim, color=PAPER, linestyle="--", label=words)
    place.set(title=title, xlabel="groups of a launch", ylabel="ratio to the job's launches whole")
    ticks(place, sorted({row.slices for row in rows}))
    place.legend(fontsize=8)


def draw_best(found, place):
    kinds = (("fig6 neighbours", "neighbours, to the job whole", CLEAVE),
             ("fig6 without", "neighbours, to no job at all", SERIES[1]), ("fig6 job", "the job, to itself whole", SERIES[2]))
    for at, (part, words, color) in enumerate(kinds):
        rows = found.of(part)
        place.bar([row.neighbours + 0.27 * (at - 1) for row in rows], [row.value for row in rows], 0.27, color=color,
                  label=words, yerr=[row.spread for row in rows], capsize=2)
    rows = found.of(kinds[0][0])
    place.axhline(1, color=NATIVE, linewidth=1)
    place.set(title="Fig. 6: the best α", ylabel="ratio of times", xticks=[row.neighbours for row in rows],
              xticklabels=[f"{row.neighbours} neighbour{'s' if row.neighbours > 1 else ''}\n{row.note}".replace(", ", "\n")
                           for row in rows])
    place.legend(fontsize=8)


def draw_processor(rows, place):
    pairs(place, rows, [row.baseline for row in rows], [row.value for row in rows], ("launches whole", "best α"))
    place.set(title="Host processor time of the GPGPU job", ylabel="cores that it keeps busy")


def draw_many(found, place):
    rows = found.of("many")
    place.bar(["Cleave", "the paper"], [row.value for row in rows] + [MANY], color=[CLEAVE, PAPER],
              yerr=[row.spread for row in rows] + [0], capsize=3)
    place.axhline(1, color=NATIVE, linewidth=1)
    place.set(title="The GPGPU job in 500 groups, beside one neighbour", ylabel="ratio to its launches whole")


POLICIES = ("fixed", "alpha", "budget", "pressure")
MARKERS = ("o", "s", "^", "D")  # by the number of neighbours
AIM = 0.01, 0.03  # what the job and its neighbours may lose


def draw_losses(found, place, policies_only=False):
    """The neighbours' loss against the job's: a curve for each policy, of a point for each number of neighbours. Of `fixed` there is a
    curve for each number of neighbours, from unsplit to the most groups; from its first point follows the paper's."""
    pairs_of_rows = zip(found.of("loss job"), found.of("loss neighbours"))
    points = [(job.policy, job.neighbours, 100 * (job.value - 1), 100 * (row.value - 1)) for job, row in pairs_of_rows]
    counts = sorted({point[1] for point in points})
    for policy, color in zip(POLICIES, SERIES):
        chosen = [point for point in points if point[0] == policy]
        curves = [[point for point in chosen if point[1] == count] for count in counts] if policy == "fixed" else [chosen]
        if not chosen or (policies_only and policy == "fixed"):
            continue
        for at, curve in enumerate(curves):
            place.plot([point[2] for point in curve], [point[3] for point in curve], color=color,
                       alpha=0.4 if policy == "fixed" else 1, label=None if at else policy)
            draw_points(place, curve, color)
    draw_paper(place, points, counts)
    place.plot(100 * AIM[0], 100 * AIM[1], "*", color=NATIVE, markersize=12, label=f"the aim: {AIM[1]:.0%}, {AIM[0]:.0%}")
    place.set(title="Losses by policy" if policies_only else "Losses: fixed numbers and policies", xlabel="the job's loss, %",
              ylabel="the neighbours' loss, %")
    place.legend(fontsize=8, title_fontsize=8,
                 title="neighbours: " + ", ".join(f"{count} {MARKERS[(count - 1) % len(MARKERS)]}" for count in counts))


def draw_points(place, points, color):
    for _, count, job, neighbours in points:
        place.plot(job, neighbours, MARKERS[(count - 1) % len(MARKERS)], color=color, markersize=5)


def draw_paper(place, points, counts):
    """Neighbours a fifth faster than beside the unsplit job measured here, for a loss of 5 % of the job."""
    unsplit = [next(point for point in points if point[0] == "fixed" and point[1] == count) for count in counts]
    claimed = [("paper", count, 100 * (LOSS - 1), GAIN * (100 + loss) - 100) for _, count, _, loss in unsplit]
    place.plot([point[2] for point in claimed], [point[3] for point in claimed], "--", color=PAPER, label="the paper's claims")
    draw_points(place, claimed, PAPER)
