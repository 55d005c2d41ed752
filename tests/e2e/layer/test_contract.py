"""The layer conforms to cl_loader_layers with loaders of any version: see contract.c."""

from support.options import LAYER, OPTIONS, main
from support.programs import ProgramTest

# How many functions a loader's table has: those of OpenCL 1.0 and 1.1 without the extensions, of the loaders of
# OpenCL 2.1 and 3.0, and of one yet to come.
ENTRIES = (1, 65, 79, 136, 149, 300)


class Contract(ProgramTest):
    def check(self, function):
        for entries in ENTRIES:
            with self.subTest(entries=entries):
                run = self.run_program("native", OPTIONS.programs / "contract", LAYER, function, entries)
                self.assertEqual(run.status, 0, run)
                self.assertEqual(run.out, "conforms\n")

    def test_clInitLayer_conforms(self):
        self.check("clInitLayer")

    def test_clInitLayerWithProperties_conforms(self):
        self.check("clInitLayerWithProperties")


if __name__ == "__main__":
    main()
