"""Checks that every #include follows the table of docs/architecture.md: a folder includes only what it may know of. Within a
folder, checks that a header with its source file and others do not include each other in a circle, and that the units of a large one
(its sub-folders) form layers."""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "include/cleave": set(),
    "src/base": {"include/cleave"},
    "src/daemon": {"src/base"},
    "src/opencl": {"src/base"},
    "src/plan": {"src/base"},
    "src/kernels/text": {"src/base"},
    "src/kernels/prelude": set(),
    "src/kernels/facts": {"src/kernels/text", "src/kernels/prelude"},
    "src/neighbours": {"src/base", "include/cleave"},
    "src/learn": {"src/base"},
    "src/turns": {"src/base"},
    "src/limits": {"src/base"},
    "src/launch": {"src/base", "src/plan"},
    "src/observe": {"src/base"},
    "src/objects": {"src/base"},
    "src/interpose": {"src/base", "src/plan", "src/kernels/text", "src/kernels/prelude", "src/kernels/facts", "src/neighbours", "src/learn", "src/turns", "src/limits",
                      "src/launch", "src/observe", "src/opencl", "include/cleave"},
    "src/cli": {"src/base", "src/daemon", "src/neighbours", "src/observe", "src/turns", "src/limits", "include/cleave"},
    "remote/protocol": {"src/base"},
    "remote/transport": {"src/base", "remote/protocol"},
    "remote/client": {"src/base", "src/kernels/text", "src/objects", "src/observe", "src/opencl", "remote/protocol", "remote/transport", "include/cleave"},
    "remote/server/sandbox": {"src/base"},
    "remote/server": {"src/base", "remote/server/sandbox", "src/daemon", "src/interpose", "src/observe", "src/opencl", "remote/protocol", "remote/transport", "include/cleave"},
    "icd": {"src/base", "src/interpose", "src/opencl", "src/objects", "include/cleave"},
    "monitor": {"include/cleave", "src/base", "src/daemon"},
    "slurm": {"src/base", "src/turns"},
}
NO_OPENCL = ("src/daemon", "src/plan", "src/kernels/text", "src/kernels/prelude", "src/kernels/facts", "src/neighbours", "src/learn", "src/turns", "src/limits", "src/observe", "monitor", "slurm", "remote/protocol", "remote/transport")

# The units of large folders, from the lowest to the highest: each includes only lower ones.
UNITS = {
    "src/base": ("no_destructor", "clock", "opencl", "rate_limit", "text", "files", "threads", "address", "socket_address", "log",
                 "driver_platform", "settings"),
    "src/interpose": ("state", "broker", "polling", "drivers", "costs", "waits", "calls", "trace", "queues", "limits", "turns", "policies",
                      "explain", "programs", "launch"),
    "remote/client": ("objects", "includes", "link", "devices", "api", "multi_server", "library"),
    "remote/server": ("sandbox", "options", "processes", "sending", "memory", "queues", "builds", "peers", "session", "handlers", "front",
                      "worker", "supervisor", "main"),
}
# What owns the parts that the units define. Files that include it, also by way of others, lie above all that do not.
OWNERS = {"src/interpose": "src/interpose/interposer", "remote/client": "remote/client/objects/client"}


def folder_of(path, root):
    text = path.relative_to(root).as_posix()
    return max((f for f in MAY_INCLUDE if text.startswith(f + "/")), key=len, default=None)


def target_of(include, source, root):
    for base in (root / "src", root / "include", root, source.parent):
        if (base / include).is_file():
            return (base / include).resolve()
    return None


def sources_of(root):
    tops = ("include", "src", "remote", "icd", "monitor", "slurm")
    return sorted(path for top in tops for path in (root / top).rglob("*") if path.suffix in (".h", ".cpp"))


def faults(root):
    for source in sources_of(root):
        folder = folder_of(source, root)
        if folder is None:
            yield f"{source}: its folder is not in the table"
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            if folder in NO_OPENCL and re.match(r'\s*#\s*include\s*(<CL/|"base/opencl\.h")', line):
                yield f"{source}:{number}: {folder} decides without OpenCL"
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not found:
                continue
            if found[1] in ("remote/protocol/messages.h", "remote/server/messages.h"):
                continue  # generated from the schema next to it
            target = target_of(found[1], source, root)
            if target is None:
                yield f"{source}:{number}: {found[1]} is not a file of ours"
                continue
            if target.suffix == ".def":
                continue
            other = folder_of(target, root)
            if other != folder and other not in MAY_INCLUDE[folder]:
                yield f"{source}:{number}: {folder} may not include {other}"


def units_included(root, source):
    """The unit of a source file (its path without suffix), and the other units of the same folder that it includes."""
    unit = source.relative_to(root).with_suffix("")
    for include in re.findall(r'^\s*#\s*include\s*"([^"]+)"', source.read_text(), re.MULTILINE):
        target = target_of(include, source, root)
        if target and target.suffix == ".h" and folder_of(target, root) == folder_of(source, root):
            other = target.relative_to(root).with_suffix("")
            if other != unit:
                yield unit, other


def cycles(graph):
    """One cycle through each unit that a depth-first search meets again on its own path."""
    finished = set()

    def search(unit, path):
        if unit in path:
            yield path[path.index(unit):] + [unit]
        elif unit not in finished:
            for other in sorted(graph.get(unit, ())):
                yield from search(other, path + [unit])
            finished.add(unit)

    for unit in sorted(graph):
        yield from search(unit, [])


def unit_faults(root, sources):
    graph = {}
    for source in sources:
        for unit, other in units_included(root, source):
            graph.setdefault(unit.as_posix(), set()).add(other.as_posix())
    for cycle in cycles(graph):
        yield "these include each other: " + " -> ".join(cycle)
    for folder in UNITS:
        yield from layer_faults(folder, graph)


def above(graph, owner):
    """The files that include the owner, also by way of others."""
    found = {owner}
    while more := {unit for unit, others in graph.items() if unit not in found and others & found}:
        found |= more
    return found - {owner}


def layer_faults(folder, graph):
    owner = OWNERS.get(folder)
    users = above(graph, owner)

    def layer(file):
        order = UNITS[folder].index(unit_of(file)) if file != owner else 0
        return (2 if file in users else 1 if file == owner else 0, order)

    def unit_of(file):
        return file.removeprefix(folder + "/").split("/")[0]

    for file in sorted(file for file in graph if file.startswith(folder + "/")):
        if file != owner and unit_of(file) not in UNITS[folder]:
            yield f"{file}: {unit_of(file)} is not in the order of {folder}'s units"
            continue
        for other in sorted(graph[file]):
            if layer(other) > layer(file):
                yield f"{file} includes {other}, of a higher unit"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [*faults(root), *unit_faults(root, sources_of(root))]
    print("\n".join(found) or "every arrow runs down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
