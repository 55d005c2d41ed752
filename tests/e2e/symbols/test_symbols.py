"""The exports and dependencies of the libraries, as the dynamic linker sees them."""

import re
import subprocess
import unittest

from support.options import DROP_IN, FOLDER, LAYER, OPTIONS, main

SYSTEM_LIBRARIES = re.compile(r"lib(c|m)\.so\.6|ld-linux.*\.so\.\d+")
LAYER_FUNCTIONS = {"clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties"}


def output(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def exported(library):
    """Names with their versions, as nm prints them, and the letter of their kind."""
    lines = output(OPTIONS.nm, "-D", "--defined-only", "--with-symbol-versions", library).splitlines()
    return {line.split()[-1]: line.split()[-2] for line in lines}


def functions(library):
    return {name for name, kind in exported(library).items() if kind in "Tti"}


def dynamic(library, tag):
    pattern = re.compile(rf"\({tag}\)\s+.*\[(.*)\]")
    return pattern.findall(output(OPTIONS.readelf, "--dynamic", "--wide", library))


class DropIn(unittest.TestCase):
    maxDiff = None

    def test_exports_what_the_systems_loader_exports(self):
        self.assertEqual(exported(DROP_IN), exported(OPTIONS.loader))

    def test_exports_the_list(self):
        listed = re.findall(
            r"^CL_FUNCTION\(([\d.]+), (\w+),", OPTIONS.functions.read_text(encoding="utf-8"), re.MULTILINE
        )
        self.assertEqual(functions(DROP_IN), {f"{name}@@OPENCL_{version}" for version, name in listed})

    def test_depends_on_the_system_and_its_unversioned_name_only(self):
        others = [name for name in dynamic(DROP_IN, "NEEDED") if not SYSTEM_LIBRARIES.fullmatch(name)]
        self.assertEqual(others, ["libOpenCL.so"])

    def test_soname_is_the_loaders(self):
        self.assertEqual(dynamic(DROP_IN, "SONAME"), ["libOpenCL.so.1"])


class UnversionedName(unittest.TestCase):
    LIBRARY = FOLDER / "libOpenCL.so"

    def test_depends_on_the_system_and_the_drop_in_only(self):
        """It is loaded into every program with the drop-in, and so are its dependencies."""
        others = [name for name in dynamic(self.LIBRARY, "NEEDED") if not SYSTEM_LIBRARIES.fullmatch(name)]
        self.assertEqual(others, ["libOpenCL.so.1"])

    def test_exports_no_functions(self):
        self.assertEqual(functions(self.LIBRARY), set())

    def test_soname_is_its_file_name(self):
        self.assertEqual(dynamic(self.LIBRARY, "SONAME"), ["libOpenCL.so"])


class Layer(unittest.TestCase):
    def test_exports_its_three_functions(self):
        self.assertEqual(set(exported(LAYER)), LAYER_FUNCTIONS)

    def test_depends_on_the_system_only(self):
        self.assertEqual([name for name in dynamic(LAYER, "NEEDED") if not SYSTEM_LIBRARIES.fullmatch(name)], [])


class StartedPrograms(unittest.TestCase):
    def test_c_program_gets_no_other_libraries(self):
        """The dynamic linker's list for a C program that never calls OpenCL."""
        done = subprocess.run(
            ["/bin/true"], env={"LD_PRELOAD": str(DROP_IN), "LD_TRACE_LOADED_OBJECTS": "1"},
            capture_output=True, text=True, check=True,
        )
        loaded = {line.split()[0].rsplit("/", 1)[-1] for line in done.stdout.splitlines()}
        others = {name for name in loaded if not SYSTEM_LIBRARIES.fullmatch(name)}
        self.assertEqual(others - {"linux-vdso.so.1"}, {"libOpenCL.so.1", "libOpenCL.so"})


if __name__ == "__main__":
    main()
