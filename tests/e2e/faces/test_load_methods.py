"""One program, natively and with every method of loading Cleave: same output, and every launch split once."""

from support.options import OPTIONS, main
from support.programs import LOAD_METHODS, ProgramTest

SLICES = 7


class LoadMethods(ProgramTest):
    def run_by(self, method, **settings):
        name, *arguments = OPTIONS.program
        return self.run_program(method, OPTIONS.programs / name, *arguments, **settings)

    def test_same_output_and_split_once(self):
        native = self.run_by("native")
        self.assertEqual((native.status, native.stats), (0, []), f"natively\n{native}")
        for method in ("preload", "library_path", "run"):
            with self.subTest(method):
                run = self.run_by(method, CLEAVE_SPLIT=f"fixed:{SLICES}")
                self.assertSameOutput(native, run)
                self.assertEqual(run.err, native.err)
                if method in OPTIONS.intercepted_by or run.stats:  # if it is not promised, at least not twice
                    self.assertSplit(run, OPTIONS.launches, OPTIONS.launches * SLICES, OPTIONS.contended)

    def test_disabled_changes_and_counts_nothing(self):
        native = self.run_by("native")
        run = self.run_by("run", CLEAVE_SPLIT=f"fixed:{SLICES}", CLEAVE_DISABLE="1")
        self.assertSameOutput(native, run)
        self.assertEqual(run.stats, [], f"something was counted\n{run}")

    def test_options_name_existing_methods(self):
        self.assertLessEqual(set(OPTIONS.intercepted_by), set(LOAD_METHODS))


if __name__ == "__main__":
    main()
