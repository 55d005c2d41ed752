"""Kernels that depend on the NDRange in ways that Cleave cannot hide stay unsplit, and the reason is counted."""

from pathlib import Path

from support.options import main
from support.programs import PYTHON, ProgramTest

HERE = Path(__file__).parent


class Unsplit(ProgramTest):
    def runs(self, script):
        """The native run with a run in each mode."""
        command = PYTHON, HERE / script
        native = self.run_native(*command)
        for options in (("--vms", "5"), ("--policy", "fixed:7", "--launch", "sequential")):
            yield native, self.assertUnchanged(native, "run", *command, options=options, CLEAVE_MIN_ITEMS="0")

    def test_kernels_that_depend_on_the_ndrange_stay_unsplit(self):
        for native, run in self.runs("index_dependent_kernels.py"):
            launches = native.out.count("[")
            self.assertEqual((run.total("launches"), run.unsplit("kernel")), (launches, 3), run)
            self.assertEqual(run.total("split"), launches - 3, run)

    def test_only_kernels_that_may_be_split_are(self):
        for _, run in self.runs("mixed_kernels.py"):
            for kernel in run.stats[0]["kernels"]:
                expected = {"keep": (0, 1), "cut": (1, 0)}.get(kernel["name"].split("_")[0])
                if expected is not None:
                    self.assertEqual((kernel["split"], kernel["unsplit"]["kernel"]), expected, f"{kernel['name']}\n{run}")

    def test_denied_kernels_stay_unsplit(self):
        command = PYTHON, HERE / "binary_programs.py"
        native = self.run_native(*command)
        run = self.assertUnchanged(native, "run", *command, options=("--vms", "5"), CLEAVE_DENY="sq*")
        self.assertEqual((run.total("split"), run.unsplit("denied")), (0, 2), run)


if __name__ == "__main__":
    main()
