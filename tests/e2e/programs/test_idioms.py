"""Kernels whose work-groups wait for earlier ones, or see what these have stored, give the native results in
pipelined mode and never hang; ordinary ones are pipelined."""

from pathlib import Path

from support.options import main
from support.programs import PYTHON, ProgramTest

HERE = Path(__file__).parent
IDIOMS = HERE.parents[1] / "kit/idioms"
VERDICTS = ("waits", "in order", "any order")


def count(verdict):
    return sum(file.read_text().startswith(f"// {verdict}") for file in IDIOMS.rglob("*.cl"))


class Idioms(ProgramTest):
    def test_results_are_the_native_ones(self):
        command = (PYTHON, HERE / "idioms.py", IDIOMS, *VERDICTS)
        native = self.run_native(*command)
        for slices in (20, 64):
            with self.subTest(slices=slices):
                options = ("--launch", "pipelined", "--policy", f"fixed:{slices}")
                run = self.assertUnchanged(native, "run", *command, options=options, CLEAVE_MIN_ITEMS="0")
                self.assertEqual(run.total("split"), sum(count(verdict) for verdict in VERDICTS), run)
                self.assertEqual(run.total("pipelined"), count("any order"), run)


if __name__ == "__main__":
    main()
