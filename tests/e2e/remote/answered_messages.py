"""Prints as JSON how many messages of each kind a client has sent, and how many of them requested an answer.

answered_messages.py FILE, which holds the bytes that the client sent. flatc's code has to be on Python's path."""

import collections
import json
import sys
from pathlib import Path

from python_client import COMMANDS, HEADER, name_of, wire


def commands(sent):
    """Those of the whole frames."""
    at = 0
    while at + HEADER.size <= len(sent):
        message, kind, _, payload = HEADER.unpack_from(sent, at)
        body = sent[at + HEADER.size:at + HEADER.size + message]
        at += HEADER.size + message + payload
        if kind == COMMANDS and at <= len(sent):
            frame = wire("Commands").Commands.GetRootAs(body)
            yield from (frame.Commands(i) for i in range(frame.CommandsLength()))


sent, answered = collections.Counter(), collections.Counter()
for command in commands(Path(sys.argv[1]).read_bytes()):
    name = name_of("Body", command.BodyType())
    sent[name] += 1
    if command.Request() != 0:
        answered[name] += 1
print(json.dumps({"sent": sent, "answered": answered}))
