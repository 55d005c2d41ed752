"""A machine on which cleave.icd is the only vendor: programs find the wrapped driver, and run split, once."""

from compare import DRIVERS, DROP_IN, LAYER, LIBRARIES, OPTIONS, ComparedTest, main, needed

VENDOR = LIBRARIES / "libcleave-icd.so"


class Vendor(ComparedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.vendors = cls.folder / "vendors"
        cls.vendors.mkdir()
        (cls.vendors / "cleave.icd").write_text(f"{VENDOR}\n")

    def run_vendor(self, *command, way="native", **settings):
        wrap = settings.pop("CLEAVE_ICD_WRAP", needed(*DRIVERS[OPTIONS.driver]))
        # With a slash behind it, ocl-icd takes it for a folder.
        return self.run_program(
            way, *command, OCL_ICD_VENDORS=f"{self.vendors}/", CLEAVE_ICD_WRAP=wrap, CLEAVE_VMS="5",
            CLEAVE_MIN_ITEMS="0", **settings
        )

    def test_a_program_runs_split(self):
        native = self.native(*OPTIONS.program)
        run = self.run_vendor(*OPTIONS.program)
        self.assertSame(native, run)
        self.assertEqual(run.err, native.err)
        self.assertSplit(run, launches=run.total("launches"))
        self.assertGreater(run.total("launches"), 0)

    def test_with_another_face_it_is_split_once(self):
        native = self.native(*OPTIONS.program)
        alone = self.run_vendor(*OPTIONS.program)
        for way in ("preload", "layer"):
            run = self.run_vendor(*OPTIONS.program, way=way)
            self.assertSame(native, run)
            self.assertEqual(len(run.stats), 1, run)
            self.assertEqual(run.total("launches"), alone.total("launches"), run)
            self.assertEqual(run.total("slices"), alone.total("slices"), run)

    def test_the_platform_shows_its_name(self):
        clinfo = needed("clinfo", "clinfo")
        native = self.native(clinfo, "--list")
        ours = self.run_vendor(clinfo, "--list")
        first = native.out.splitlines()[0]
        self.assertEqual(ours.out.splitlines(), [first + " (Cleave)", *native.out.splitlines()[1:]], ours)
        self.assertEqual((ours.status, ours.err), (0, ""), ours)
        original = self.run_vendor(clinfo, "--list", CLEAVE_ICD_NAME="original")
        self.assertSame(native, original)

    def test_every_question_has_its_answer(self):
        clinfo = needed("clinfo", "clinfo"), "--all-props"
        # What differs by design: the suffix, the version of cl_khr_icd, and extensions whose functions are not offered.
        expected = ("suffix", "cl_khr_icd", "Device Extensions", "cl_khr_command_buffer", "CLEAVE", "Platform Name")

        def lines(run):
            return [line for line in run.out.splitlines() if not any(word in line for word in expected)]

        native = self.native(*clinfo)
        ours = self.run_vendor(*clinfo, CLEAVE_ICD_NAME="original")
        self.assertEqual(
            [line for line in lines(native) if "Success [" not in line],
            [line for line in lines(ours) if "Success [" not in line],
        )

    def test_it_wraps_no_face_of_its_own(self):
        clinfo = needed("clinfo", "clinfo"), "--list"
        for wrong in (self.vendors, VENDOR, DROP_IN, LAYER, OPTIONS.loader):
            run = self.run_vendor(*clinfo, CLEAVE_ICD_WRAP=wrong)
            self.assertEqual(run.out, "", run)
            self.assertIn("cleave: CLEAVE_ICD_WRAP: ", run.err)

    def test_nothing_to_wrap_is_no_platform(self):
        run = self.run_vendor(needed("clinfo", "clinfo"), "--list", CLEAVE_ICD_WRAP="/nonexistent/folder")
        self.assertEqual((run.out, run.err), ("", ""), run)


if __name__ == "__main__":
    main()
