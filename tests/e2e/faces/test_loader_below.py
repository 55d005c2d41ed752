"""What lies below the drop-in: another copy of it, no loader, a file that is none."""

import re
import shutil

from compare import DROP_IN, FOLDER, OPTIONS, ComparedTest, main

LINKED = OPTIONS.programs / "linked"
ASKING = OPTIONS.programs / "only_platforms"


class OwnCopies(ComparedTest):
    """Where the search for the real loader finds copies of the drop-in first, it goes on."""

    def copies(self, count):
        folders = [self.folder / f"{self._testMethodName}-{i}" for i in range(count)]
        for folder in folders:
            shutil.copytree(FOLDER, folder, symlinks=True)
        return ":".join(map(str, folders))

    def check(self, way, folders):
        native = self.native(LINKED)
        run = self.run_program(way, LINKED, LD_LIBRARY_PATH=folders, CLEAVE_SPLIT="fixed:7")
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)
        self.assertEqual(run.err, native.err)

    def test_behind_the_preloaded_one(self):
        self.check("preload", self.copies(1))

    def test_many(self):
        self.check("native", self.copies(5))

    def test_under_cleave_run(self):
        self.check("run", self.copies(2))

    def test_behind_a_link(self):
        folder = self.folder / "links"
        folder.mkdir()
        (folder / "libOpenCL.so.1").symlink_to(DROP_IN)
        self.check("preload", str(folder))

    def test_named_in_cleave_next(self):
        """The user's mistake: it is told, and the program sees a machine without OpenCL."""
        run = self.run_program("preload", ASKING, CLEAVE_NEXT=DROP_IN)
        self.assertEqual(run.status, 0, run)
        self.assertIn("clGetPlatformIDs: -1001\n", run.out)
        self.assertRegex(run.err, r"\Acleave: [^\n]*CLEAVE_NEXT[^\n]*\n\Z")


class NoLoader(ComparedTest):
    def check(self, next_library, way="preload"):
        run = self.run_program(way, ASKING, CLEAVE_NEXT=next_library)
        self.assertEqual(run.status, 0, f"the program must end as if there were no platform\n{run}")
        self.assertEqual(
            run.out,
            "clGetPlatformIDs: -1001\nclCreateContextFromType: none, an error\nclGetExtensionFunctionAddress: none\n",
        )
        self.assertRegex(run.err, r"\Acleave: [^\n]*CLEAVE_NEXT[^\n]*\n\Z", "one line that names the setting")
        self.assertIn(str(next_library), run.err)

    def test_at_that_path(self):
        self.check("/nonexistent")
        self.check("/nonexistent", "library_path")
        self.check("/nonexistent", "run")

    def test_not_a_library(self):
        text = self.folder / "libOpenCL.so.1"
        text.write_text("no library")
        self.check(text)

    def test_a_library_without_opencl(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            self.check(re.search(r"/\S*libc\.so\.6", maps.read())[0])

    def test_named_in_cleave_next(self):
        native = self.native(LINKED)
        run = self.run_program("preload", LINKED, CLEAVE_NEXT=OPTIONS.loader, CLEAVE_SPLIT="fixed:7")
        self.assertSame(native, run)
        self.assertSplit(run, 1, 7)


if __name__ == "__main__":
    main()
