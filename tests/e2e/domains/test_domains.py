"""Real domains come, pause, go and crash, and so does libvirtd: a real program's launches follow the count."""

import signal

from host import HostTest, Loop, skip_where_something_is_missing, slices_for
from compare import main
from private_libvirt import wait_until


class Domains(HostTest):
    def see(self, running):
        """The daemon has said that so many run, and the program has launched accordingly."""
        self.listener.until_running(running)
        self.loop.wait_for(slices_for(running))

    def start(self, *names, way="preload", **settings):
        """The daemon and the program, with these domains already there."""
        self.create(*names)
        self.start_daemon()
        self.listener.until_running(len(names))
        self.loop = Loop(self, way, **settings)
        self.loop.begin(slices_for(len(names)))

    def wait_for_a_stale_count(self):
        wait_until(lambda: self.loop.neighbours()["state"] == "stale", "the program knows that the count is stale")

    def assertEnded(self, *running):
        """The program ended well, and its launches saw these counts, one after the other, and no other ever."""
        self.loop.end()
        counted = self.loop.program.tell("ask")
        self.assertEqual(self.loop.steps(), [slices_for(count) for count in running], self.listener.heard)
        split = [slices for slices in self.loop.slices if slices > 1]
        self.assertEqual(counted["launches"], len(self.loop.slices))
        self.assertEqual((counted["split"], counted["slices"]), (len(split), sum(split)))
        self.assertEqual(counted["whole"]["alone"], len(self.loop.slices) - len(split))
        self.assertEqual(self.loop.program.end()[0], 0)
        self.assertEqual(self.loop.program.errors, "")

    def test_slices_follow_domains_that_come_and_go(self):
        self.start()
        self.create("a")
        self.see(1)
        self.create("b")
        self.see(2)
        self.create("c")
        self.see(3)
        self.libvirt.virsh("suspend", "b")
        self.see(2)
        self.libvirt.virsh("resume", "b")
        self.see(3)
        self.libvirt.virsh("destroy", "a")
        self.see(2)
        self.libvirt.kill_qemu("c")
        self.see(1)
        self.assertEnded(1, 2, 3, 2, 3, 2, 1)

    def test_libvirtd_is_killed_and_comes_back(self):
        self.start("a", "b", "c", way="run")
        living = [self.libvirt.qemu(name) for name in ("a", "b")]
        crashed = self.libvirt.qemu("c")
        self.libvirt.signal(signal.SIGKILL)
        self.listener.until(r"unknown \d+")
        self.libvirt.kill_qemu("c")
        self.wait_for_a_stale_count()
        self.assertEqual(self.loop.steps(), [slices_for(3)])  # the last count stands in
        self.libvirt.start()
        self.see(2)
        self.assertEqual([self.is_alive(process) for process in (*living, crashed)], [True, True, False])
        self.create("d")  # there are events again
        self.see(3)
        self.assertEqual(self.loop.neighbours()["state"], "known")
        self.assertEnded(3, 2, 3)

    def test_libvirtd_that_hangs_is_unknown_and_clients_hear_so(self):
        self.start("a", "b")
        self.listener.until(r"alive \d+")
        self.stop_libvirtd()
        silent = self.listener.until(r"unknown \d+")[:-1]
        self.assertGreater(sum(line.startswith("alive ") for line in silent), 2, silent)
        self.assertRegex("\n".join(silent), r"\A((alive \d+|count \d+ 2 \d)(\n|\Z))+\Z")
        self.listener.until(r"alive \d+")
        self.wait_for_a_stale_count()
        self.libvirt.signal(signal.SIGCONT)
        self.see(2)
        self.create("c")
        self.see(3)
        self.assertEnded(2, 3)


if __name__ == "__main__":
    skip_where_something_is_missing()
    main()
