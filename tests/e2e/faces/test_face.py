"""One program, natively and in every way of getting Cleave under it: same output, and every launch split once."""

from compare import OPTIONS, WAYS, ComparedTest, main

SLICES = 7


class Face(ComparedTest):
    def run_face(self, way, **settings):
        name, *arguments = OPTIONS.program
        return self.run_program(way, OPTIONS.programs / name, *arguments, **settings)

    def test_same_output_and_split_once(self):
        native = self.run_face("native")
        self.assertEqual((native.status, native.stats), (0, []), f"natively\n{native}")
        for way in ("preload", "library_path", "run"):
            with self.subTest(way):
                run = self.run_face(way, CLEAVE_SPLIT=f"fixed:{SLICES}")
                self.assertSame(native, run)
                self.assertEqual(run.err, native.err)
                if way in OPTIONS.caught_by or run.stats:  # where it is not promised, at least not twice
                    self.assertSplit(run, OPTIONS.launches, OPTIONS.launches * SLICES, OPTIONS.met)

    def test_disabled(self):
        native = self.run_face("native")
        run = self.run_face("run", CLEAVE_SPLIT=f"fixed:{SLICES}", CLEAVE_DISABLE="1")
        self.assertSame(native, run)
        self.assertEqual(run.stats, [], f"something was counted\n{run}")

    def test_caught_by_ways_that_exist(self):
        self.assertLessEqual(set(OPTIONS.caught_by), set(WAYS))


if __name__ == "__main__":
    main()
