"""A tracer that is preloaded as well and finds the real function with dlsym(RTLD_NEXT), before and after Cleave."""

import re

from compare import DROP_IN, OPTIONS, ComparedTest, main

SPY = OPTIONS.programs / "next_spy.so"
PROGRAM = OPTIONS.programs / "linked"


class NextSpy(ComparedTest):
    def seen(self, run):
        return int(re.search(r"^spy: (\d+) launches$", run.err, re.MULTILINE)[1])

    def test_before_cleave_sees_the_programs_launch(self):
        native = self.native(PROGRAM, LD_PRELOAD=SPY)
        self.assertEqual(self.seen(native), 1)
        run = self.run_program("native", PROGRAM, LD_PRELOAD=f"{SPY}:{DROP_IN}", CLEAVE_SPLIT="fixed:7")
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)
        self.assertEqual(self.seen(run), 1, f"launches that the tracer saw\n{run}")

    def test_after_cleave_does_no_harm(self):
        native = self.native(PROGRAM, LD_PRELOAD=SPY)
        for way in ("preload", "run"):
            run = self.run_program(way, PROGRAM, LD_PRELOAD=SPY, CLEAVE_SPLIT="fixed:7")
            self.assertSame(native, run)
            self.assertSplit(run, 1, 7)
            self.assertIn(self.seen(run), (0, 7), f"below Cleave: nothing, or slices\n{run}")

    def test_inside_the_programs_own_symbols(self):
        native = self.native(OPTIONS.programs / "next_symbols", LD_PRELOAD=SPY)
        run = self.run_program(
            "native", OPTIONS.programs / "next_symbols", LD_PRELOAD=f"{SPY}:{DROP_IN}", CLEAVE_SPLIT="fixed:7"
        )
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
