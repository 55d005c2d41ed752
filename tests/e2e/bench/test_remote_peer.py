"""The peer of the suite `remote`: its rows, and that its failures do not stop the suite. No measurement."""

import contextlib
import io
import json
import pathlib
import shutil
import socket
import tempfile
import time
import unittest

from bench_modules import PROGRAMS, peer, remote, results, throttled_link
from support.options import DROP_IN, LAYER, main
from support.processes import FolderTest, clean_environment, run

Results, Unmeasured = results.Results, results.Unmeasured

LAUNCHES = "a launch of 10000, to the end"
KINDS = ("ping-pong", "4 KiB", "64 MiB", "64 MiB back")
FIGURES = ("start", "launch and finish", "a launch of 10000, on the client's thread", LAUNCHES,
           "argument and launch of 10000, on the client's thread", "argument and launch of 10000, to the end", "write 64 MiB",
           "read 64 MiB", "write 4 KiB", "read 4 KiB", *(f"product {size}" for size in remote.PRODUCTS),
           *(f"{what} {size}" for what in remote.MAPS for size in ("64 MiB", "4 KiB")))


def run_of(value, **changes):
    """A run in which everything took the same time, and transfers a quarter of each product."""
    figures = {name: value for name in FIGURES} | {f"tcp {name}": value for name in KINDS}
    figures |= {f"product {size}, transfers": value / 4 for size in remote.PRODUCTS}
    return figures | {"device": "a device", "platform": "PoCL 0"} | changes


def rows_of(*beside):
    found = Results("remote", {"device": "a device", "cores": 2, "cleave": "cleave"}, peer="somebody" if beside else "")
    with contextlib.redirect_stderr(io.StringIO()):
        remote.Bench(found, "tcp", [run_of(1)], [run_of(2)], beside).add_all()
    return found, {row.what: row for row in found.rows}


class Link(unittest.TestCase):
    def test_a_throttled_link_passes_bytes_on_and_takes_its_time(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            link = throttled_link.ThrottledLink(f"tcp:127.0.0.1:{listener.getsockname()[1]}", 1_000_000)
            self.addCleanup(link.close)
            host, port = link.address.removeprefix("tcp:").split(":")
            sent = bytes(range(256)) * 400
            begin = time.monotonic()
            with socket.create_connection((host, int(port))) as client, listener.accept()[0] as server:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                with server.makefile("rb") as received:
                    self.assertEqual(received.read(), sent)
            self.assertGreater(time.monotonic() - begin, 0.09)
            self.assertEqual(link.passed, len(sent))


class Rows(FolderTest):
    def test_peer_is_compared_in_every_row_and_with_the_goals(self):
        found, rows = rows_of(run_of(30, **{LAUNCHES: 39}), run_of(30, **{LAUNCHES: 41}), run_of(30, **{"product 64": 1}))
        self.assertEqual(rows[f"tcp: {LAUNCHES}"].peer, 39)
        self.assertEqual(rows["tcp: read 4 KiB"].peer, 30)
        rate = rows["tcp: rate of 10000 launches, the peer's = 1"]
        self.assertEqual((rate.value, rate.asked, rate.good), (19.5, 20, False))
        ahead = rows["tcp: rate of product 64, the peer's = 1"]
        self.assertEqual((ahead.value, ahead.asked, ahead.good), (15, 1, True))
        self.assertEqual(rows["tcp: product 64"].note, "25 % of it transfers, of the peer's 25 %")
        self.assertEqual(results.quantity(rows["tcp: rate of product 512, the peer's = 1"].value, ""), "15")
        self.assertIn("the peer", self.title(found))

    def test_contents_between_servers_are_compared_with_a_plain_socket(self):
        found = Results("remote", {})
        with contextlib.redirect_stderr(io.StringIO()):
            remote.add_between(found, 1024, {"contents": 400e3, "tcp contents": 300e3}, 60_000)
        moved, share = found.rows
        self.assertEqual((moved.value, moved.baseline, moved.good), (400e3, 300e3, None))
        self.assertEqual((share.value, share.asked, share.good), (0.75, 0.85, False))
        self.assertIn("10 MB/s, which carried 0.1 MB", share.note)

    def test_no_row_mentions_a_missing_peer(self):
        found, rows = rows_of()
        self.assertEqual([what for what in rows if "peer" in what], [])
        self.assertEqual(rows["tcp: product 64"].note, "25 % of it transfers")
        self.assertNotIn("the peer", self.title(found))

    def test_failed_measurements_are_dashes(self):
        found, _ = rows_of()
        found.peer = "PoCL-Remote: - (it crashed)"
        self.assertIn("| - ", self.table(found))
        self.assertTrue(self.table(found).endswith("\nThe peer: PoCL-Remote: - (it crashed)\n"))

    def test_results_are_read_as_they_were_written(self):
        found, _ = rows_of(run_of(30))
        with contextlib.redirect_stderr(io.StringIO()):
            results.keep(found, self.folder / "kept")
        self.assertEqual(results.load(self.folder / "kept"), found)

    @staticmethod
    def table(found):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            results.print_table(found)
        return shown.getvalue()

    def title(self, found):
        return self.table(found).split("\n\n")[1].splitlines()[0]


class Runs(FolderTest):
    def install(self, daemon):
        """A driver and a daemon, a Python program that finds its port in `port`."""
        (self.folder / "bin").mkdir()
        (self.folder / "lib").mkdir()
        (self.folder / "lib" / "libpocl.so.2").touch()
        file = self.folder / "bin" / "pocld"
        file.write_text(f"#!/usr/bin/env python3\nimport socket, sys, time\nport = int(sys.argv[4])\n{daemon}\n")
        file.chmod(0o755)
        return peer.find(self.folder)

    LISTENS = "here = socket.create_server(('127.0.0.1', port))\nwhile True: here.accept()[0].close()"

    @staticmethod
    def take(one, work):
        with contextlib.redirect_stderr(io.StringIO()):
            one.turn(work)

    def test_work_uses_the_driver_and_the_daemon(self):
        def work(settings, stdin, limit):
            file, = pathlib.Path(settings["OCL_ICD_VENDORS"]).glob("*.icd")
            self.assertEqual(file.read_text(), f"{self.folder}/lib/libpocl.so.2\n")
            host, _, port = settings["POCL_REMOTE0_PARAMETERS"].removesuffix("/0").rpartition(":")
            with socket.create_connection((host, int(port))):
                return run_of(30)

        one = self.install(self.LISTENS)
        self.take(one, work)
        self.assertEqual((one.runs, one.failures), ([run_of(30)], []))
        self.assertEqual(one.summary(), "PoCL-Remote over TCP: PoCL 0; 1 runs")

    def test_daemon_that_ends_at_once_is_reported(self):
        one = self.install("print('no device'); sys.exit(3)")
        for _ in range(3):
            self.take(one, self.fail)
        self.assertEqual(one.failures, ["pocld ended with status 3: no device"] * peer.MAX_FAILURES)
        self.assertIn("PoCL-Remote: - (pocld ended", one.summary())

    def test_failed_runs_do_not_count(self):
        outcomes = [Unmeasured("it crashed"), run_of(30)]

        def work(**_):
            outcome = outcomes.pop(0)
            if isinstance(outcome, Unmeasured):
                raise outcome
            return outcome

        one = self.install(self.LISTENS)
        for _ in range(2):
            self.take(one, work)
        self.assertEqual(one.runs, [run_of(30)])
        self.assertIn("1 runs, others failed: it crashed", one.summary())

    def test_missing_installation_is_reported(self):
        one = peer.find(self.folder)
        self.take(one, self.fail)
        self.assertIn("bin/pocld: No such file", one.summary())

    def test_missing_driver_is_named(self):
        one = self.install(self.LISTENS)
        (self.folder / "lib" / "libpocl.so.2").unlink()
        self.take(one, self.fail)
        self.assertEqual(one.failures, [f"no libpocl.so is in {self.folder}"])

    def peer_run(self, **changes):
        """What the peer's turn is refused with, after a run of its own driver but for these changes; None: it counts."""
        one = self.install(self.LISTENS)
        known = remote.work
        self.addCleanup(setattr, remote, "work", known)
        run = run_of(30) | {"driver": str(self.folder / "lib" / "libpocl.so.2"), "under Cleave": "no"} | changes
        remote.work = lambda *_, **__: run
        self.take(one, remote.peer_figures(None, one, run_of(1)))
        return one.failures[0] if one.failures else None

    def test_run_on_the_daemons_device_counts(self):
        self.assertIsNone(self.peer_run())

    def test_device_other_than_the_native_one_is_refused(self):
        self.assertEqual(self.peer_run(device="another"), "pocld's first device is another, not a device")

    def test_run_of_another_driver_is_refused(self):
        another = self.folder / "another.so"
        another.touch()
        for other in (another, "/nonexistent.so", ""):
            with self.subTest(other):
                self.assertIn(f"not of {self.folder}/lib/libpocl.so.2: look at the loader's environment",
                              self.peer_run(driver=str(other)))
                shutil.rmtree(self.folder / "bin")
                shutil.rmtree(self.folder / "lib")

    def test_peer_under_cleave_is_refused(self):
        self.assertIn("a Cleave was in between", self.peer_run(**{"under Cleave": "yes"}))

    def test_suites_environment_does_not_reach_the_peer(self):
        one = self.install(self.LISTENS)
        settings = one.settings(self.folder, 1)
        self.assertEqual((settings["OCL_ICD_FILENAMES"], settings["OPENCL_LAYERS"]), ("", ""))


class Columns(unittest.TestCase):
    """On the real loader, PoCL and a server: the program says whose platform it had, and another column's is refused."""

    def identify(self, **variables):
        done = run(PROGRAMS / "cleave_remote_work", "Portable", "--identify", environment=clean_environment(
            CLEAVE_CONFIG="/dev/null", **variables))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_column_of_another_platform_is_refused(self):
        native = self.identify()
        self.assertRegex(native["driver"], r"/libpocl\.so")
        remote.check_native(native)
        with self.assertRaisesRegex(Unmeasured, "the server's platform, .*, is of .*libpocl"):
            remote.check_remote(native, native)
        with tempfile.TemporaryDirectory() as folder:
            address = f"unix:{folder}/server"
            with remote.server(address):
                served = self.identify(**remote.nothing_but(address))
        self.assertRegex(served["driver"], r"/libcleave-remote\.so$")
        remote.check_remote(served, native)
        with self.assertRaisesRegex(Unmeasured, "the native platform, .*, is of .*libcleave-remote"):
            remote.check_native(served)
        with self.assertRaisesRegex(Unmeasured, "the server's device is .*, not another"):
            remote.check_remote(served, native | {"device": "another"})

    def test_native_column_under_cleave_is_refused(self):
        for variables in ({"LD_PRELOAD": DROP_IN}, {"OPENCL_LAYERS": LAYER}):
            with self.assertRaisesRegex(Unmeasured, "natively a Cleave was in between"):
                remote.check_native(self.identify(**variables))


if __name__ == "__main__":
    main()
