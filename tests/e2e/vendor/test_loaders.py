"""The vendor library between loaders and drivers of either sort: with and without cl_khr_icd 2.

The driver is the simulated one, which speaks the older form, or the newer and nothing else (CLEAVE_SIM=tagged). The loader
is the system's, and whatever --other-loaders names: each opens `walk`, which goes through every kind of object.
"""

from pathlib import Path

from compare import DRIVERS, LIBRARIES, OPTIONS, ComparedTest, main, needed

VENDOR = LIBRARIES / "libcleave-icd.so"


class Loaders(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.vendors = cls.folder / "vendors"
        cls.vendors.mkdir()
        (cls.vendors / "cleave.icd").write_text(f"{VENDOR}\n")
        cls.drivers = cls.folder / "drivers"
        cls.drivers.mkdir()
        (cls.drivers / "sim.icd").write_text(f"{OPTIONS.simulated}\n")
        cls.loaders = [OPTIONS.loader, *map(Path, filter(None, OPTIONS.other_loaders))]

    def walk(self, loader, folder, way="native", **settings):
        """With a slash behind it, every loader takes it for a folder."""
        return self.run_program(
            way, OPTIONS.programs / "walk", loader, OCL_ICD_VENDORS=f"{folder}/", CLEAVE_ICD_WRAP=OPTIONS.simulated,
            CLEAVE_VMS="5", CLEAVE_MIN_ITEMS="0", **settings
        )

    def plainly(self, loader):
        run = self.walk(loader, self.drivers)
        self.assertEqual((run.status, run.err), (0, ""), run)
        self.assertIn("items that ran once: 1024\n", run.out)
        self.assertEqual(run.stats, [], "Cleave is not in it")
        return run

    def test_either_sort_of_driver_behind_either_sort_of_loader(self):
        for loader in self.loaders:
            plain = self.plainly(loader)
            for sort in ("simulated", "tagged"):
                with self.subTest(loader=loader, sort=sort):
                    run = self.walk(loader, self.vendors, CLEAVE_SIM=sort)
                    self.assertSame(plain, run)
                    self.assertEqual(run.err, "")
                    self.assertSplit(run)

    def test_a_launch_is_split_once_with_another_face_above(self):
        for loader in self.loaders:
            alone = self.walk(loader, self.vendors, CLEAVE_SIM="tagged")
            for way in ("preload", "layer"):
                with self.subTest(loader=loader, way=way):
                    run = self.walk(loader, self.vendors, way, CLEAVE_SIM="tagged")
                    self.assertSame(alone, run)
                    self.assertSplit(run, slices=alone.total("slices"))

    def test_several_drivers_and_another_vendor_beside(self):
        clinfo = needed("clinfo", "clinfo"), "--list"
        both = self.folder / "both"
        both.mkdir()
        (both / "cleave.icd").write_text(f"{VENDOR}\n")
        (both / "sim.icd").write_text(f"{OPTIONS.simulated}\n")
        wrap = f"{needed(*DRIVERS['pocl'])}:{needed(*DRIVERS['oclgrind'])}"
        run = self.run_program("native", *clinfo, OCL_ICD_VENDORS=f"{both}/", CLEAVE_ICD_WRAP=wrap)
        self.assertEqual((run.status, run.err), (0, ""), run)
        names = [line.split(": ", 1)[1] for line in run.out.splitlines() if line.startswith("Platform")]
        self.assertEqual(len(names), 3, run)
        self.assertEqual(sorted(name.endswith(" (Cleave)") for name in names), [False, True, True], run)


if __name__ == "__main__":
    main()
