"""clinfo makes every query of OpenCL: no result may differ."""

import json
import unittest

from support.options import main
from support.programs import VENDOR_BELOW, ProgramTest, clinfo


class ClInfo(ProgramTest):
    def check(self, *arguments):
        command = clinfo(*arguments)
        native = self.run_native(*command)
        for method in ("preload", "library_path", "layer", "run"):
            run = self.assertUnchanged(native, method, *command, CLEAVE_VMS="5")
            self.assertEqual((run.err, run.total("launches")), (native.err, 0), f"nothing launched\n{run}")
            self.assertEqual(len(run.stats), 1, f"one summary, which says so\n{run}")

    def test_a_summary_says_that_nothing_was_launched(self):
        for method in ("preload", "run"):
            for settings in ({"CLEAVE_STATS": "stderr"}, {"CLEAVE_STATS": "explain"}, {"CLEAVE_STATS": "explain,stderr"}):
                run = self.run_program(method, *clinfo("--list"), **settings)
                self.assertEqual(run.err, "cleave: no launches\n", run)

    def test_a_trace_without_launches_is_a_trace(self):
        file = self.own_folder() / "trace.json"
        run = self.run_program("run", *clinfo("--list"), CLEAVE_TRACE=file)
        self.assertEqual(run.err, "", run)
        self.assertEqual([event["name"] for event in json.loads(file.read_text())], ["process_name", "process_labels", "cleave_origin"])

    @unittest.skipIf(VENDOR_BELOW, "the vendor library offers fewer extensions: docs/vendor.md")
    def test_all_properties_are_the_native_ones(self):
        self.check("--all-props")

    def test_list_is_the_native_one(self):
        self.check("--list")


if __name__ == "__main__":
    main()
