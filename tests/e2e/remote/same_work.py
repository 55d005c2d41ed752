"""What another_client.py does through a server and another_client_natively.py beside the driver."""

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
BROKEN = "kernel void broken(global uint* state) { state[0] = nobody; }\n"
COUNT = 1000
GROUP = 10
ROUNDS = 100  # each changes what the one before it left: more than a window, however small a server's may be made
WRITES = 8  # of the same, and more than a small window takes
BEYOND = 4  # so many more go out behind a user event
SIZE = 4 * COUNT
STATE = array.array("I", range(COUNT)).tobytes()
NO_ARGUMENT = 9


def told(log):
    """A driver's log without the place of its files, which is another one each time."""
    return re.sub(r"\S*/tempfile_\w+", "FILE", log).rstrip()


def digest(data):
    return hashlib.sha256(bytes(data)).hexdigest()
