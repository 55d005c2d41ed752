"""Clients of another architecture, which an emulator runs (tests/other_architecture). Without these variables programs are as
they come.

CLEAVE_TEST_CLIENTS: the build folder with the clients' programs and libraries, of the same shape as this build's.
CLEAVE_TEST_EMULATOR: the command in front of them, which takes -E NAME=VALUE for the program's environment.
CLEAVE_TEST_CLIENTS_LOADER: the folder of the OpenCL loader that the programs are linked with."""

import os
import unittest
from pathlib import Path

from support.options import CLEAVE, REMOTE_CLIENT

_HERE = str(CLEAVE.parent.parent) + "/"
_THERE = os.environ.get("CLEAVE_TEST_CLIENTS")
_EMULATOR = os.environ.get("CLEAVE_TEST_EMULATOR", "").split()
_LOADER = os.environ.get("CLEAVE_TEST_CLIENTS_LOADER", "")
# The emulator is a program of this architecture, and must not load the other's libraries.
_FOR_THE_LINKER = ("LD_PRELOAD", "LD_LIBRARY_PATH")

IS_USED = _THERE is not None


def of_client(path):
    """The same file, or list of files, for clients."""
    return str(path).replace(_HERE, _THERE + "/") if IS_USED else path


CLIENT_LIBRARY = Path(of_client(REMOTE_CLIENT))


def as_client(command, environment):
    """The command and its environment, emulated if it is a program of these tests on a server's devices. Other programs on a
    server's devices are there for this architecture alone: their tests are skipped."""
    command = [str(word) for word in command]
    if not IS_USED or "CLEAVE_REMOTE" not in environment:
        return command, environment
    if command[0] == str(CLEAVE):
        raise unittest.SkipTest("the command `cleave` starts programs of its own architecture")
    place = next((at for at, word in enumerate(command) if word.startswith(_HERE + "tests/")), None)
    if place is None or not Path(of_client(command[place])).exists():
        raise unittest.SkipTest(f"{command[0]} is not there for the other architecture")
    for_client = {name: of_client(environment[name]) for name in _FOR_THE_LINKER if name in environment}
    for_client["LD_LIBRARY_PATH"] = ":".join(filter(None, (for_client.get("LD_LIBRARY_PATH"), _LOADER)))
    variables = [word for name, value in for_client.items() for word in ("-E", f"{name}={value}")]
    kept = {name: value for name, value in environment.items() if name not in _FOR_THE_LINKER}
    return [*command[:place], *_EMULATOR, *variables, of_client(command[place]), *command[place + 1:]], kept
