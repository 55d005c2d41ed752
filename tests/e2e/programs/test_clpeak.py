"""clpeak, the usual benchmark: the same lines but for the figures, and its launches split."""

import re

from compare import ComparedTest, main, needed

def without_figures(text):
    return re.sub(r"\d+(\.\d+)?( us)?$", "#", text, flags=re.MULTILINE)


class ClPeak(ComparedTest):
    def check(self, *arguments, options):
        command = needed("clpeak", "clpeak"), *arguments
        native = self.native(*command)
        run = self.run_program("run", *command, options=options)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(without_figures(run.out), without_figures(native.out))
        return run

    def test_compute_launches_are_split(self):
        run = self.check("--compute-intfast", options=("--vms", "5", "--alpha", "4"))
        self.assertGreater(run.total("split"), 0, f"launches split\n{run}")

    def test_latency_is_measured_all_the_same(self):
        """Twenty thousand launches of a few work-items: nothing to split, and nothing may go wrong."""
        run = self.check("--kernel-latency", options=("--vms", "5", "--alpha", "4"))
        self.assertGreater(run.total("launches"), 10000, run)


if __name__ == "__main__":
    main()
