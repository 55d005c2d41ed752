"""Programs that put themselves under a filter of system calls when they have begun go on, and end, as they do natively."""

from every_way import EveryWayTest
from support.options import OPTIONS, main

PROGRAM = OPTIONS.programs / "system_call_filter"


class SystemCallFilters(EveryWayTest):
    def test_nothing_is_called_that_was_not_called_before(self):
        for way in ("native", *self.ways()):
            known = self.own_folder() / f"known-{way}"
            # What follows how many VMs there are opens its files and sockets again and again: docs/neighbours.md.
            settings = {"CLEAVE_VMS": 5, "CLEAVE_CACHE": self.own_folder() / "cache"}
            for how in ("learn", "known", "shut", "both"):
                # Of its own: what others have left there would be removed at the first launch, and that be known.
                registry = self.own_folder() / f"registry-{way}-{how}"
                registry.mkdir()
                with self.subTest(way, how=how):
                    run = self.run_by(way, PROGRAM, how, known, CLEAVE_REGISTRY=registry, **settings)
                    self.assertEqual((run.status, run.out, run.err), (0, "error 0 wrong 0\n", ""), run)

    def test_what_is_published_is_removed_by_whom_comes_next(self):
        registry = self.own_folder() / "registry"
        registry.mkdir()
        known = self.own_folder() / "known"
        for how, left in (("learn", 0), ("known", 1), ("learn", 0)):
            run = self.run_by("layer", PROGRAM, how, known, CLEAVE_VMS=5, CLEAVE_REGISTRY=registry)
            self.assertEqual(run.status, 0, run)
            self.assertEqual(len(list(registry.glob("[0-9]*.*"))), left, how)

    def test_statistics_are_not_written_and_the_program_is_told(self):
        known = self.own_folder() / "known"
        stats = self.own_folder() / "stats.json"
        self.run_by("layer", PROGRAM, "learn", known, CLEAVE_VMS=5, CLEAVE_STATS=stats)
        self.assertTrue(stats.exists())
        stats.unlink()
        run = self.run_by("layer", PROGRAM, "shut", known, CLEAVE_VMS=5, CLEAVE_STATS=stats)
        self.assertEqual((run.status, run.out), (0, "error 0 wrong 0\n"), run)
        self.assertRegex(run.err, r"\Acleave: CLEAVE_STATS=[^\n]* not written, [^\n]*filter of system calls[^\n]*\n\Z")
        self.assertFalse(stats.exists())
        run = self.run_by("layer", PROGRAM, "known", known, CLEAVE_VMS=5, CLEAVE_STATS="stderr")
        self.assertEqual((run.status, run.out), (0, "error 0 wrong 0\n"), run)
        self.assertIn("policy fixed:7", run.err)


if __name__ == "__main__":
    main()
