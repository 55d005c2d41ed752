"""What --user takes from the workers, and leaves to the server. Only root can give a user to others."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from certificates import Certificates
from compare import OPTIONS, ComparedTest, main
from serving import SERVERD, Obedient, Server, client_variables

SKIPPED = 77  # what CMakeLists.txt tells ctest
NAME = "nobody"
STRANGE = ("4", "24")  # groups that the server is started with
MOST_FILES = 4096


class AsAUser(ComparedTest):
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
        self.where = self.folder / self.id().rpartition(".")[2]
        self.where.mkdir()
        self.state = self.where / "state"
        self.token = self.where / "token"
        self.token.write_text("a token of this test\n")
        self.token.chmod(0o600)

    def variables(self):
        """Drivers have to find a place that is the user's."""
        environment = self.environment(XDG_CACHE_HOME=self.cache)
        del environment["POCL_CACHE_DIR"]
        return environment

    def start(self):
        """In groups that are none of the user's, and with a file open that is none of its business."""
        server = Server(
            self.where / "server", self.variables(), "--user", NAME, "--state", self.state, "--token-file", self.token,
            "--metrics", "tcp:127.0.0.1:0", tls=self.certificates.options(),
            prefix=["sh", "-c", f'exec 9<"{self.token}" && exec setpriv --groups {",".join(STRANGE)} -- "$@"', "sh"])
        self.addCleanup(server.end)
        return server

    def begin(self, server):
        client = Obedient(OPTIONS.programs / "obedient", self.environment(), CLEAVE_REMOTE_TOKEN_FILE=self.token,
                          **client_variables(self.folder, server.addresses["unix"], 20))
        self.addCleanup(client.end)
        self.assertEqual(client.ask("hold"), "held", server.log.read_text())
        return client

    def limits(self, worker):
        """The soft and the hard one of each kind."""
        lines = Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
        return {line[:26].strip(): line[26:].split()[:2] for line in lines}

    def assertGaveUpAll(self, worker):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        self.assertEqual(set(status["Uid"].split()), {str(self.user.pw_uid)})
        self.assertEqual(set(status["Gid"].split()), {str(self.user.pw_gid)})
        groups = {str(group) for group in os.getgrouplist(NAME, self.user.pw_gid)}
        self.assertEqual(set(status["Groups"].split()), groups)
        for kind in ("CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(int(status["NoNewPrivs"]), 1)
        limits = self.limits(worker)
        self.assertEqual(limits["Max core file size"], ["0", "0"])
        for limit in limits["Max open files"]:
            self.assertLessEqual(int(limit), MOST_FILES)
        # The kernel gives root what belongs to a process that may not be dumped, or looked into by its own user.
        self.assertEqual(os.stat(f"/proc/{worker}/environ").st_uid, 0)
        try:
            descriptors = [os.readlink(one) for one in Path(f"/proc/{worker}/fd").iterdir()]
        except PermissionError:
            print("this root may not see which files others have open")
            return
        for secret in (self.token, self.certificates.server.with_suffix(".key")):
            self.assertNotIn(str(secret), descriptors)

    def may(self, what, path):
        """Whether the user may: -r or -w."""
        return subprocess.run(["test", what, path], user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[],
                              check=False).returncode == 0

    def test_workers_give_up_all_and_work(self):
        server = self.start()
        client = self.begin(server)
        came = re.search(r"came \(process (\d+)\)", server.log.read_text())
        self.assertGaveUpAll(int(came.group(1)))
        self.assertEqual(client.ask("hold"), "held", server.log.read_text())
        return client

    def limits(self, worker):
        """The soft and the hard one of each kind."""
        lines = Path(f"/proc/{worker}/limits").read_text().splitlines()[1:]
        return {line[:26].strip(): line[26:].split()[:2] for line in lines}

    def has_few_files(self, worker):
        return all(limit != "unlimited" and int(limit) <= MOST_FILES for limit in self.limits(worker)["Max open files"])

    def assertGaveUpAll(self, worker):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        self.assertEqual(set(status["Uid"].split()), {str(self.user.pw_uid)})
        self.assertEqual(set(status["Gid"].split()), {str(self.user.pw_gid)})
        groups = {str(group) for group in os.getgrouplist(NAME, self.user.pw_gid)}
        self.assertEqual(set(status["Groups"].split()), groups)
        for kind in ("CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(int(status["NoNewPrivs"]), 1)
        limits = self.limits(worker)
        self.assertEqual(limits["Max core file size"], ["0", "0"])
        for limit in limits["Max open files"]:
            self.assertLessEqual(int(limit), MOST_FILES)
        # The kernel gives root what belongs to a process that may not be dumped, or looked into by its own user.
        self.assertEqual(os.stat(f"/proc/{worker}/environ").st_uid, 0)
        descriptors = [os.readlink(one) for one in Path(f"/proc/{worker}/fd").iterdir()]
        for secret in (self.token, self.certificates.server.with_suffix(".key")):
            self.assertNotIn(str(secret), descriptors)
        self.assertNotIn(str(self.state), "".join(descriptors))

    def may(self, what, path):
        """Whether the user may: -r or -w."""
        return subprocess.run(["test", what, path], user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[],
                              check=False).returncode == 0

    def test_workers_give_up_all_and_work(self):
        server = self.start()
        client = self.begin(server)
        server.wait_for(lambda: len(server.workers()) == 2, "no spare")
        for worker in server.workers():  # one has the client, one has none yet
            # The last that it does before it loads the driver.
            server.wait_for(lambda one=worker: self.has_few_files(one), "it may open many")
            self.assertGaveUpAll(worker)
        self.assertEqual(client.ask("use"), "right")
        state = list(self.state.iterdir())
        self.assertEqual([file.read_text() for file in state], ["1\n"])
        for path in (*state, self.state):
            self.assertFalse(self.may("-w", path), path)
        self.assertFalse(self.may("-r", self.token))
        self.assertFalse(self.may("-r", self.certificates.server.with_suffix(".key")))

    def test_the_server_keeps_what_it_needs(self):
        server = self.start()
        first, second = self.begin(server), self.begin(server)
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(first.ask("use"), "error -2")
        # New workers have the token and the key, and the count is written.
        self.assertEqual(first.ask("work"), "right", server.log.read_text())
        self.assertEqual(second.ask("work"), "right", server.log.read_text())
        server.wait_for(lambda: [file.read_text() for file in self.state.iterdir()] == ["2\n"], "a wrong count")
        server.end()
        self.assertEqual(list(self.state.iterdir()), [])
        self.assertFalse(server.path.exists())

    def mistake(self, *options, prefix=()):
        """Of a server that others may start."""
        daemon = self.where / "cleave-serverd"
        shutil.copy(SERVERD, daemon)
        done = subprocess.run([*prefix, daemon, "--listen", f"unix:@cleave-{os.getpid()}", *options], env=self.environment(),
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_whoever_cannot_be_become_is_named_at_the_start(self):
        self.assertIn('--user: there is no user "cleave-nobody-of-that-name"',
                      self.mistake("--user", "cleave-nobody-of-that-name"))
        self.assertIn('--user: not allowed to become "root"; only root is', self.mistake("--user", "root", prefix=[
            "setpriv", "--reuid", str(self.user.pw_uid), "--regid", str(self.user.pw_gid), "--clear-groups"]))

    def test_a_user_without_a_home_is_told_of_the_cache(self):
        if Path(self.user.pw_dir).exists():
            self.skipTest(f"{NAME} has a home")
        for variables, said in ((self.variables(), False), (self.environment(), False), (self.bare(), True)):
            server = Server(self.where / "server", variables, "--user", NAME)
            self.assertEqual("set XDG_CACHE_HOME" in server.log.read_text(), said, server.log.read_text())
            server.end()

    def bare(self):
        environment = self.environment()
        del environment["POCL_CACHE_DIR"]
        return environment


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: only root can give a user to others")
        sys.exit(SKIPPED)
    main()
