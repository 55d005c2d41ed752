"""The suite `share`: its arithmetic, and two programs that are made up, without a device: a result that is wrong, a program that cannot be had
and one whose launches do not go through Cleave are noticed. Of the role of ffmpeg what talks with it, to one that is made up, and of
`fetch` the library that stands in for those that ffmpeg does without."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import unittest
from unittest import mock

from bench_modules import clients, share, turns
from support.options import OPTIONS, main
from support.processes import FolderTest, clean_environment, require_installed, run

ROLE = OPTIONS.suite.parent / "share"
SHAPE, SIZE = (1000, 2000), 2000000  # a frame does not fit into a pipe
PROGRAM = """
import sys, time
sys.path.insert(0, {role!r})
import role

def prepare(given):
    if {lacks}:
        raise role.Unavailable("its library is missing")
    def unit(kind):
        time.sleep(0.002)
        unit.done += 1
        return b"wrong" if {wrong} and unit.done > 3 else b"right"  # three before it says that it is ready
    unit.done = 0
    return role.Units("none", unit, right=lambda first: first == [b"right"])

role.main(prepare)
"""

FFMPEG = """#!{python}
import sys
if "none" in sys.argv[sys.argv.index("-init_hw_device") + 1]:
    sys.exit("no such device")
width, height = map(int, sys.argv[sys.argv.index("-video_size") + 1].split("x"))
held = {held}
while frame := sys.stdin.buffer.read(width * height):
    if held == 0:
        sys.stdout.buffer.write(frame.translate(bytes(range(255, -1, -1))))
        sys.stdout.buffer.flush()
    held = max(0, held - 1)
sys.exit(3)
"""


def script(name):
    """One of bench/share, as a module."""
    place = str(ROLE / name)
    with mock.patch.object(sys, "path", [str(ROLE), *sys.path]):
        loader = importlib.machinery.SourceFileLoader(f"share_{pathlib.Path(name).stem}", place)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        with mock.patch.object(sys, "dont_write_bytecode", True):
            loader.exec_module(module)
    return module


class Arithmetic(unittest.TestCase):
    def test_measures_of_a_system(self):
        progresses = share.progress(20, [3], {"latency": 10, "rates": [4]})
        self.assertEqual(progresses, [0.5, 0.75])
        self.assertEqual(share.system_throughput(progresses), 1.25)
        self.assertAlmostEqual(share.turnaround(progresses), (2 + 4 / 3) / 2)
        self.assertAlmostEqual(share.fairness(progresses), 1.25 ** 2 / (2 * (0.25 + 0.5625)))
        self.assertEqual(share.fairness([0.7, 0.7]), 1)

    def test_work_counts_by_its_amounts(self):
        self.assertEqual(turns.work_within(1, [2, 4], 1.5, 3, [10, 4]), 5 + 2)
        self.assertEqual(turns.work_within(1, [1, 2], 0, 2, [5, 1]), 1)  # no time, no rate

    def test_percentiles_beyond_whole_numbers(self):
        self.assertEqual(clients.percentile(range(1000), 99.9), 998)
        self.assertEqual(clients.percentile(range(10), 99.9), 9)

    def test_groups(self):
        alone, beside = share.sets(["convnet", "products", "hashcat"], ("pairs", "groups"))
        self.assertEqual(alone, [("convnet",), (None, "products"), (None, "hashcat")])
        self.assertEqual(beside, [("convnet", "products"), ("convnet", "hashcat"), ("convnet", "products", "hashcat")])
        self.assertEqual(share.sets(["convnet", "products"], ("alone",)), ([], []))

    def test_results_that_are_not_identical_natively_may_be_near(self):
        self.assertTrue(share.same_result({"values": [1.00001]}, {"values": [1]}))
        self.assertFalse(share.same_result({"values": [1.001]}, {"values": [1]}))
        self.assertFalse(share.same_result({"digest": "1"}, {"digest": "2"}))


class Programs(FolderTest):
    def write(self, name, lacks=False, wrong=False):
        (self.folder / f"{name}.py").write_text(PROGRAM.format(role=str(ROLE), lacks=lacks, wrong=wrong))

    def measure(self, launches=1, **more):
        for name in share.WORDS:
            if not (self.folder / f"{name}.py").exists():
                self.write(name, lacks=True)
        given = argparse.Namespace(platform="Portable", quick=True, seconds=0.1, rounds=1, minutes=None, cap=50, program=None, only=None,
                                   programs=pathlib.Path(self.folder), **more)
        said = io.StringIO()
        with mock.patch.object(share, "scripts", lambda: self.folder), contextlib.redirect_stderr(said), \
             mock.patch.object(share.Resident, "launches", lambda _: launches):
            return share.measure(given), said.getvalue()

    def test_a_pair(self):
        self.write("convnet")
        self.write("products")
        found, said = self.measure()
        self.assertTrue(found.sound, said)
        self.assertEqual([row.kernel for row in found.of("alone")], ["convnet", "products"])
        self.assertEqual({row.policy for row in found.of("P99")}, set(share.WAYS))
        self.assertEqual(len(found.of("of native")), len(share.WAYS) - 1)
        self.assertIn("hashcat (hashcat): left out: its library is missing\n", said)

    def test_wrong_results_are_noticed(self):
        self.write("convnet", wrong=True)
        found, said = self.measure()
        self.assertFalse(found.sound)
        self.assertRegex(said, "convnet: [0-9]+ wrong results")

    def test_launches_past_cleave_are_noticed(self):
        self.write("products")
        found, said = self.measure(launches=0)
        self.assertFalse(found.sound)
        self.assertIn("products, by default: none of its launches went through Cleave", said)


class Ffmpeg(FolderTest):
    def filters(self, held=0, platform="Portable"):
        frames = script("frames.py")
        frames.LIMIT = 1 if held else 60
        place = self.folder / "ffmpeg" / "ffmpeg"
        place.parent.mkdir()
        place.write_text(FFMPEG.format(python=sys.executable, held=held))
        place.chmod(0o755)
        with mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            filters = frames.Filters(argparse.Namespace(platform=platform), *SHAPE)
        self.addCleanup(filters.said.close)
        self.addCleanup(filters.process.stdout.close)
        self.addCleanup(filters.close)
        return frames, filters

    def test_frames_come_back_each_at_once(self):
        _, filters = self.filters()
        for byte in (1, 2, 3):
            self.assertEqual(filters.filtered(bytes([byte]) * SIZE), bytes([255 - byte]) * SIZE)
        self.assertEqual(filters.close(), 3)

    def test_a_frame_that_is_held_back_is_noticed(self):
        frames, filters = self.filters(held=1)
        with self.assertRaisesRegex(frames.role.Unavailable, "a frame did not come back"):
            filters.filtered(bytes(SIZE))

    def test_no_device(self):
        frames, filters = self.filters(platform="none")
        with self.assertRaisesRegex(frames.role.Unavailable, "ffmpeg: no such device"):
            filters.filtered(bytes(SIZE))


class Fetch(FolderTest):
    def compile(self, name, source, *more):
        (self.folder / "source.c").write_text(source)
        done = run(require_installed("cc", "gcc"), self.folder / "source.c", "-o", self.folder / name,
                   f"-Wl,-rpath-link,{self.folder / 'lib'}", *more)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_library_stands_in_for_those_that_are_not_brought(self):
        lib = self.folder / "lib"
        lib.mkdir()
        (self.folder / "versions").write_text("GONE_1 { versioned; };\n")
        shared = ["-shared", "-fPIC", "-Wl,-z,now"]
        self.compile("lib/libgone.so.1", "int versioned(void) { return 5; }", *shared, "-Wl,-soname,libgone.so.1",
                     f"-Wl,--version-script={self.folder / 'versions'}")
        self.compile("lib/libtoo.so.1", "int too(void) { return 6; }", *shared, "-Wl,-soname,libtoo.so.1")
        self.compile("lib/libown.so.1", "int versioned(void); int too(void); int own(void) { return 7 + versioned() + too(); }", *shared,
                     "-Wl,-soname,libown.so.1", lib / "libgone.so.1", lib / "libtoo.so.1")
        self.compile("program", "#include <stdlib.h>\nint own(void); int main(void) { exit(own()); }", lib / "libown.so.1")
        environment = clean_environment(LD_LIBRARY_PATH=lib)
        self.assertEqual(run(self.folder / "program", environment=environment).returncode, 18)
        for name in ("libgone.so.1", "libtoo.so.1"):
            (lib / name).unlink()
        self.assertEqual(run(self.folder / "program", environment=environment).returncode, 127)
        script("fetch").stand_in(self.folder / "program", lib, self.folder, self.folder)
        done = run(self.folder / "program", environment=environment)
        self.assertEqual((done.returncode, done.stderr), (7, ""))


if __name__ == "__main__":
    main()
