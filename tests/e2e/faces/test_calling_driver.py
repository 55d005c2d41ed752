"""A driver that calls OpenCL while the loader loads it, beside the real one. Nothing may hang."""

from compare import DRIVERS, OPTIONS, ComparedTest, main, needed

CALLING = OPTIONS.programs / "calling_driver.so"


class CallingDriver(ComparedTest):
    def vendors(self):
        """A folder with both drivers, the calling one first and last."""
        folder = self.folder / "vendors"
        if not folder.exists():
            folder.mkdir()
            (folder / "a.icd").write_text(f"{CALLING}\n")
            shipped = needed(*DRIVERS["pocl"])
            with open(shipped, encoding="utf-8") as file:
                (folder / "m.icd").write_text(file.read())
        return folder

    def check(self, program):
        folder = self.vendors()
        native = self.native(OPTIONS.programs / program, OCL_ICD_VENDORS=folder)
        self.assertIn("driver, asked for platforms", native.err)
        for way in ("preload", "library_path", "layer", "run"):
            with self.subTest(way):
                run = self.run_program(
                    way, OPTIONS.programs / program, OCL_ICD_VENDORS=folder, CLEAVE_SPLIT="fixed:7"
                )
                self.assertSame(native, run)
                self.assertEqual(run.err, native.err)
                launches = native.out.count("\n")
                self.assertSplit(run, launches, launches * 7)

    def test_one_thread(self):
        self.check("linked")

    def test_opened_late(self):
        self.check("reopened")


if __name__ == "__main__":
    main()
