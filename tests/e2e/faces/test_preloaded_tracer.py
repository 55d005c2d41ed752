"""A second preloaded library that finds the real function with dlsym(RTLD_NEXT), before and after Cleave."""

import re

from support.options import DROP_IN, OPTIONS, main
from support.programs import ProgramTest

TRACER = OPTIONS.programs / "preloaded_tracer.so"
PROGRAM = OPTIONS.programs / "linked"


class PreloadedTracer(ProgramTest):
    def traced(self, run):
        return int(re.search(r"^tracer: (\d+) launches$", run.err, re.MULTILINE)[1])

    def test_before_cleave_traces_the_programs_launch(self):
        native = self.run_native(PROGRAM, LD_PRELOAD=TRACER)
        self.assertEqual(self.traced(native), 1)
        run = self.assertUnchanged(native, "native", PROGRAM, LD_PRELOAD=f"{TRACER}:{DROP_IN}", CLEAVE_SPLIT="fixed:7")
        self.assertSplit(run, 1, 7)
        self.assertEqual(self.traced(run), 1, f"traced launches\n{run}")

    def test_after_cleave_is_harmless(self):
        native = self.run_native(PROGRAM, LD_PRELOAD=TRACER)
        for method in ("preload", "run"):
            run = self.assertUnchanged(native, method, PROGRAM, LD_PRELOAD=TRACER, CLEAVE_SPLIT="fixed:7")
            self.assertSplit(run, 1, 7)
            self.assertIn(self.traced(run), (0, 7), f"below Cleave: nothing, or slices\n{run}")

    def test_with_a_program_that_uses_RTLD_NEXT_itself(self):
        program = [OPTIONS.programs / "found", "next"]
        native = self.run_native(*program, LD_PRELOAD=TRACER)
        run = self.assertUnchanged(native, "native", *program, LD_PRELOAD=f"{TRACER}:{DROP_IN}", CLEAVE_SPLIT="fixed:7")
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
