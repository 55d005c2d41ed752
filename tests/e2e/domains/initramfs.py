"""A guest's initial file system: an archive in the kernel's "newc" format (Documentation/driver-api/early-userspace)."""

import stat
import subprocess
import tempfile
from pathlib import Path


def _entry(number, name, mode, data):
    path = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
    return b"".join(part + b"\0" * (-len(part) % 4) for part in (head, data))


def archive(files):
    """The archive's bytes. `files` has the contents by name; all are executable. Folders are made as needed."""
    entries = {}
    for name, data in files.items():
        for folder in reversed(Path(name).parents[:-1]):
            entries[str(folder)] = (stat.S_IFDIR | 0o755, b"")
        entries[name] = (stat.S_IFREG | 0o755, data)
    entries["TRAILER!!!"] = (0, b"")
    return b"".join(_entry(number, name, *rest) for number, (name, rest) in enumerate(entries.items(), 1))


def without_debugging(program):
    """The program or library without debug information, which would be most of it: a guest's memory is small."""
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "--strip-debug", "-o", stripped.name, str(program)], check=True)
        return Path(stripped.name).read_bytes()


def libraries_of(*programs):
    """The libraries that they are linked with, by path."""
    found = set()
    for program in programs:
        done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
        found.update(word for word in done.stdout.split() if word.startswith("/"))
    return {path.lstrip("/"): Path(path).read_bytes() for path in found}
