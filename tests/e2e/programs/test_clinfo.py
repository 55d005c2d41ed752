"""clinfo asks every question there is: not one answer may differ."""

from compare import ComparedTest, main, needed


class ClInfo(ComparedTest):
    def check(self, *arguments):
        command = needed("clinfo", "clinfo"), *arguments
        native = self.native(*command)
        for way in ("preload", "library_path", "layer", "run"):
            run = self.run_program(way, *command, CLEAVE_VMS="5")
            self.assertSame(native, run)
            self.assertEqual((run.err, run.stats), (native.err, []), f"nothing launched, nothing said\n{run}")

    def test_everything(self):
        self.check("--all-props")

    def test_list(self):
        self.check("--list")


if __name__ == "__main__":
    main()
