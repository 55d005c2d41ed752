"""A scan whose work-groups wait for earlier ones is right in every mode with any number of slices, and never hangs."""

from support.options import OPTIONS, main
from support.programs import ProgramTest

# In 313 work-groups, the last of them not full; fewer for the interpreter.
ITEMS, GROUPS = (4_001, 63) if OPTIONS.driver == "oclgrind" else (20_011, 313)
LAUNCHES = 4


class LookBack(ProgramTest):
    def test_right_in_every_mode_with_any_number_of_slices(self):
        command = (*OPTIONS.program, ITEMS, LAUNCHES // 2)
        native = self.run_native(*command)
        for mode in ("auto", "queued", "sequential", "pipelined"):
            for slices in (2, 3, 7, 20, 100, GROUPS, 1_000_000):
                with self.subTest(mode=mode, slices=slices):
                    options = ("--launch", mode, "--policy", f"fixed:{slices}")
                    run = self.assertUnchanged(native, "run", *command, options=options, CLEAVE_MIN_ITEMS="0")
                    self.assertSplit(run, launches=LAUNCHES, slices=LAUNCHES * min(slices, GROUPS))
                    self.assertEqual(run.total("pipelined"), 0, f"its slices must stay in order\n{run}")
                    if mode == "pipelined":
                        self.assertEqual(run.stats[0]["queued"]["communicates"], LAUNCHES, run)


if __name__ == "__main__":
    main()
