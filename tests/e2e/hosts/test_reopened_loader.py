"""A program closes the loader and opens it again, which is then elsewhere in memory: every face works with the new one."""

from every_way import EveryWayTest
from support.options import OPTIONS, main

OPENED = OPTIONS.programs.parent / "faces" / "opened"


class ReopenedLoader(EveryWayTest):
    def check(self, ways, name, **settings):
        command = (OPENED, name, "elsewhere")
        native = self.run_by("native", *command)
        self.assertEqual(native.status, 0, native)
        for way in ways:
            with self.subTest(way, **settings):
                self.assertSameOutput(native, self.run_by(way, *command, **settings))

    def test_by_name(self):
        self.check(self.ways(), "libOpenCL.so.1")

    def test_by_path(self):
        self.check(("layer", "run"), OPTIONS.loader)

    def test_with_cleave_disabled(self):
        self.check(("layer", "run"), "libOpenCL.so.1", CLEAVE_DISABLE="true")

    def test_launches_are_split_by_the_layer_each_time(self):
        stats = self.own_folder() / "stats.json"
        self.run_by("layer", OPENED, OPTIONS.loader, "elsewhere", CLEAVE_STATS=stats)
        self.assertIn('"launches":5,"split":5,', stats.read_text())


if __name__ == "__main__":
    main()
