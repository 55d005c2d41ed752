"""A driver that itself calls OpenCL while the loader loads it, alongside the real one. Nothing may hang."""

from pathlib import Path

from support.options import OPTIONS, main
from support.programs import ProgramTest, driver_icd

CALLING = OPTIONS.programs / "calling_driver.so"


class CallingDriver(ProgramTest):
    def check(self, program, *arguments):
        command = [OPTIONS.programs / program, *arguments]
        folder = self.vendors("vendors", a=CALLING, m=Path(driver_icd("pocl")).read_text().rstrip("\n"))
        native = self.run_native(*command, OCL_ICD_VENDORS=folder)
        self.assertIn("driver, asked for platforms", native.err)
        for method in ("preload", "library_path", "layer", "run"):
            with self.subTest(method):
                run = self.assertUnchanged(
                    native, method, *command, OCL_ICD_VENDORS=folder, CLEAVE_SPLIT="fixed:7"
                )
                self.assertEqual(run.err, native.err)
                launches = native.out.count("\n")
                self.assertSplit(run, launches, launches * 7)

    def test_program_that_is_linked(self):
        self.check("linked")

    def test_program_that_opens_the_loader_repeatedly(self):
        self.check("opened", "libOpenCL.so.1", "again")


if __name__ == "__main__":
    main()
