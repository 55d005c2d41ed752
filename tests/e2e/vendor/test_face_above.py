"""A face above the vendor library avoids the driver's faults, under whatever name the platform is shown."""

from support.options import OPTIONS, main
from support.programs import ProgramTest


class FaceAbove(ProgramTest):
    def run_program(self, method, *command, name=None, **settings):
        environment = self.with_vendor_below(self.environment(), name) if name else {}
        below = {key: environment[key] for key in environment if key.startswith(("OCL_ICD_", "CLEAVE_ICD_", "CLEAVE_PLATFORM_"))}
        return super().run_program(method, *command, **(below | settings))

    def test_launch_behind_a_failed_event_stays_unsplit(self):
        native = self.run_native(*OPTIONS.program)
        for method in ("preload", "layer", "run"):
            for name in ("marked", "original"):
                with self.subTest(method=method, name=name):
                    run = self.run_program(method, *OPTIONS.program, name=name, CLEAVE_SPLIT="fixed:7",
                                           CLEAVE_MIN_ITEMS="0")
                    self.assertSameOutput(native, run)
                    self.assertEqual((run.total("launches"), run.total("split"), run.unsplit("driver")), (2, 1, 1), run)


if __name__ == "__main__":
    main()
