"""What workload_python_client.py does through a server and workload_native.py with a local driver."""

import array
import hashlib
import re

SOURCE = """
kernel void advance(global uint* state, uint round) {
  size_t i = get_global_id(0);
  state[i] = state[i] * FACTOR + round;
}
"""
OPTIONS = "-DFACTOR=3"
BROKEN = "kernel void broken(global uint* state) { state[0] = undeclared; }\n"
COUNT = 1000
GROUP = 10
ROUNDS = 100  # each changes the result of the one before: more than a window, however small a server's may be
WRITES = 8  # of the same data, and more than a small window takes
BEYOND = 4  # so many commands beyond the window are sent behind a user event
SIZE = 4 * COUNT
STATE = array.array("I", range(COUNT)).tobytes()
NO_ARGUMENT = 9


def without_file_names(log):
    """A driver's log without the paths of its temporary files, which differ each time."""
    return re.sub(r"\S*/tempfile_\w+", "FILE", log).rstrip()


def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()
