"""Fails the build unless src/opencl/functions.def lists the functions that the system's OpenCL headers declare.

The headers are preprocessed with every version and all deprecated functions switched on, so that what is compared is
what a program could be compiled against. Listed must be all of cl.h, cl_gl.h and cl_egl.h but for extensions of one
vendor (names that end in INTEL, QCOM, ...), which no loader exports. Of cl_ext.h some may be, as loaders see fit:
test_symbols.py compares with the system's.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

REQUIRED = ("cl.h", "cl_gl.h", "cl_egl.h")
ALLOWED = (*REQUIRED, "cl_ext.h")
DEPRECATED = ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2")

VENDOR_EXTENSION = re.compile(r"cl\w*[a-z](?!KHR|EXT)[A-Z]{3,}")
# Name and column `handles`.
LISTED = re.compile(r"^CL_FUNCTION\([\d.]+, (\w+), \d+, \w+,\s+(\w+)", re.MULTILINE)
# To C++ a list of properties is one of numbers. Whether it may hold handles has to be looked up.
PROPERTIES = re.compile(r"\b(cl[A-Z]\w*)\s*\([^;]*_properties\w*\s*\*")


def preprocessed(compiler, folder):
    macros = ["-DCL_TARGET_OPENCL_VERSION=300"] + [f"-DCL_USE_DEPRECATED_OPENCL_{v}_APIS" for v in DEPRECATED]
    source = "".join(f"#include <CL/{header}>\n" for header in ALLOWED)
    command = [compiler, "-E", "-x", "c", *macros, f"-I{folder}", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def from_headers(text, headers):
    """The lines that come from `headers` themselves, and not from what they include (the C library)."""
    ours, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = Path(marker[1]).name in headers and Path(marker[1]).parent.name == "CL"
        elif ours:
            lines.append(line)
    return "\n".join(lines)


def without_parentheses(text):
    """Declarations with what stands in nested parentheses left out: attributes and types of callbacks."""
    innermost = re.compile(r"\([^()]*\)")
    while True:
        shorter = re.sub(r"__attribute__\s*\x01|\x01", "\x01", innermost.sub("\x01", text))
        if shorter == text:
            return text
        text = shorter


def declared(text, headers):
    names = set()
    for declaration in from_headers(text, headers).split(";"):
        if declaration.lstrip().startswith("typedef"):
            continue
        names.update(re.findall(r"\b(cl[A-Z]\w*)\s*\x01", without_parentheses(declaration)))
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--headers", type=Path, required=True)
    parser.add_argument("functions", type=Path)
    options = parser.parse_args()

    handles = dict(rows := LISTED.findall(options.functions.read_text(encoding="utf-8")))
    listed = [name for name, _ in rows]
    text = preprocessed(options.compiler, options.headers)
    expected = {name for name in declared(text, REQUIRED) if not VENDOR_EXTENSION.fullmatch(name)}
    allowed = declared(text, ALLOWED)
    problems = [f"declared in the headers but not listed: {name}" for name in sorted(expected - set(listed))]
    problems += [f"listed but not declared in the headers: {name}" for name in sorted(set(listed) - allowed)]
    problems += [f"listed twice: {name}" for name in sorted({n for n in listed if listed.count(n) > 1})]
    problems += [
        f"{found[1]} has properties: its handles are not `by_type` alone, but `checked_by_type` or `by_hand`"
        for declaration in from_headers(text, ALLOWED).split(";")
        if (found := PROPERTIES.search(declaration)) and handles.get(found[1]) == "by_type"
    ]
    if len(expected) < 100:
        problems.append(f"only {len(expected)} functions were found in the headers: this script has to be fixed")
    for problem in problems:
        print(f"{options.functions}: error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
