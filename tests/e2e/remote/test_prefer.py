"""Which platform comes first where there is a server's and one of this machine (remote.prefer). The machine's own is Oclgrind, so that
the names tell them apart. What is known of its runs is changed to be much longer where it has to be a slow device: so the tests depend
on no real duration."""

from proxy import Proxy
from support.options import DROP_IN, OPTIONS, VENDOR, main
from support.processes import wait_until
from support.programs import driver_icd
from support.remote import DEVICE_LOST, RemoteTest, ScriptedClient

SIDE = 16
LOCAL, REMOTE = "Oclgrind: ok", "Portable Computing Language (remote): ok"
FACES = ("preload", "layer", "preload_and_layer", "run")


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def slowed_down(line):
    """A line of the file of runs (src/learn/run_file.h) with a thousand times as much computing."""
    fields = line.split()[:-1]
    fields[4] = str(int(fields[4]) * 1000)
    text = " ".join(fields)
    return f"{text} {fnv(text)}\n"


class PreferTest(RemoteTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server(self.own_folder() / "server")
        self.cache = self.own_folder() / "cache"

    def settings(self, prefer, address=None, driver="oclgrind"):
        return {"OCL_ICD_VENDORS": driver_icd(driver), "CLEAVE_REMOTE": address or self.server.addresses["tcp"],
                "CLEAVE_REMOTE_PREFER": prefer, "CLEAVE_CACHE": self.cache, "CLEAVE_EXPLAIN": "true"}

    def run_once(self, method, prefer, *options, side=SIDE, **changes):
        """The platform that came first, and what Cleave said of its choice."""
        run_ = self.run_program(method, self.program(), side, *options, **(self.settings(prefer) | changes))
        self.assertEqual(run_.status, 0, run_)
        said = [line.removeprefix("cleave: remote.prefer: ") for line in run_.err.splitlines() if "remote.prefer" in line]
        return run_.out.strip(), said

    def learn_slow_local_device(self, method, *options):
        for _ in range(2):
            out, (said,) = self.run_once(method, "auto", *options)
            self.assertEqual(out, LOCAL)
            self.assertIn("local, too few runs", said)
        runs = self.cache / "runs"
        lines = runs.read_text().splitlines()
        self.assertEqual(len(lines), 1)
        runs.write_text(slowed_down(lines[0]))

    @staticmethod
    def program():
        return OPTIONS.programs / "first_platform"


class Fixed(PreferTest):
    def test_local_platforms_come_first_by_default(self):
        for method in FACES:
            with self.subTest(method=method):
                settings = self.settings("local")
                del settings["CLEAVE_REMOTE_PREFER"]
                run_ = self.run_program(method, self.program(), SIDE, **settings)
                self.assertEqual((run_.status, run_.out.strip()), (0, LOCAL), run_)
                self.assertEqual(self.run_once(method, "local"), (LOCAL, []))

    def test_remote_platform_comes_first_if_it_is_wanted(self):
        for method in FACES:
            with self.subTest(method=method):
                self.assertEqual(self.run_once(method, "remote"), (REMOTE, []))
                self.assertEqual(self.run_once(method, "remote", "--default"), (REMOTE, []))

    def test_nothing_is_learnt_unless_it_is_wanted(self):
        self.run_once("preload", "remote")
        self.assertFalse((self.cache / "runs").exists())

    def test_vendor_library_offers_the_remote_platform_first(self):
        vendors = self.vendors("vendor-first", cleave=VENDOR)
        for prefer, expected in (("local", LOCAL), ("remote", REMOTE)):
            run_ = self.run_program("native", self.program(), SIDE, **(self.settings(prefer) | {
                "OCL_ICD_VENDORS": vendors, "CLEAVE_ICD_WRAP": driver_icd("oclgrind"), "OCL_ICD_PLATFORM_SORT": "none"}))
            self.assertEqual((run_.status, run_.out.strip()), (0, expected), run_)


class Automatic(PreferTest):
    def test_work_moves_to_the_faster_device_when_both_are_known(self):
        for method in ("preload", "layer"):
            with self.subTest(method=method):
                self.cache = self.own_folder() / method
                self.learn_slow_local_device(method)
                for _ in range(2):
                    out, (said,) = self.run_once(method, "auto")
                    self.assertEqual(out, REMOTE, said)
                    self.assertIn("remote, to try it", said)
                out, (said,) = self.run_once(method, "auto")
                self.assertEqual(out, REMOTE, said)
                self.assertIn(" expected, ", said)
                # Other arguments are another program.
                self.assertEqual(self.run_once(method, "auto", side=SIDE + 1)[0], LOCAL)

    def test_work_stays_here_if_the_link_alone_takes_longer(self):
        proxy = Proxy(self.server.addresses["tcp"])
        self.addCleanup(proxy.close)
        proxy.rate = 20_000  # three matrices take 10 s
        here = {"CLEAVE_REMOTE": proxy.address, "OCL_ICD_VENDORS": driver_icd("pocl")}
        for _ in range(2):
            self.assertEqual(self.run_once("preload", "auto", side=128, **here)[0], "Portable Computing Language: ok")
        out, (said,) = self.run_once("preload", "auto", side=128, **here)
        self.assertEqual(out, "Portable Computing Language: ok")
        self.assertIn("local, the link alone would take", said)

    def test_server_that_cannot_be_reached_leaves_the_local_platforms(self):
        self.server.kill()
        run_ = self.run_program("preload", self.program(), SIDE, **self.settings("auto"))
        self.assertEqual((run_.status, run_.out.strip()), (0, LOCAL), run_)
        lines = [line for line in run_.err.splitlines() if "cannot be used" in line]
        self.assertEqual(len(lines), 1, run_)
        self.assertIn(self.server.addresses["tcp"], lines[0])

    def program_that_works_remotely(self, *options):
        self.learn_slow_local_device("preload", *options)
        program = self.start(*options)
        self.assertEqual(program.reply(), REMOTE)
        self.assertEqual(program.execute("again"), REMOTE)
        return program

    def assertRemoteWhenTheServerIsBack(self, program):
        self.server = self.start_server(self.own_folder() / "server", before=self.server)
        self.assertEqual(program.execute("again"), REMOTE)
        _, err = program.process.communicate(timeout=60)
        self.assertEqual(program.process.returncode, 0, err)
        self.assertEqual(err.count("cannot be used"), 1, err)

    def test_next_context_of_no_platform_is_local_when_the_server_has_died(self):
        program = self.program_that_works_remotely("--default")
        self.server.kill()
        replies = []
        # The end of a connection may be noticed by the call that fails for it.
        wait_until(lambda: replies.append(program.execute("again")) or replies[-1] == LOCAL, lambda: f"no local context: {replies}")
        self.assertTrue(all(DEVICE_LOST in reply for reply in replies[:-1]), replies)
        self.assertRemoteWhenTheServerIsBack(program)

    def test_order_of_platforms_stays_when_the_server_has_died(self):
        program = self.program_that_works_remotely()
        self.server.kill()
        for _ in range(5):
            self.assertIn(DEVICE_LOST, program.execute("again"))
        self.assertRemoteWhenTheServerIsBack(program)

    def start(self, *options):
        """It works once by itself, and once more for each line."""
        environment = self.environment(**(self.settings("auto") | {"LD_PRELOAD": DROP_IN}))
        program = ScriptedClient(environment, self.program(), SIDE, *options)
        self.addCleanup(program.stop)
        return program


if __name__ == "__main__":
    main()
