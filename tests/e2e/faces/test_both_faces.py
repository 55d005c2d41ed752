"""Several Cleaves at once: a launch is split once, by the one that is nearest to the driver."""

import shutil

from compare import DROP_IN, FOLDER, LAYER, OPTIONS, ComparedTest, main

PROGRAM = OPTIONS.programs / "linked"


class BothFaces(ComparedTest):
    def check(self, way, **settings):
        native = self.native(PROGRAM)
        run = self.run_program(way, PROGRAM, CLEAVE_SPLIT="fixed:7", **settings)
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)
        self.assertEqual(len(run.stats), 1, f"one summary\n{run}")

    def test_drop_in_and_layer(self):
        self.check("preload_and_layer")

    def test_drop_in_found_in_both_ways(self):
        self.check("preload", LD_LIBRARY_PATH=FOLDER)

    def test_preloaded_twice(self):
        self.check("preload", LD_PRELOAD=DROP_IN)

    def test_two_layers(self):
        self.check("layer", OPENCL_LAYERS=LAYER)

    def test_two_different_copies_of_the_layer(self):
        copy = self.folder / "copy-of-the-layer.so"
        shutil.copy2(LAYER, copy)
        self.check("layer", OPENCL_LAYERS=copy)
        self.check("preload_and_layer", OPENCL_LAYERS=copy)

    def test_run_within_run(self):
        native = self.native(PROGRAM)
        run = self.run_program("run", OPTIONS.cleave, "run", "--policy", "fixed:7", "--", PROGRAM)
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
