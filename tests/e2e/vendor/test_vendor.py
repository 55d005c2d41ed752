"""A machine on which cleave.icd is the only vendor: programs find the wrapped driver, and their launches are split once."""

import os
from pathlib import Path

from support.options import DROP_IN, LAYER, OPTIONS, VENDOR, main
from support.programs import ProgramTest, clinfo, driver_icd


class Vendor(ProgramTest):
    def run_vendor(self, *command, method="native", **settings):
        settings = {"CLEAVE_ICD_WRAP": driver_icd(), "CLEAVE_VMS": "5", "CLEAVE_MIN_ITEMS": "0"} | settings
        return self.run_program(
            method, *command, OCL_ICD_VENDORS=self.vendors("vendors", cleave=VENDOR), **settings
        )

    def test_launches_are_split(self):
        native = self.run_native(*OPTIONS.program)
        run = self.run_vendor(*OPTIONS.program)
        self.assertSameOutput(native, run)
        self.assertEqual(run.err, native.err)
        self.assertSplit(run, launches=run.total("launches"))
        self.assertGreater(run.total("launches"), 0)

    def test_launches_are_split_once_with_another_face(self):
        native = self.run_native(*OPTIONS.program)
        alone = self.run_vendor(*OPTIONS.program)
        for method in ("preload", "layer"):
            run = self.run_vendor(*OPTIONS.program, method=method)
            self.assertSameOutput(native, run)
            self.assertEqual(len(run.stats), 1, run)
            self.assertEqual(run.total("launches"), alone.total("launches"), run)
            self.assertEqual(run.total("slices"), alone.total("slices"), run)

    def test_platform_name_is_the_drivers_unless_a_suffix_is_wanted(self):
        native = self.run_native(*clinfo("--list"))
        ours = self.run_vendor(*clinfo("--list"), CLEAVE_PLATFORM_NAMES="marked")
        first = native.out.splitlines()[0]
        self.assertEqual(ours.out.splitlines(), [first + " (Cleave)", *native.out.splitlines()[1:]], ours)
        self.assertEqual((ours.status, ours.err), (0, ""), ours)
        self.assertSameOutput(native, self.run_vendor(*clinfo("--list")))

    def test_all_queries_return_the_drivers_results(self):
        command = clinfo("--all-props")
        # What differs by design (docs/vendor.md): the suffix of functions, the version of cl_khr_icd, and extensions whose functions are not offered.
        expected = ("suffix", "cl_khr_icd", "Device Extensions", "cl_khr_command_buffer", "cl_pocl_command_buffer", "cl_pocl_svm_rect",
                    "cl_ext_buffer_device_address", "CLEAVE")

        def lines(run):
            return [line for line in run.out.splitlines() if not any(word in line for word in expected)]

        native = self.run_native(*command)
        ours = self.run_vendor(*command)
        self.assertEqual(
            [line for line in lines(native) if "Success [" not in line],
            [line for line in lines(ours) if "Success [" not in line],
        )

    def test_refuses_to_wrap_cleave_or_a_loader(self):
        for wrong in (self.folder / "vendors", VENDOR, DROP_IN, LAYER, OPTIONS.loader):
            run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP=wrong)
            self.assertEqual(run.out, "", run)
            self.assertIn("cleave: CLEAVE_ICD_WRAP: ", run.err)

    def test_pipes_are_not_waited_for(self):
        library, icd = self.own_folder() / "lib.so", self.own_folder() / "pipe.icd"
        for pipe in (library, icd):
            os.mkfifo(pipe)
        run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP=library)
        self.assertIn(f"{library} is a pipe, not a regular file: name an OpenCL driver\n", run.err)
        run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP=f"{icd}:{driver_icd()}")
        self.assertEqual(run.status, 0, run)

    def test_no_driver_to_wrap_means_no_platform(self):
        run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP="/nonexistent/folder")
        self.assertEqual(run.out, "", run)
        self.assertRegex(run.err, r"\Acleave: CLEAVE_ICD_WRAP: /nonexistent/folder cannot be found [^\n]*\n\Z")

    def test_driver_by_its_name_alone(self):
        """As .icd files name it: where the dynamic linker finds it."""
        expected = self.run_vendor(*clinfo("--list"))
        library = Path(Path(driver_icd("pocl")).read_text().split()[0])
        folder = str(library.parent) if library.is_absolute() else ""
        settings = {"LD_LIBRARY_PATH": folder} if folder else {}
        run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP=library.name, **settings)
        self.assertEqual((run.err, "Portable" in run.out), ("", True), run)
        self.assertEqual(run.out, expected.out) if OPTIONS.driver == "pocl" else None

    def test_what_cannot_be_wrapped_is_named(self):
        folder = self.own_folder()
        (folder / "empty.icd").touch()
        (folder / "none").mkdir()
        for wrong, said in (
            ("libno-such-driver.so.3", r"libno-such-driver.so.3 cannot be loaded \("),
            ("/no/such.icd", "/no/such.icd cannot be found"),
            (f"{folder}/empty.icd", "empty.icd names no library"),
            (f"{folder}/none", "none has no .icd files"),
        ):
            with self.subTest(wrong):
                run = self.run_vendor(*clinfo("--list"), CLEAVE_ICD_WRAP=wrong)
                self.assertRegex(run.err, rf"\Acleave: CLEAVE_ICD_WRAP: [^\n]*{said}[^\n]*\n\Z")


if __name__ == "__main__":
    main()
