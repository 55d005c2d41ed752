"""Reduces a case that differs: fewer pieces of the program, fewer steps, fewer work-groups, fewer slices."""

import re
from dataclasses import dataclass, field, replace

from runs import Mode


@dataclass(frozen=True)
class Case:
    """One case of one program, without what was dropped, and the mode in which it differs."""

    seed: int
    program: int
    place: int  # of the case, or None for the program's target lines
    mode: Mode
    others: tuple = ()  # further options for cleave_fuzz
    dropped: frozenset = frozenset()
    steps: frozenset = frozenset()
    groups: int = None

    def options(self):
        options = ["--seed", self.seed, "--first-program", self.program, "--programs", 1, *self.others]
        options += ["--cases", 0] if self.place is None else ["--first-case", self.place, "--cases", 1]
        for name, numbers in (("--drop", self.dropped), ("--drop-steps", self.steps)):
            if numbers:
                options += [name, ",".join(map(str, sorted(numbers)))]
        return options + (["--most-groups", self.groups] if self.groups else [])


@dataclass
class Difference:
    """Lines that differ from the native run: by name, (native, other). None stands for no line."""

    lines: dict = field(default_factory=dict)
    native: object = None
    other: object = None

    def __bool__(self):
        return bool(self.lines)


def compare(native, other):
    lines = {}
    for name in {**native.lines, **other.lines}:
        before, after = native.lines.get(name), other.lines.get(name)
        if before != after:
            lines[name] = (before, after)
    if other.status != native.status:
        lines["exit status"] = (native.status, other.status)
    return Difference(lines, native, other)


def differs(runner, case):
    """The difference of a case, empty if there is none or if the native run fails."""
    native = runner.run(case.options())
    if not native.succeeded or any("unbuilt" in name for name in native.lines) and case.place is not None:
        return Difference()
    return compare(native, runner.run(case.options(), case.mode))


def excuse(runner, case, times=3):
    """Why a difference proves nothing about Cleave, or None."""
    first = runner.run(case.options())
    if any(compare(first, runner.run(case.options())) for _ in range(times)):
        return "differs from run to run natively"
    if runner.driver.alternative:
        second = runner.run(case.options(), alternative=True)
        if compare(first, second) and not compare(second, runner.run(case.options(), case.mode, alternative=True)):
            return "natively, two configurations of the driver differ"
    return None


def without(case, what, numbers, still_differs):
    """Drops as many of the numbers as possible into `what`: halves first, then one by one, until nothing changes."""
    left = [number for number in numbers if number not in getattr(case, what)]
    size = max(len(left) // 2, 1)
    while left:
        before = len(left)
        for start in range(0, before, size):
            group = left[start : start + size]
            smaller = replace(case, **{what: getattr(case, what) | set(group)})
            if group and still_differs(smaller):
                case = smaller
                left = [number for number in left if number not in group]
                break
        else:
            if size == 1:
                break
            size = max(size // 2, 1)
    return case


def numbers_in(notes, word):
    """The numbers of the pieces or steps that a run with --show lists."""
    found = (re.match(rf"{word} (\d+)\b", line) for line in notes)
    return [int(match[1]) for match in found if match]


def shrink(runner, case):
    """The smallest case found that still differs."""

    def still_differs(smaller):
        return bool(differs(runner, smaller))

    for slices in (2, 3, 5, 8, 16):
        if slices < case.mode.slices and still_differs(replace(case, mode=replace(case.mode, slices=slices))):
            case = replace(case, mode=replace(case.mode, slices=slices))
            break
    notes = runner.run([*case.options(), "--show"]).notes
    case = without(case, "steps", numbers_in(notes, "step"), still_differs)
    case = without(case, "dropped", numbers_in(notes, "piece"), still_differs)
    for groups in (1, 2, 3, 5, 8):
        if still_differs(replace(case, groups=groups)):
            return replace(case, groups=groups)
    return case


def report(runner, case, difference, folder):
    """Writes the kernel, the calls and both command lines into a new folder."""
    target = folder / f"seed{case.seed}-program{case.program}-{'text' if case.place is None else case.place}"
    target.mkdir(parents=True, exist_ok=True)
    notes = runner.run([*case.options(), "--show"]).notes
    begin = notes.index("text begins") if "text begins" in notes else len(notes)
    end = notes.index("text ends", begin) if "text ends" in notes[begin:] else len(notes)
    (target / "kernels.cl").write_text("\n".join(notes[begin + 1 : end]) + "\n")
    text = [f"Differs in the mode: {case.mode}", "", "Calls:", *notes[:begin], *notes[end + 1 :], "", "Lines:"]
    for name, (before, after) in difference.lines.items():
        text += [f"  {name}", f"    native: {before}", f"    cleave: {after}"]
    text += ["", "Commands:", f"  {difference.native.command}", f"  {difference.other.command}", ""]
    (target / "report.txt").write_text("\n".join(text))
    return target
