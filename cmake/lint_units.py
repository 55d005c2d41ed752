"""Merges the libraries' sources of a build into few files for clang-tidy, which spends most of its time on the headers that each of
them includes. Names in anonymous namespaces have to differ for that, beyond one target (docs/decisions/0007-unity-builds.md).

usage: lint_units.py BUILD FOLDER. Writes the files and their compile commands into FOLDER, and prints what is to be linted there.
"""

import json
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The folders of which each file is made, about as much for each of two processors. The faces all define the same functions.
GROUPS = {"src": "local", "slurm": "local", "remote": "remote", "monitor": "remote"}
# One of the checks looks through a whole file for each of the hundred functions of this header that it complains of. Who includes it
# is with the command, and nobody else.
COMMAND = "#include <CLI/CLI.hpp>"
OURS = re.compile(rf"{re.escape(str(ROOT))}/(?:build/[\w-]+/)?(src|icd|monitor|remote|slurm|bench/(?:programs|remote))/(?!.*/(?:tests/|cmake_pch))")
INCLUDED = re.compile(r'#include "([^"]+\.cpp)"')
MAIN = re.compile(r"^int main\(", re.M)


def sources(entry):
    """The files that a merged one consists of; none if it is a single file."""
    return INCLUDED.findall(Path(entry["file"]).read_text()) if "/Unity/" in entry["file"] else []


def flags(command):
    """Those that decide what is read, in order."""
    words = shlex.split(command)[1:]
    taken = []
    for word, after in zip(words, [*words[1:], ""]):
        if word == "-isystem":
            taken.append((word, after))
        elif re.match(r"-[DIWf]|-std=", word) and not word.startswith("-fsanitize"):
            taken.append((word,))
    return taken


def command(build, file, options):
    """Without precompiled headers: the checks look at all headers anyway."""
    words = ["clang++", *(word for option in options for word in option), "-c", file]
    return {"directory": str(build.resolve()), "file": file, "command": shlex.join(words)}


def main():
    build, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    entries, merged = [], {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        ours = OURS.match(entry["file"])
        if not ours:
            continue
        texts = {file: Path(file).read_text() for file in sources(entry)}
        has_main = any(MAIN.search(text) for text in texts.values())
        is_command = has_main and any(COMMAND in text for text in texts.values())
        if not texts or ours[1] not in GROUPS or (has_main and not is_command):
            entries.append(command(build, entry["file"], flags(entry["command"])))
            continue
        for file, text in texts.items():
            name = "command" if is_command or COMMAND in text else GROUPS[ours[1]]
            files, options = merged.setdefault(name, ({}, {}))
            files[file] = None
            options.update(dict.fromkeys(flags(entry["command"])))
    for name, (files, options) in sorted(merged.items(), key=lambda each: len(each[1][0])):  # the longest is begun first
        unit = (folder / f"{name}.cxx").resolve()
        unit.write_text("".join(f'#include "{file}"\n' for file in files))
        entries.insert(0, command(build, str(unit), options))
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=1))
    print("\n".join(entry["file"] for entry in entries))


if __name__ == "__main__":
    main()
