"""Slices of launches in any shape show their kernel the whole launch, and the local size that the driver would choose."""

from pathlib import Path

from support.options import main
from support.programs import PYTHON, ProgramTest

PROGRAM = PYTHON, Path(__file__).parent / "launch_shapes.py"


class LaunchShapes(ProgramTest):
    def test_every_launch_is_split_with_the_native_results(self):
        native = self.run_native(*PROGRAM)
        run = self.assertUnchanged(native, "run", *PROGRAM, options=("--policy", "fixed:7"), CLEAVE_MIN_ITEMS="0")
        whole = run.unsplit("one_group")  # where the driver chooses the local size
        self.assertEqual(run.total("split") + whole, run.total("launches"), run)
        self.assertLessEqual(whole, 1, run)


if __name__ == "__main__":
    main()
