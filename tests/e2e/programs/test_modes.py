"""A program whose kernels may all be split: its output is the same in each mode, and every launch with two work-groups is split."""

import sys
from pathlib import Path

from support.options import OPTIONS, main
from support.programs import PYTHON, ProgramTest

HERE = Path(__file__).parent
VMS_5 = ("--vms", "5", "--alpha", "4")

# The most slices of a launch, the options, and settings.
MODES = (
    (20, VMS_5, {}),
    (20, (*VMS_5, "--launch", "queued"), {}),
    (20, (*VMS_5, "--launch", "sequential"), {}),
    (20, (*VMS_5, "--launch", "pipelined"), {}),
    (1000, ("--policy", "fixed:1000", "--launch", "pipelined"), {}),
    (20, VMS_5, {"CLEAVE_WAIT": "sleeping"}),
    (20, (*VMS_5, "--launch", "sequential"), {"CLEAVE_WAIT": "sleeping"}),
    (3, ("--policy", "fixed:3"), {}),
    (1000, ("--policy", "fixed:1000"), {}),
)

# Of these, what programs in Python run in: their interpreter takes longer to start than the other programs take in all.
FEWER_MODES = tuple(MODES[i] for i in (0, 3, 6, 7))

# Reasons to stay unsplit that lie in the launch itself, or in what the driver takes, and not in its kernel.
LAUNCH_REASONS = ("one_group", "shape", "driver")


def is_python():
    return OPTIONS.program[0].endswith(".py")


def command():
    name = OPTIONS.program[0]
    return [PYTHON, HERE / name] if is_python() else [OPTIONS.programs / name]


class Modes(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.native = None

    def setUp(self):
        super().setUp()
        Modes.native = Modes.native or self.run_native(*command())

    def check(self, *options, slices, **settings):
        run = self.assertUnchanged(self.native, "run", *command(), options=options, CLEAVE_MIN_ITEMS="0", **settings)
        self.assertEqual(run.err, self.native.err)
        self.assertGreater(run.total("split"), 0, f"launches split\n{run}")
        unsplit = sum(run.unsplit(reason) for reason in LAUNCH_REASONS)
        self.assertEqual(run.total("split") + unsplit, run.total("launches"), f"other reasons to stay unsplit\n{run}")
        self.assertGreaterEqual(run.total("slices"), 2 * run.total("split"))
        self.assertLessEqual(run.total("slices"), slices * run.total("split"), f"more slices than asked for\n{run}")
        return run

    def test_output_is_the_native_one_in_each_mode(self):
        for slices, options, settings in FEWER_MODES if is_python() else MODES:
            with self.subTest(options=options, **settings):
                run = self.check(*options, slices=slices, **settings)
                if slices == 20 and "pipelined" in options:
                    self.assertGreater(run.total("pipelined"), 0, run)

    def test_single_vm_leaves_launches_unsplit(self):
        run = self.assertUnchanged(self.native, "run", *command(), options=("--vms", "1"))
        self.assertEqual((run.total("split"), run.unsplit("alone")), (0, run.total("launches")), run)


if __name__ == "__main__":
    main()
