"""The suite `share`: its arithmetic, and two programs that are made up, without a device: a result that is wrong, a program that cannot be had
and one whose launches do not go through Cleave are noticed."""

import argparse
import contextlib
import io
import pathlib
import unittest
from unittest import mock

from bench_modules import clients, share, turns
from support.options import OPTIONS, main
from support.processes import FolderTest

ROLE = OPTIONS.suite.parent / "share"
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
        self.assertIn("products, in turns: none of its launches went through Cleave", said)


if __name__ == "__main__":
    main()
