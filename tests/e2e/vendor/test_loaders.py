"""The vendor library between loaders and drivers of both kinds: with and without cl_khr_icd 2.

The driver is the simulated one, which supports the older form, or only the newer (CLEAVE_SIM=tagged). The loaders are the
system's and those of --other-loaders: `all_object_types` opens each, and uses every type of object.
"""

from pathlib import Path

from support.options import OPTIONS, VENDOR, main
from support.programs import ProgramTest, clinfo, driver_icd


class Loaders(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loaders = [OPTIONS.loader, *map(Path, filter(None, OPTIONS.other_loaders))]

    def setUp(self):
        super().setUp()
        self.wrapped = self.vendors("vendors", cleave=VENDOR)

    def use_objects(self, loader, folder, method="native", **settings):
        return self.run_program(
            method, OPTIONS.programs / "all_object_types", loader, OCL_ICD_VENDORS=folder,
            CLEAVE_ICD_WRAP=OPTIONS.simulated, CLEAVE_VMS="5", CLEAVE_MIN_ITEMS="0", **settings
        )

    def without_cleave(self, loader):
        run = self.use_objects(loader, self.vendors("drivers", sim=OPTIONS.simulated))
        self.assertEqual((run.status, run.err), (0, ""), run)
        self.assertIn("items that ran once: 1024\n", run.out)
        self.assertEqual(run.stats, [], "Cleave was loaded")
        return run

    def test_both_kinds_of_driver_behind_every_loader(self):
        for loader in self.loaders:
            plain = self.without_cleave(loader)
            for kind in ("simulated", "tagged"):
                with self.subTest(loader=loader, kind=kind):
                    run = self.use_objects(loader, self.wrapped, CLEAVE_SIM=kind)
                    self.assertSameOutput(plain, run)
                    self.assertEqual(run.err, "")
                    self.assertSplit(run)

    def test_launch_is_split_once_with_another_face_above(self):
        for loader in self.loaders:
            alone = self.use_objects(loader, self.wrapped, CLEAVE_SIM="tagged")
            for method in ("preload", "layer"):
                with self.subTest(loader=loader, method=method):
                    run = self.use_objects(loader, self.wrapped, method, CLEAVE_SIM="tagged")
                    self.assertSameOutput(alone, run)
                    self.assertSplit(run, slices=alone.total("slices"))

    def test_several_wrapped_drivers_and_an_unwrapped_one(self):
        both = self.vendors("both", cleave=VENDOR, sim=OPTIONS.simulated)
        wrap = f"{driver_icd('pocl')}:{driver_icd('oclgrind')}"
        run = self.run_program("native", *clinfo("--list"), OCL_ICD_VENDORS=both, CLEAVE_ICD_WRAP=wrap,
                               CLEAVE_PLATFORM_NAMES="marked")
        self.assertEqual((run.status, run.err), (0, ""), run)
        names = [line.split(": ", 1)[1] for line in run.out.splitlines() if line.startswith("Platform")]
        self.assertEqual(len(names), 3, run)
        self.assertEqual(sorted(name.endswith(" (Cleave)") for name in names), [False, True, True], run)


if __name__ == "__main__":
    main()
