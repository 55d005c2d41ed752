"""Which rights --user takes from the workers, and which it leaves to the server. Only root can change users."""

import os
import pwd
import shutil
import signal
from pathlib import Path

from certificates import Certificates
from support.options import SERVERD, main, skip
from support.processes import run
from support.remote import DEVICE_LOST, METRICS, RemoteTest, Server

NAME = "nobody"
FOREIGN_GROUPS = ("4", "24")  # that the server is started with
MOST_FILES = 4096


class WorkerUser(RemoteTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.user = pwd.getpwnam(NAME)
        cls.folder.chmod(0o755)
        cls.cache = cls.folder / "cache"
        cls.cache.mkdir()
        os.chown(cls.cache, cls.user.pw_uid, cls.user.pw_gid)
        cls.certificates = Certificates(cls.folder / "certificates")

    def setUp(self):
        super().setUp()
        self.state = self.own_folder() / "state"
        self.token = self.secret()

    def server_environment(self, **changes):
        """Drivers have to find a cache that is the user's."""
        environment = self.environment(**changes)
        del environment["POCL_CACHE_DIR"]
        return environment

    def start(self):
        """In groups that are not the user's, and with an open file that it has no use for."""
        return self.start_server(
            self.own_folder() / "server", "--user", NAME, "--state", self.state, "--token-file", self.token, *METRICS,
            environment=self.server_environment(XDG_CACHE_HOME=self.cache), tls=self.certificates.options(),
            prefix=["sh", "-c", f'exec 9<"{self.token}" && exec setpriv --groups {",".join(FOREIGN_GROUPS)} -- "$@"', "sh"])

    def connect(self, server):
        client = self.start_client(server.addresses["unix"], CLEAVE_REMOTE_TOKEN_FILE=self.token)
        self.assertEqual(client.execute("hold"), "held", server.text())
        return client

    def limits(self, worker):
        """The soft and the hard limit of each resource."""
        lines = Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
        return {line[:26].strip(): line[26:].split()[:2] for line in lines}

    def may_open_few_files(self, worker):
        return all(limit != "unlimited" and int(limit) <= MOST_FILES for limit in self.limits(worker)["Max open files"])

    def assertHasNoRights(self, worker):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        self.assertEqual(set(status["Uid"].split()), {str(self.user.pw_uid)})
        self.assertEqual(set(status["Gid"].split()), {str(self.user.pw_gid)})
        groups = {str(group) for group in os.getgrouplist(NAME, self.user.pw_gid)}
        self.assertEqual(set(status["Groups"].split()), groups)
        for kind in ("CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(int(status["NoNewPrivs"]), 1)
        self.assertEqual(self.limits(worker)["Max core file size"], ["0", "0"])
        self.assertTrue(self.may_open_few_files(worker))
        # The kernel gives root the files of a process that may not be dumped, nor inspected by its own user.
        self.assertEqual(os.stat(f"/proc/{worker}/environ").st_uid, 0)
        descriptors = [os.readlink(one) for one in Path(f"/proc/{worker}/fd").iterdir()]
        for secret in (self.token, self.certificates.server.with_suffix(".key")):
            self.assertNotIn(str(secret), descriptors)
        self.assertNotIn(str(self.state), "".join(descriptors))

    def may(self, access, path):
        """Whether the user may: -r or -w."""
        return run("test", access, path, user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[]).returncode == 0

    def test_workers_have_no_rights_and_work(self):
        server = self.start()
        client = self.connect(server)
        server.wait_for(lambda: len(server.workers()) == 2, "no spare worker")
        for worker in server.workers():  # one has the client, one has none yet
            # The last that it does before it loads the driver.
            server.wait_for(lambda one=worker: self.may_open_few_files(one), "it may open many files")
            self.assertHasNoRights(worker)
        self.assertEqual(client.execute("use"), "ok")
        state = list(self.state.iterdir())
        self.assertEqual([file.read_text() for file in state], ["1\n"])
        for path in (*state, self.state):
            self.assertFalse(self.may("-w", path), path)
        self.assertFalse(self.may("-r", self.token))
        self.assertFalse(self.may("-r", self.certificates.server.with_suffix(".key")))

    def test_server_keeps_the_rights_that_it_needs(self):
        server = self.start()
        first, second = self.connect(server), self.connect(server)
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(first.execute("use"), DEVICE_LOST)
        # New workers have the token and the key, and the count is written.
        self.assertEqual(first.execute("work"), "ok", server.text())
        self.assertEqual(second.execute("work"), "ok", server.text())
        server.wait_for(lambda: [file.read_text() for file in self.state.iterdir()] == ["2\n"], "a wrong count")
        server.stop()
        self.assertEqual(list(self.state.iterdir()), [])
        self.assertFalse(server.path.exists())

    def refusal(self, *options, prefix=()):
        """The one line of a server that refuses to start, from a copy that other users may execute."""
        daemon = self.own_folder() / "cleave-serverd"
        shutil.copy(SERVERD, daemon)
        done = run(*prefix, daemon, "--listen", f"unix:@cleave-{os.getpid()}", *options, environment=self.environment())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_unusable_user_is_named_at_start(self):
        self.assertIn('--user: there is no user "cleave-nobody-of-that-name"',
                      self.refusal("--user", "cleave-nobody-of-that-name"))
        self.assertIn('--user: not allowed to become "root"; only root is', self.refusal("--user", "root", prefix=[
            "setpriv", "--reuid", str(self.user.pw_uid), "--regid", str(self.user.pw_gid), "--clear-groups"]))

    def test_user_without_a_home_gets_a_hint_at_the_cache(self):
        if Path(self.user.pw_dir).exists():
            self.skipTest(f"{NAME} has a home")
        for environment, hint in ((self.server_environment(XDG_CACHE_HOME=self.cache), False), (self.environment(), False),
                                  (self.server_environment(), True)):
            server = Server(self.own_folder() / "server", environment, "--user", NAME)
            self.assertEqual("set XDG_CACHE_HOME" in server.text(), hint, server.text())
            server.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("only root can give a user to others")
    main()
