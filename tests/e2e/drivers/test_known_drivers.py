"""What the product knows of a driver beforehand is what the probe finds on it (src/interpose/drivers/known_drivers.h)."""

from support.options import OPTIONS, main, skip
from support.programs import ProgramTest, is_pocl

# A setting of each driver's that changes what runs, and one that does not.
SETTINGS = {
    "pocl": ({"POCL_WORK_GROUP_METHOD": "loops"}, {"POCL_MAX_PTHREAD_COUNT": "2"}),
    "oclgrind": ({"OCLGRIND_QUICK": "1"}, {"OCLGRIND_NUM_THREADS": "1"}),
}


class KnownDrivers(ProgramTest):
    def facts(self, *arguments, **settings):
        """By whose word, what."""
        run = self.run_native(OPTIONS.programs / "driver_facts", *arguments, **settings)
        return dict(line.split(": ") for line in run.out.splitlines())

    def test_probe_finds_what_is_known(self):
        facts = self.facts("probe")
        self.assertNotEqual(facts["known"], "nothing", "this version is not in the table")
        self.assertEqual(facts["known"], facts["probed"])
        self.assertEqual(facts["known lines"], facts["probed lines"])

    def test_vendor_library_below_hides_nothing(self):
        known = self.facts()
        for name in ("marked", "original"):
            with self.subTest(name=name):
                environment = self.with_vendor_below(self.environment(), name)
                below = {key: environment[key] for key in environment if key.startswith(("OCL_ICD_", "CLEAVE_ICD_", "CLEAVE_PLATFORM_"))}
                # Cleave is in this process on purpose, and would report that it launched nothing.
                self.assertEqual(self.facts(**below, CLEAVE_STATS=""), known)

    def test_settings_that_change_the_driver_make_it_unknown(self):
        changing, harmless = SETTINGS[OPTIONS.driver]
        self.assertEqual(self.facts(**changing), {"known": "nothing", "known lines": "nothing"})
        self.assertEqual(self.facts(**harmless), self.facts())


if __name__ == "__main__":
    if OPTIONS.driver == "pocl" and not is_pocl("3.1"):
        skip("of PoCL only version 3.1 is known beforehand")
    main()
