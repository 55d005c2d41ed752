"""The results of one run: what is compared with the native run's."""

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Results:
    status: int
    output: tuple  # the lines of standard output that count
    files: tuple  # (name, digest), None for a missing file


def kept_lines(output, keep):
    """Of each line what the regular expression `keep` matches at its beginning. Order counts."""
    if keep is None:
        return ()
    matches = (re.match(keep, line) for line in output.splitlines())
    return tuple(match[0] for match in matches if match)


def results(program, status, output, folder):
    files = tuple((name, _digest(folder / name)) for name in program.results)
    return Results(status, kept_lines(output, program.keep), files)


def is_complete(found):
    """Whether a run succeeded and has something to compare."""
    return found.status == 0 and all(digest for _, digest in found.files) and bool(found.output or found.files)


def difference(native, other):
    """What differs, in words; empty if nothing does."""
    if other.status != native.status:
        return f"exit status {other.status}, natively {native.status}"
    for (name, expected), (_, actual) in zip(native.files, other.files):
        if expected != actual:
            return f"{name} is missing" if actual is None else f"the contents of {name} differ"
    if len(native.output) != len(other.output):
        return f"{len(other.output)} lines of output, natively {len(native.output)}"
    for number, (expected, actual) in enumerate(zip(native.output, other.output), 1):
        if expected != actual:
            return f"line {number} of the output: {actual!r}, natively {expected!r}"
    return ""


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
