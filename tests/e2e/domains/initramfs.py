"""What a guest finds when it starts: an archive in the kernel's "newc" format (Documentation/driver-api/early-userspace)."""

import stat
import subprocess
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


def with_libraries(*programs):
    """The programs and libraries, and whatever they are linked with, by the names that they are found under."""
    found = {str(program): Path(program) for program in programs}
    for program in programs:
        for line in subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.splitlines():
            paths = [word for word in line.split() if word.startswith("/")]
            found.update((path, Path(path)) for path in paths)
    return {name.lstrip("/"): path.read_bytes() for name, path in found.items()}
