"""What the tests of the bench share: where it is, and an environment without Cleave."""

import argparse
import os
import pathlib
import subprocess
import sys
import unittest

_parser = argparse.ArgumentParser()
_parser.add_argument("--cleave", type=pathlib.Path, required=True)
_parser.add_argument("--suite", type=pathlib.Path, required=True)
OPTIONS, _rest = _parser.parse_known_args()

CLEAVE = OPTIONS.cleave.resolve()
PROGRAMS = CLEAVE.parent.parent / "bench"
DROP_IN = CLEAVE.parent.parent / "lib/cleave/libOpenCL.so.1"
sys.path.insert(0, str(OPTIONS.suite))


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEAVE_", "LD_", "OPENCL_"))}
    return kept | changes


def run(*command, cwd=None, **changes):
    return subprocess.run([str(word) for word in command], env=environment(**changes), cwd=cwd, capture_output=True,
                          text=True, check=False)


def main():
    unittest.main(argv=[sys.argv[0], *_rest], verbosity=2)
