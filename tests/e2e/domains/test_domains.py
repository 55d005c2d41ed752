"""Real domains start, pause, stop and crash, and so does libvirtd: a real program's launches follow the count."""

import os
import signal
import subprocess
import sys

from host_test import Daemon, HostTest, LaunchLoop, MonitorClient, skip_without_prerequisites, slices_for
from support.options import main
from private_libvirt import wait_until


class Domains(HostTest):
    def expect_running(self, running):
        """The daemon reports that so many run, and the program launches accordingly."""
        self.client.until_running(running)
        self.loop.wait_for(slices_for(running))

    def start(self, *names, method="preload", **settings):
        """The daemon and the program, with these domains already there."""
        self.create(*names)
        self.start_daemon()
        self.client.until_running(len(names))
        self.loop = LaunchLoop(self, method, **settings)
        self.loop.begin(slices_for(len(names)))

    def wait_for_a_stale_count(self):
        wait_until(lambda: self.loop.neighbours()["state"] == "stale", "the program knows that the count is stale")

    def assertEnded(self, *running):
        """The program succeeded, and its launches used these counts, one after the other, and no others."""
        self.loop.end()
        counted = self.loop.program.execute("ask")
        self.assertEqual(self.loop.steps(), [slices_for(count) for count in running], self.client.received)
        split = [slices for slices in self.loop.slices if slices > 1]
        self.assertEqual(counted["launches"], len(self.loop.slices))
        self.assertEqual((counted["split"], counted["slices"]), (len(split), sum(split)))
        self.assertEqual(counted["unsplit"]["alone"], len(self.loop.slices) - len(split))
        self.assertEqual(self.loop.program.finish()[0], 0)
        self.assertEqual(self.loop.program.errors, "")

    def test_slices_follow_the_running_domains(self):
        self.start()
        self.create("a")
        self.expect_running(1)
        self.create("b")
        self.expect_running(2)
        self.create("c")
        self.expect_running(3)
        self.libvirt.virsh("suspend", "b")
        self.expect_running(2)
        self.libvirt.virsh("resume", "b")
        self.expect_running(3)
        self.libvirt.virsh("destroy", "a")
        self.expect_running(2)
        self.libvirt.kill_qemu("c")
        self.expect_running(1)
        self.assertEnded(1, 2, 3, 2, 3, 2, 1)

    def test_count_is_stale_while_libvirtd_is_down(self):
        self.start("a", "b", "c", method="run")
        living = [self.libvirt.qemu(name) for name in ("a", "b")]
        crashed = self.libvirt.qemu("c")
        self.libvirt.signal(signal.SIGKILL)
        self.client.until(r"unknown \d+")
        self.libvirt.kill_qemu("c")
        self.wait_for_a_stale_count()
        self.assertEqual(self.loop.steps(), [slices_for(3)])  # the last count is still used
        self.libvirt.start()
        self.expect_running(2)
        self.assertEqual([self.is_alive(process) for process in (*living, crashed)], [True, True, False])
        self.create("d")  # there are events again
        self.expect_running(3)
        self.assertEqual(self.loop.neighbours()["state"], "known")
        self.assertEnded(3, 2, 3)

    def test_hung_libvirtd_makes_the_count_unknown(self):
        self.start("a", "b")
        self.client.until(r"alive \d+")
        self.suspend_libvirtd()
        silent = self.client.until(r"unknown \d+")[:-1]
        self.assertGreater(sum(line.startswith("alive ") for line in silent), 2, silent)
        self.assertRegex("\n".join(silent), r"\A((alive \d+|count \d+ 2 \d( pressure=\d+)?)(\n|\Z))+\Z")
        self.client.until(r"alive \d+")
        self.wait_for_a_stale_count()
        self.libvirt.signal(signal.SIGCONT)
        self.expect_running(2)
        self.create("c")
        self.expect_running(3)
        self.assertEnded(2, 3)

    def test_hung_qemu_leaves_the_count(self):
        """Statistics for the pressure may wait for it; neither the count nor the daemon's end does."""
        self.start("a", "b")
        hung = self.libvirt.qemu("a")
        os.kill(hung, signal.SIGSTOP)
        self.addCleanup(os.kill, hung, signal.SIGCONT)  # else libvirtd waits for it
        lines = [self.client.line() for _ in range(30)]  # longer than a listing may take, by the heartbeat
        self.assertFalse([line for line in lines if line.startswith("unknown")], lines)
        self.create("c")
        self.expect_running(3)
        self.assertEnded(2, 3)
        self.assertEqual(self.daemon.end(), 0)
        self.assertNotIn("does not answer", "\n".join(self.daemon.log))
        self.assertFalse(os.path.exists(self.socket))

    def test_pressure_is_what_a_domains_processor_waits(self):
        """The daemon cannot read the host's own stalls, so it comes from libvirt's statistics."""
        hide = "{ test ! -e /proc/pressure/cpu || mount --bind /dev/null /proc/pressure/cpu; }"
        unshare = ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else [])]
        if subprocess.run([*unshare, "sh", "-c", hide], check=False, capture_output=True).returncode:
            self.skipTest("needs mount namespaces")
        self.libvirt.create("a", self.idle, "load")
        self.daemon = Daemon(self, self.libvirt.uri, f"unix:{self.socket}",
                             prefix=[*unshare, "sh", "-c", f"{hide} && exec \"$@\"", "sh"])
        self.daemon.address("unix")
        client = MonitorClient(self, self.socket)
        client.until(r"count \d+ 1 \d pressure=\d+")
        for _ in range(3 * os.cpu_count()):
            # QEMU has a session of its own, to which the scheduler may give as much as to all of another session together.
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
        client.until(r"count \d+ 1 \d pressure=([1-9]\d\d|1000)")  # a tenth at least, since three others share its processor


if __name__ == "__main__":
    skip_without_prerequisites()
    main()
