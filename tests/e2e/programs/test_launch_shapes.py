"""Slices of launches in any shape show their kernel the whole launch, and the local size that the driver would choose."""

from pathlib import Path

from support.options import main
from support.programs import PYTHON, ProgramTest, is_pocl

PROGRAM = PYTHON, Path(__file__).parent / "launch_shapes.py"


class LaunchShapes(ProgramTest):
    def test_every_launch_is_split_with_the_native_results(self):
        native = self.run_native(*PROGRAM)
        run = self.assertUnchanged(native, "run", *PROGRAM, options=("--policy", "fixed:7"), CLEAVE_MIN_ITEMS="0")
        # Where the driver chooses the local size: Cleave knows how PoCL 3 does that, and of others it does not.
        one_group, shape = run.unsplit("one_group"), run.unsplit("shape")
        self.assertEqual(run.total("split") + one_group + shape, run.total("launches"), run)
        self.assertLessEqual(one_group, 1, run)
        self.assertLessEqual(shape, 0 if is_pocl("3.") else 3, run)


if __name__ == "__main__":
    main()
