"""A program whose kernels may all be split: same output in each mode, every launch split that has two work-groups."""

import sys
from pathlib import Path

from compare import OPTIONS, ComparedTest, main, needed

HERE = Path(__file__).parent
VMS_5 = ("--vms", "5", "--alpha", "4")

# Reasons to stay whole that lie in a launch itself and not in its kernel.
OF_THE_LAUNCH = ("one_group", "shape")


def command():
    name = OPTIONS.program[0]
    if not name.endswith(".py"):
        return [OPTIONS.programs / name]
    # The distribution's packages belong to the distribution's Python.
    return [needed("/usr/bin/python3", "python3"), HERE / name]


class Modes(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reference = None

    def check(self, *options, slices, **settings):
        if Modes.reference is None:
            Modes.reference = self.native(*command())
        run = self.run_program("run", *command(), options=options, CLEAVE_MIN_ITEMS="0", **settings)
        self.assertSame(Modes.reference, run)
        self.assertEqual(run.err, Modes.reference.err)
        self.assertGreater(run.total("split"), 0, f"launches split\n{run}")
        whole = sum(run.whole(reason) for reason in OF_THE_LAUNCH)
        self.assertEqual(run.total("split") + whole, run.total("launches"), f"other reasons to stay whole\n{run}")
        self.assertGreaterEqual(run.total("slices"), 2 * run.total("split"))
        self.assertLessEqual(run.total("slices"), slices * run.total("split"), f"more slices than asked for\n{run}")
        return run

    def test_as_it_comes(self):
        self.check(*VMS_5, slices=20)

    def test_queued(self):
        self.check(*VMS_5, "--launch", "queued", slices=20)

    def test_sequential(self):
        self.check(*VMS_5, "--launch", "sequential", slices=20)

    def test_pipelined(self):
        run = self.check(*VMS_5, "--launch", "pipelined", slices=20)
        self.assertGreater(run.total("pipelined"), 0, run)

    def test_pipelined_a_slice_for_each_work_group(self):
        self.check("--policy", "fixed:1000", "--launch", "pipelined", slices=1000)

    def test_polite_waits(self):
        self.check(*VMS_5, slices=20, CLEAVE_WAIT="sleeping")

    def test_sequential_and_polite_waits(self):
        self.check(*VMS_5, "--launch", "sequential", slices=20, CLEAVE_WAIT="sleeping")

    def test_three_slices(self):
        self.check("--policy", "fixed:3", slices=3)

    def test_a_slice_for_each_work_group(self):
        self.check("--policy", "fixed:1000", slices=1000)

    def test_alone_stays_whole(self):
        native = self.native(*command())
        run = self.run_program("run", *command(), options=("--vms", "1"))
        self.assertSame(native, run)
        self.assertEqual((run.total("split"), run.whole("alone")), (0, run.total("launches")), run)


if __name__ == "__main__":
    main()
