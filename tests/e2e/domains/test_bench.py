"""The neighbours of `cleave bench neighbours` run in real domains, which are gone afterwards."""

import os
import sys
import time
import unittest
from pathlib import Path

from host_test import KERNEL, skip_without_prerequisites
from support.options import CLEAVE, main
from private_libvirt import Libvirt, ProcessOwner

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench/suite"))


class Bench(unittest.TestCase):
    def setUp(self):
        owner = ProcessOwner()
        self.addCleanup(owner.end)
        self.libvirt = Libvirt(owner, KERNEL)
        os.environ["LIBVIRT_DEFAULT_URI"] = self.libvirt.uri
        os.environ["CLEAVE_BENCH_KERNEL"] = str(KERNEL)
        os.environ["CLEAVE_BENCH"] = str(CLEAVE.parent.parent / "bench")

    def test_neighbours_run_in_domains_on_the_hosts_clock(self):
        import isolation
        import neighbours

        cores = os.sched_getaffinity(0)
        isolated = isolation.prepare("domains", cores)
        self.addCleanup(isolated.close)
        begin = time.monotonic()
        domains = [isolated.start(f"neighbour-{i}", "cleave_neighbour", 64, 4) for i in range(2)]
        self.assertEqual(len(self.libvirt.running()), 2)
        time.sleep(1)
        self.assertEqual([domain.poll() for domain in domains], [None, None])
        for domain in domains:
            domain.kill()
        end = time.monotonic()
        for domain in domains:
            output, _ = domain.communicate()
            self.assertLess(domain.returncode, 0)
            self.assertGreater(neighbours.product(output, (begin, end)), 0)
            for line in output.splitlines():
                self.assertTrue(begin <= float(line.split()[0]) <= float(line.split()[1]) <= end + 1, (begin, line, end))
        self.assertEqual(self.libvirt.running(), [])


if __name__ == "__main__":
    skip_without_prerequisites()
    main()
