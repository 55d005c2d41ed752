"""Several instances of Cleave in one process: a launch is split once, by the one nearest to the driver."""

import shutil

from support.options import DROP_IN, FOLDER, LAYER, OPTIONS, main
from support.programs import ProgramTest

PROGRAM = OPTIONS.programs / "linked"


class BothFaces(ProgramTest):
    def check(self, method, **settings):
        native = self.run_native(PROGRAM)
        run = self.assertUnchanged(native, method, PROGRAM, CLEAVE_SPLIT="fixed:7", **settings)
        self.assertSplit(run, 1, 7)
        self.assertEqual(len(run.stats), 1, f"one summary\n{run}")

    def test_drop_in_and_layer_split_once(self):
        self.check("preload_and_layer")

    def test_drop_in_preloaded_and_in_library_path_splits_once(self):
        self.check("preload", LD_LIBRARY_PATH=FOLDER)

    def test_drop_in_preloaded_twice_splits_once(self):
        self.check("preload", LD_PRELOAD=DROP_IN)

    def test_two_layers_split_once(self):
        self.check("layer", OPENCL_LAYERS=LAYER)

    def test_two_different_copies_of_the_layer_split_once(self):
        copy = self.folder / "copy-of-the-layer.so"
        shutil.copy2(LAYER, copy)
        self.check("layer", OPENCL_LAYERS=copy)
        self.check("preload_and_layer", OPENCL_LAYERS=copy)

    def test_run_within_run_splits_once(self):
        native = self.run_native(PROGRAM)
        run = self.assertUnchanged(native, "run", OPTIONS.cleave, "run", "--policy", "fixed:7", "--", PROGRAM)
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
