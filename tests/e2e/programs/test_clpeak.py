"""clpeak, a common benchmark: its output is the same but for the figures, and its launches are split."""

import re

from support.options import main
from support.processes import require_installed
from support.programs import ProgramTest

def without_figures(text):
    return re.sub(r"\d+(\.\d+)?( us)?$", "#", text, flags=re.MULTILINE)


class ClPeak(ProgramTest):
    def check(self, *arguments, options):
        command = require_installed("clpeak", "clpeak"), *arguments
        native = self.run_native(*command)
        run = self.run_program("run", *command, options=options)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(without_figures(run.out), without_figures(native.out))
        return run

    def test_compute_launches_are_split(self):
        run = self.check("--compute-intfast", options=("--vms", "5", "--alpha", "4"))
        self.assertGreater(run.total("split"), 0, f"launches split\n{run}")

    def test_twenty_thousand_tiny_launches_succeed(self):
        """There is nothing to split, and nothing may fail."""
        run = self.check("--kernel-latency", options=("--vms", "5", "--alpha", "4"))
        self.assertGreater(run.total("launches"), 10000, run)


if __name__ == "__main__":
    main()
