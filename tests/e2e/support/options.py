"""The command line that every end-to-end test takes, and where the build has put things. CMake knows the values."""

import argparse
import sys
import unittest
from pathlib import Path

_parser = argparse.ArgumentParser()
_parser.add_argument("--cleave", type=Path, required=True, help="the `cleave` command; its libraries lie beside it")
_parser.add_argument("--programs", type=Path, help="the folder of this group's own programs")
_parser.add_argument("--loader", type=Path, help="the system's libOpenCL.so.1")
_parser.add_argument("--driver", choices=("pocl", "oclgrind"), default="pocl")
_parser.add_argument("--intercepted-by", nargs="+", default=[], help="load methods that must intercept the program")
_parser.add_argument("--launches", type=int, help="how many launches the program makes")
_parser.add_argument("--contended", type=int, default=0, help="how many of them may stay unsplit at a busy gate")
_parser.add_argument("--program", nargs="+", help="the program to run, and its arguments")
_parser.add_argument("--settings", nargs="+", default=[], help="NAME=VALUE, for every run")
_parser.add_argument("--monitord", type=Path, help="cleave-monitord")
_parser.add_argument("--guest", type=Path, help="a folder with what guests run")
_parser.add_argument("--environment", type=Path, help="a virtual environment with packages of PyPI")
_parser.add_argument("--simulated", type=Path, help="the simulated driver's library")
_parser.add_argument("--other-loaders", nargs="*", default=[], help="loaders to test besides the system's")
_parser.add_argument("--nm", help="the command")
_parser.add_argument("--readelf", help="the command")
_parser.add_argument("--functions", type=Path, help="the list of OpenCL functions")
_parser.add_argument("--suite", type=Path, help="bench/suite")
_parser.add_argument("--cxx", help="a C++ compiler")
_parser.add_argument("--cc", help="a C compiler")
_parser.add_argument("--cmake", help="the command")
_parser.add_argument("--build", type=Path, help="the build folder")
_parser.add_argument("--prefix", type=Path, help="where the build is to be installed")
_parser.add_argument("--library-folder", help="CMAKE_INSTALL_LIBDIR")
OPTIONS, _unittest_arguments = _parser.parse_known_args()

CLEAVE = OPTIONS.cleave.resolve()
LIBRARIES = CLEAVE.parent.parent / "lib"
FOLDER = LIBRARIES / "cleave"
DROP_IN = FOLDER / "libOpenCL.so.1"
STUB = FOLDER / "libOpenCL.so"
LAYER = LIBRARIES / "libcleave-layer.so"
VENDOR = LIBRARIES / "libcleave-icd.so"
REMOTE_CLIENT = LIBRARIES / "libcleave-remote.so"
SERVERD = CLEAVE.parent / "cleave-serverd"

SKIPPED = 77  # the exit status that CMakeLists.txt declares to ctest


def skip(reason):
    """Ends the script: ctest reports the test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def main():
    unittest.main(argv=[sys.argv[0], *_unittest_arguments])
