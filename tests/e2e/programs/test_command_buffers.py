"""Command buffers run as they do natively, and what is recorded in them stays whole; the vendor library does not offer them."""

from support.options import OPTIONS, VENDOR, main
from support.programs import ProgramTest, driver_icd

NOT_OFFERED = "offered: no, functions: 0 of 6"


class CommandBuffers(ProgramTest):
    def setUp(self):
        super().setUp()
        self.native = self.run_native(*OPTIONS.program)
        self.assertIn("offered: yes, functions: 6 of 6", self.native.out, self.native)

    def test_recorded_launches_stay_whole_between_split_ones(self):
        for method in ("preload", "layer"):
            for launch in ("sequential", "queued", "pipelined"):
                run = self.assertUnchanged(self.native, method, *OPTIONS.program, CLEAVE_SPLIT="fixed:7", CLEAVE_LAUNCH=launch,
                                           CLEAVE_MIN_ITEMS="0")
                self.assertEqual((run.unsplit("recorded"), run.total("split")), (2, 7), run)

    def test_vendor_library_offers_none(self):
        run = self.run_program("native", *OPTIONS.program, CLEAVE_ICD_WRAP=driver_icd(),
                               OCL_ICD_VENDORS=self.vendors("vendors", cleave=VENDOR))
        self.assertEqual(run.status, 0, run)
        self.assertIn(NOT_OFFERED, run.out, run)


if __name__ == "__main__":
    main()
