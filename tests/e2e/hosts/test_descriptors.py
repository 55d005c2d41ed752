"""Descriptors of Cleave's never have numbers that a program counts on, and Cleave never uses a number that is the program's by now."""

import itertools
import socket
import threading
from collections import Counter

from every_way import LOCALLY, EveryWayTest
from support.options import OPTIONS, main

LOWEST = 200  # src/base/files/own_descriptors.h

# Where a descriptor of each kind leads, by way.
EXPECTED = {
    "local": ("/registry/", "/turns-", "/memory-", "/trace.json", "socket:"),
    "tcp": ("socket:",),
    "unix": ("socket:", "/memfd:cleave-remote"),
}


class Monitor:
    """Tells each client that there are five VMs."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        self.clients = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            while True:
                client, _ = self.socket.accept()
                client.sendall(b"cleave-monitor 1 heartbeat=60000\ncount 1 5 0\n")
                self.clients.append(client)
        except OSError:
            pass

    def close(self):
        for each in (self.socket, *self.clients):
            each.close()


class Descriptors(EveryWayTest):
    def listing(self, way):
        """What the program says of its work, and its descriptors: number, whether closed on exec, target."""
        folder = self.own_folder() / way
        (folder / "registry").mkdir(parents=True)
        monitor = Monitor(folder / "monitor")
        self.addCleanup(monitor.close)
        everything = {
            "CLEAVE_TURNS": "on", "CLEAVE_MEMORY_LIMIT": "1G", "CLEAVE_TRACE": folder / "trace.json",
            "CLEAVE_CACHE": folder / "cache", "CLEAVE_NEIGHBOURS": f"unix:{folder}/monitor,trust:any",
            "CLEAVE_REGISTRY": folder / "registry", "CLEAVE_SPLIT": "budget",
        }
        run = self.run_by(way, OPTIONS.programs / "standard_descriptors", folder / "out", **everything)
        self.assertEqual((run.status, run.out, run.err), (0, "", ""), run)
        first, *lines = (folder / "out").read_text().splitlines()
        entries = [line.split(" ", 2) for line in lines]
        return first, [(int(number), closed == "1", target) for number, closed, target in entries]

    def test_are_high_and_closed_on_exec(self):
        work, native = self.listing("native")
        self.assertIn("error 0 wrong 0 printed 0 number 0", work)
        for way in self.ways():
            with self.subTest(way):
                same, descriptors = self.listing(way)
                self.assertEqual(same, work)
                inherited = {(number, target) for number, _, target in native}
                left = Counter(target for _, _, target in native)
                ours = []
                for number, closed_on_exec, target in sorted(descriptors, reverse=True):
                    if (number, target) in inherited:
                        continue
                    if number < LOWEST and left[target] > 0:  # the driver's own
                        left[target] -= 1
                        continue
                    ours.append(target)
                    self.assertGreaterEqual(number, LOWEST, (target, descriptors))
                    self.assertTrue(closed_on_exec, (target, descriptors))
                    self.assertNotIn("anon_inode", target, "could not be told from the program's own")
                for kind in EXPECTED["local" if way in LOCALLY else way]:
                    self.assertTrue(any(kind in target for target in ours), f"no {kind} among {descriptors}")


class ClosedInBulk(EveryWayTest):
    def outcome(self, way, when, kind="files"):
        folder = self.own_folder() / f"{way}-{when}-{kind}"
        folder.mkdir()
        trace = {"CLEAVE_TRACE": folder / "trace.json"} if way in LOCALLY else {}
        run = self.run_by(way, OPTIONS.programs / "closed_in_bulk", when, folder, kind, CLEAVE_TURNS="on",
                          CLEAVE_MEMORY_LIMIT="1G", **trace)
        self.assertEqual(run.status, 0, run)
        return run

    def test_before_the_first_context_nothing_is_lost(self):
        native = self.outcome("native", "first")
        for way in self.ways():
            with self.subTest(way):
                self.assertSameOutput(native, self.outcome(way, "first"))

    def test_later_the_program_s_own_stays_as_it_is(self):
        native = self.outcome("native", "later")
        self.assertIn("spoilt 0", native.out)
        for way in LOCALLY:
            with self.subTest(way):
                self.assertSameOutput(native, self.outcome(way, "later"))

    def test_what_has_no_identity_stays_as_it_is(self):
        for when, ways in (("first", self.ways()), ("later", LOCALLY)):
            native = self.outcome("native", when, "anonymous")
            self.assertIn("spoilt 0", native.out)
            for way in ways:
                with self.subTest(way, when=when):
                    self.assertSameOutput(native, self.outcome(way, when, "anonymous"))

    def test_later_a_server_s_objects_are_lost_with_an_error(self):
        for way, kind in itertools.product(self.server.addresses, ("files", "anonymous")):
            with self.subTest(way, kind=kind):
                run = self.outcome(way, "later", kind)
                lines = run.out.splitlines()
                self.assertRegex(lines[0], r"^work error -2 ", run)
                self.assertEqual(lines[1:], ["new context error 0 wrong 0", "spoilt 0"], run)
                self.assertRegex(run.err, r"\Acleave: [^\n]*the program has closed[^\n]*\n\Z", run)


if __name__ == "__main__":
    main()
