"""The library below the drop-in: another copy of it, a missing loader, a file that is no loader."""

import os
import re
import shutil

from support.options import DROP_IN, FOLDER, OPTIONS, main
from support.programs import ProgramTest

LINKED = OPTIONS.programs / "linked"
NO_PLATFORM_CALLS = OPTIONS.programs / "no_platform_calls"


class CopiesOfTheDropIn(ProgramTest):
    """The search for the real loader skips copies of the drop-in."""

    def copies(self, count):
        folders = [self.folder / f"{self._testMethodName}-{i}" for i in range(count)]
        for folder in folders:
            shutil.copytree(FOLDER, folder, symlinks=True)
        return ":".join(map(str, folders))

    def check(self, method, folders):
        native = self.run_native(LINKED)
        run = self.assertUnchanged(native, method, LINKED, LD_LIBRARY_PATH=folders, CLEAVE_SPLIT="fixed:7")
        self.assertSplit(run, 1, 7)
        self.assertEqual(run.err, native.err)

    def test_copy_behind_the_preloaded_one_is_skipped(self):
        self.check("preload", self.copies(1))

    def test_many_copies_are_skipped(self):
        self.check("native", self.copies(5))

    def test_copies_are_skipped_under_cleave_run(self):
        self.check("run", self.copies(2))

    def test_copy_behind_a_link_is_skipped(self):
        folder = self.folder / "links"
        folder.mkdir()
        (folder / "libOpenCL.so.1").symlink_to(DROP_IN)
        self.check("preload", str(folder))

    def test_copy_named_in_cleave_next_is_reported(self):
        """The user's mistake: it is reported, and the program finds no platform."""
        run = self.run_program("preload", NO_PLATFORM_CALLS, CLEAVE_NEXT=DROP_IN)
        self.assertEqual(run.status, 0, run)
        self.assertIn("clGetPlatformIDs: -1001\n", run.out)
        self.assertRegex(run.err, r"\Acleave: [^\n]*CLEAVE_NEXT[^\n]*\n\Z")


class NextLoader(ProgramTest):
    def assertNoPlatform(self, next_library, method="preload"):
        run = self.run_program(method, NO_PLATFORM_CALLS, CLEAVE_NEXT=next_library)
        self.assertEqual(run.status, 0, f"the program must end as if there were no platform\n{run}")
        self.assertEqual(
            run.out,
            "clGetPlatformIDs: -1001\nclCreateContextFromType: none, an error\nclGetExtensionFunctionAddress: none\n",
        )
        self.assertRegex(run.err, r"\Acleave: [^\n]*CLEAVE_NEXT[^\n]*\n\Z", "one line that names the setting")
        self.assertIn(str(next_library), run.err)

    def test_missing_file_gives_no_platform(self):
        self.assertNoPlatform("/nonexistent")
        self.assertNoPlatform("/nonexistent", "library_path")
        self.assertNoPlatform("/nonexistent", "run")

    def test_file_that_is_no_library_gives_no_platform(self):
        text = self.folder / "libOpenCL.so.1"
        text.write_text("no library")
        self.assertNoPlatform(text)

    def test_pipe_is_not_waited_for(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertNoPlatform(pipe)

    def test_library_without_opencl_gives_no_platform(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            self.assertNoPlatform(re.search(r"/\S*libc\.so\.6", maps.read())[0])

    def test_system_loader_may_be_named(self):
        native = self.run_native(LINKED)
        run = self.assertUnchanged(native, "preload", LINKED, CLEAVE_NEXT=OPTIONS.loader, CLEAVE_SPLIT="fixed:7")
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
