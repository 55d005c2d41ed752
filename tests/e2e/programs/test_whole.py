"""Kernels that would notice a cut, or that Cleave cannot see, stay whole, and the reason is counted."""

from pathlib import Path

from compare import ComparedTest, main, needed

HERE = Path(__file__).parent


class Whole(ComparedTest):
    def runs(self, script):
        """Natively, and in each mode: the pair."""
        command = needed("/usr/bin/python3", "python3"), HERE / script
        native = self.native(*command)
        for options in (("--vms", "5"), ("--policy", "fixed:7", "--launch", "sequential")):
            run = self.run_program("run", *command, options=options, CLEAVE_MIN_ITEMS="0")
            self.assertSame(native, run)
            yield native, run

    def test_kernels_that_would_notice(self):
        for native, run in self.runs("sees_the_cut.py"):
            launches = native.out.count("[")
            self.assertEqual((run.total("launches"), run.whole("kernel")), (launches, 3), run)
            self.assertEqual(run.total("split"), launches - 3, run)

    def test_kernels_beside_others_that_may_be_split(self):
        for _, run in self.runs("mixed_program.py"):
            for kernel in run.stats[0]["kernels"]:
                expected = {"keep": (0, 1), "cut": (1, 0)}.get(kernel["name"].split("_")[0])
                if expected is not None:
                    self.assertEqual((kernel["split"], kernel["whole"]["kernel"]), expected, f"{kernel['name']}\n{run}")

    def test_programs_from_binaries(self):
        for _, run in self.runs("from_binary.py"):
            self.assertEqual((run.total("split"), run.whole("binary")), (1, 1), run)

    def test_denied_kernels(self):
        command = needed("/usr/bin/python3", "python3"), HERE / "from_binary.py"
        native = self.native(*command)
        run = self.run_program("run", *command, options=("--vms", "5"), CLEAVE_DENY="sq*")
        self.assertSame(native, run)
        self.assertEqual((run.total("split"), run.whole("denied")), (0, 2), run)


if __name__ == "__main__":
    main()
