"""The layer under the system's loader, alone and with another layer above and below it."""

import re

from support.options import LAYER, OPTIONS, main
from support.programs import ProgramTest

COUNTING = OPTIONS.programs / "counting_layer.so"
LINKED = OPTIONS.programs.parent / "faces" / "linked"
GENERATIONS = OPTIONS.programs.parent / "faces" / "exec_child"


def counted(run):
    """The other layer's count in each process."""
    return [int(number) for number in re.findall(r"^counting layer: (\d+)$", run.err, re.MULTILINE)]


class UnderTheLoader(ProgramTest):
    def check(self, layers, *program):
        native = self.run_native(*program)
        return self.assertUnchanged(native, "native", *program, OPENCL_LAYERS=layers, CLEAVE_SPLIT="fixed:7")

    def test_launches_are_split_under_the_layer_alone(self):
        self.assertSplit(self.check(LAYER, LINKED), 1, 7)

    def test_other_layers_above_and_below_see_launches_and_slices(self):
        """One order puts the other layer above Cleave, the other below it, where it counts the slices."""
        counts = []
        for layers in (f"{COUNTING}:{LAYER}", f"{LAYER}:{COUNTING}"):
            run = self.check(layers, LINKED)
            self.assertSplit(run, 1, 7)
            counts += counted(run)
        self.assertEqual(sorted(counts), [1, 7])

    def test_loader_opened_by_path_is_intercepted(self):
        opened = LINKED.parent / "opened"
        self.assertSplit(self.check(LAYER, opened, OPTIONS.loader, "deepbind"), 1, 7)


class Statistics(ProgramTest):
    def test_agree_with_what_the_driver_gets(self):
        """Of the drop-in alone: the other layer, below it, counts what arrives."""
        for slices in (1, 2, 7, 100, 1000):  # of 256 work-groups
            run = self.run_program("preload", LINKED, OPENCL_LAYERS=COUNTING, CLEAVE_SPLIT=f"fixed:{slices}")
            self.assertEqual(run.status, 0, run)
            self.assertEqual(counted(run), [min(slices, 256)], run)
            forwarded = run.total("slices") + run.total("launches") - run.total("split")
            self.assertEqual(forwarded, min(slices, 256), run)


class CleaveRun(ProgramTest):
    """ocl-icd 2.3.1 truncates OPENCL_LAYERS in place, so that children would inherit its first entry only."""

    def check(self, **settings):
        native = self.run_native(GENERATIONS)
        run = self.assertUnchanged(native, "run", GENERATIONS, CLEAVE_SPLIT="fixed:7", **settings)
        self.assertEqual(len(run.stats), 3, f"a summary of each generation\n{run}")
        self.assertSplit(run, 3, 21)
        return run

    def test_children_inherit_both_layers(self):
        run = self.check(OPENCL_LAYERS=COUNTING)
        counts = counted(run)
        self.assertEqual(len(counts), 3, f"the other layer in each generation\n{run}")
        self.assertEqual(len(set(counts)), 1, f"in the same place in each generation\n{run}")

    def test_children_inherit_three_layers(self):
        run = self.check(OPENCL_LAYERS=f"{COUNTING}:{LAYER}")
        self.assertEqual(len(counted(run)), 3, f"the other layer in each generation\n{run}")

    def test_children_inherit_the_only_layer(self):
        self.check()

    def test_children_that_open_the_loader_by_path(self):
        """Only the layer can intercept these, also in a child of a child."""
        opened = LINKED.parent / "opened"
        line = f"'{LINKED}' && '{opened}' '{OPTIONS.loader}' && sh -c \"'{opened}' '{OPTIONS.loader}'; :\""
        native = self.run_native("sh", "-c", line)
        run = self.assertUnchanged(native, "run", "sh", "-c", line, OPENCL_LAYERS=COUNTING, CLEAVE_SPLIT="fixed:7")
        self.assertSplit(run, 3, 21)


if __name__ == "__main__":
    main()
