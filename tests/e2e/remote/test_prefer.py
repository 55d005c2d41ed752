"""Which platform comes first where there is a server's and one of this machine (remote.prefer). The machine's own is Oclgrind, so that
the names tell them apart."""

from support.options import OPTIONS, VENDOR, main
from support.programs import LOAD_METHODS, driver_icd
from support.remote import RemoteTest, ScriptedClient

SIDE = 16
LOCAL, REMOTE = "Oclgrind: ok", "Portable Computing Language (remote): ok"
FACES = ("preload", "layer", "preload_and_layer", "run")


class Prefer(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server(self.own_folder() / "server")

    def run_once(self, method, prefer, *options, **changes):
        """The platform that came first, and what Cleave said of the setting."""
        settings = {"OCL_ICD_VENDORS": driver_icd("oclgrind"), "CLEAVE_REMOTE": self.server.addresses["tcp"],
                    **({"CLEAVE_REMOTE_PREFER": prefer} if prefer else {})}
        run_ = self.run_program(method, OPTIONS.programs / "first_platform", SIDE, *options, **(settings | changes))
        self.assertEqual(run_.status, 0, run_)
        return run_.out.strip(), [line for line in run_.err.splitlines() if "PREFER" in line]

    def test_local_platforms_come_first_by_default(self):
        for method in FACES:
            with self.subTest(method=method):
                for prefer in (None, "local"):
                    self.assertEqual(self.run_once(method, prefer), (LOCAL, []))

    def test_remote_platform_comes_first_if_it_is_wanted(self):
        for method in FACES:
            with self.subTest(method=method):
                self.assertEqual(self.run_once(method, "remote"), (REMOTE, []))
                self.assertEqual(self.run_once(method, "remote", "--default"), (REMOTE, []))

    def test_old_value_auto_means_local_and_says_so(self):
        out, (said,) = self.run_once("preload", "auto")
        self.assertEqual(out, LOCAL)
        self.assertIn('means "local"', said)

    def test_vendor_library_offers_the_remote_platform_first(self):
        settings = {"OCL_ICD_VENDORS": self.vendors("vendor-first", cleave=VENDOR), "CLEAVE_ICD_WRAP": driver_icd("oclgrind"),
                    "OCL_ICD_PLATFORM_SORT": "none"}
        for prefer, expected in (("local", LOCAL), ("remote", REMOTE)):
            self.assertEqual(self.run_once("native", prefer, **settings), (expected, []))

    def test_server_that_cannot_be_reached_leaves_the_local_platforms(self):
        self.server.kill()
        self.assertEqual(self.run_once("preload", "remote"), (LOCAL, []))

    def test_lost_server_leaves_calls_without_a_platform_to_the_local_ones(self):
        for method in ("preload", "layer"):
            with self.subTest(method=method):
                server = self.start_server(self.own_folder() / method)
                environment = self.client_environment(server.addresses["tcp"], OCL_ICD_VENDORS=driver_icd("oclgrind"),
                                                      CLEAVE_REMOTE_PREFER="remote", **LOAD_METHODS[method][1])
                client = ScriptedClient(environment, OPTIONS.programs / "first_platform", SIDE, "--default", "--lines")
                self.addCleanup(client.stop)
                self.assertEqual(client.execute("work"), REMOTE)
                server.kill()
                for _ in range(2):  # the call that finds out, and one that comes later
                    self.assertEqual(client.execute("work"), LOCAL)


if __name__ == "__main__":
    main()
