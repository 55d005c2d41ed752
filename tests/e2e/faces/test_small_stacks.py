"""The smallest stacks that threads may have are enough for the local faces, as they are for the driver."""

from support.options import OPTIONS, VENDOR, main
from support.programs import ProgramTest, driver_icd

LAUNCHES = 45
CONTENDED = 40  # those of the threads: queues share a limited number of gates
SLICES = 7


class SmallStacks(ProgramTest):
    def check(self, method, **settings):
        native = self.run_native(*OPTIONS.program)
        run = self.assertUnchanged(native, method, *OPTIONS.program, CLEAVE_SPLIT=f"fixed:{SLICES}", **settings)
        self.assertSplit(run, LAUNCHES, LAUNCHES * SLICES, CONTENDED)

    def test_drop_in(self):
        self.check("preload", CLEAVE_TURNS="on")

    def test_layer(self):
        self.check("layer", CLEAVE_WAIT="sleeping", CLEAVE_TRACE=self.folder / "trace")

    def test_vendor_library(self):
        self.check("native", OCL_ICD_VENDORS=self.vendors("vendor", cleave=VENDOR), CLEAVE_ICD_WRAP=driver_icd())


if __name__ == "__main__":
    main()
