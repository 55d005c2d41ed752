"""clinfo makes every query of OpenCL: no result may differ."""

import unittest

from support.options import main
from support.programs import VENDOR_BELOW, ProgramTest, clinfo


class ClInfo(ProgramTest):
    def check(self, *arguments):
        command = clinfo(*arguments)
        native = self.run_native(*command)
        for method in ("preload", "library_path", "layer", "run"):
            run = self.assertUnchanged(native, method, *command, CLEAVE_VMS="5")
            self.assertEqual((run.err, run.stats), (native.err, []), f"nothing launched, nothing reported\n{run}")

    @unittest.skipIf(VENDOR_BELOW, "the vendor library offers fewer extensions: docs/vendor.md")
    def test_all_properties_are_the_native_ones(self):
        self.check("--all-props")

    def test_list_is_the_native_one(self):
        self.check("--list")


if __name__ == "__main__":
    main()
