"""Two files of results, row by row."""

from results import load, print_columns, quantity


def verdict(before, after):
    """Whether the difference is larger than the spreads of both together."""
    if before.spread is None and after.spread is None:
        return "no spread known"
    room = (before.spread or 0) + (after.spread or 0)
    if abs(after.value - before.value) <= room:
        return "within the spreads"
    return "more" if after.value > before.value else "less"


def shown(row):
    spread = "" if row.spread is None else f" ± {row.spread:.2g}"
    return quantity(row.value, row.unit) + spread


def compare(first, second):
    """Prints a table of the rows that both have, and names those that one has alone."""
    before, after = load(first), load(second)
    for file, found in ((first, before), (second, after)):
        words = found.machine
        print(f"{file}: {found.suite}; {words['device']}; {words['cores']} cores; {words['cleave']}"
              f"{'' if found.sound else '; NOT ALL RESULTS WERE RIGHT'}")
    if before.machine != after.machine:
        print("The machines, drivers or versions differ.")
    later = {(row.part, row.what): row for row in after.rows}
    pairs = [(row, later.pop((row.part, row.what))) for row in before.rows if (row.part, row.what) in later]
    print()
    print_columns({
        "": [one.what for one, _ in pairs],
        "A": [shown(one) for one, _ in pairs],
        "B": [shown(other) for _, other in pairs],
        "B / A": [f"{other.value / one.value:.3f}" if one.value else "" for one, other in pairs],
        "the difference": [verdict(one, other) for one, other in pairs]})
    both = {(one.part, one.what) for one, _ in pairs}
    for letter, rows in (("A", [row for row in before.rows if (row.part, row.what) not in both]),
                         ("B", list(later.values()))):
        for row in rows:
            print(f"only in {letter}: {row.what}: {shown(row)}")
