"""Programs made from device binaries: split if Cleave gave the program the binary, in this process or in an earlier one."""

from pathlib import Path

from support.options import main
from support.programs import PYTHON, ProgramTest

HERE = Path(__file__).parent


class Binaries(ProgramTest):
    def run_cleave(self, native, *command, method="run", **settings):
        settings = {"CLEAVE_SPLIT": "fixed:7", "CLEAVE_MIN_ITEMS": "0", "CLEAVE_CACHE": self.own_folder() / "cache"} | settings
        return self.assertUnchanged(native, method, *command, **settings)

    def test_program_from_its_own_binary_is_split(self):
        command = PYTHON, HERE / "binary_programs.py"
        native = self.run_native(*command)
        for allowed in ("", "binary:*"):
            run = self.run_cleave(native, *command, CLEAVE_ALLOW=allowed)
            self.assertSplit(run, 2, 14)

    def test_binary_that_an_earlier_process_stored_is_split(self):
        command = PYTHON, HERE / "stored_program.py"
        native = self.run_native(*command, self.own_folder() / "native")
        stored = self.own_folder() / "stored"
        self.assertSplit(self.run_cleave(native, *command, stored), 1, 7)
        self.assertSplit(self.run_cleave(native, *command, stored, method="preload"), 1, 7)
        self.assertSameOutput(native, self.run_program("native", *command, stored))
        other = self.run_cleave(native, *command, stored, CLEAVE_CACHE=self.own_folder() / "other")
        self.assertEqual((other.total("split"), other.unsplit("binary")), (0, 1), f"without the cache folder\n{other}")

    def test_binary_that_was_made_without_cleave_stays_unsplit(self):
        stored = self.own_folder() / "stored"
        command = PYTHON, HERE / "stored_program.py", stored
        native = self.run_native(*command)
        run = self.run_cleave(native, *command)
        self.assertEqual((run.total("split"), run.unsplit("binary")), (0, 1), run)


if __name__ == "__main__":
    main()
