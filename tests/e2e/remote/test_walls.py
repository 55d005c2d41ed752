"""What a kernel that runs as native code in its worker can reach, and what is left of it when its client has gone. The kernel
makes system calls (native_kernel.py)."""

import contextlib
import errno
import json
import os
import platform
import pwd
import re
import secrets
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.options import SERVERD, main, skip
from support.processes import clean_environment, command_line, processes_of_session, require_installed, run, wait_until
from support.programs import PYTHON
from support.remote import METRICS, RemoteTest, Server

KERNEL = Path(__file__).with_name("native_kernel.py")
READ, WRITE, OPEN, SOCKET, GETUID, PTRACE, UNSHARE, FALLOCATE, FTRUNCATE, MKDIR, KILL, GETRLIMIT, PRCTL, SETSID = (
    0, 1, 2, 41, 102, 101, 272, 285, 77, 83, 62, 97, 157, 112)
WRITE_NEW = os.O_WRONLY | os.O_CREAT
NPROC = 6
DISK = 32 << 20  # bytes
LARGEST_RANGE = 64 << 20  # bytes of a mapping that are searched; the rest of larger ones is not in use
FIRST_USER, LAST_USER = 812000, 812019
IS_ROOT = os.geteuid() == 0


def missing_sandbox():
    """Why there can be no sandbox here; empty if there can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    done = run("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true")
    return done.stderr.strip()


class Kernel:
    """A client whose kernel makes system calls."""

    def __init__(self, environment):
        self.process = subprocess.Popen([PYTHON, KERNEL], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError(self.process.communicate()[1])

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        return json.loads(line)

    def call(self, number, *arguments):
        """The result, or the negative number of an error."""
        return self.ask([number, *arguments])[0]

    def can_open(self, path):
        return self.call(OPEN, f"{path}\0", os.O_RDONLY) >= 0

    def text_of(self, path):
        file = self.call(OPEN, f"{path}\0", os.O_RDONLY)
        text = ""
        while (answer := self.ask([READ, file, "\0" * 4096, 4096]))[0] > 0:
            text += answer[1][2][:answer[0]]
        return text

    def own_memory(self):
        """The ranges of its process's memory that can be read."""
        ranges = []
        for line in self.text_of("/proc/self/maps").splitlines():
            place, rights = line.split()[:2]
            begin, end = (int(address, 16) for address in place.split("-"))
            if rights[0] == "r" and "[v" not in line:
                ranges.append((begin, min(end, begin + LARGEST_RANGE)))
        return ranges

    def find(self, texts, ranges):
        """Which of these are in its process's memory."""
        found = self.ask({"find": [bytes(~byte & 0xff for byte in text).hex() for text in texts], "in": ranges})
        return [text for i, text in enumerate(texts) if found >> i & 1]

    def kill(self):
        self.process.kill()
        self.process.communicate()


def descendants(process):
    """Of the tree below a process, by the host's numbers."""
    children = Path(f"/proc/{process}/task/{process}/children")
    found = []
    for child in map(int, children.read_text().split() if children.exists() else []):
        found += [child, *descendants(child)]
    return found


def is_alive(process):
    return Path(f"/proc/{process}").exists()


def memory_of(process):
    """All that can be read of it."""
    found = b""
    with open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            begin, end = (int(address, 16) for address in line.split()[0].split("-"))
            if " r" in line and "[v" not in line:
                with contextlib.suppress(OSError):
                    memory.seek(begin)
                    found += memory.read(min(end - begin, LARGEST_RANGE))
    return found


class Walls(RemoteTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.temporary = self.own_folder() / "temporary"
        self.temporary.mkdir()
        self.temporary.chmod(0o777)
        self.registry = self.own_folder() / "registry"

    def serve(self, *options, user="nobody", tls=()):
        who = ["--user", user] if IS_ROOT else []
        return self.start_server(self.own_folder() / "server", *who, "--max-clients", 1, *METRICS, *options,
                                 environment=self.environment(TMPDIR=self.temporary, POCL_CACHE_DIR=self.temporary / "kernels",
                                                              CLEAVE_REGISTRY=self.registry, CLEAVE_TURNS="on"),
                                 tls=tls)

    def attack(self, server):
        kernel = Kernel(self.client_environment(server.addresses["unix"]))
        self.addCleanup(kernel.kill)
        return kernel

    def serve_sandboxed(self):
        seed = self.own_folder() / "seed"
        (seed / "pocl").mkdir(parents=True)
        (seed / "pocl/of-the-seed").write_text("")
        return self.serve("--sandbox", "on", "--cache-seed", seed, "--disk-per-client", DISK, "--processes-per-client", 200,
                          *(["--user-range", f"{FIRST_USER}-{LAST_USER}"] if IS_ROOT else []))

    def planted(self):
        """Files that every user may read: the folder for temporary files, and where the system allows it those of users."""
        for folder in ("/tmp", "/var/tmp", "/home", "/root", "/dev/shm"):
            if os.access(folder, os.W_OK):
                with tempfile.NamedTemporaryFile(dir=folder, prefix="cleave-planted-") as file:
                    os.fchmod(file.fileno(), 0o644)
                    yield file.name

    def assertSees(self, kernel, server):
        """Nothing of others."""
        for path in self.planted():
            self.assertFalse(kernel.can_open(path), path)
        for process in (server.process.pid, os.getpid()):
            self.assertFalse(kernel.can_open(f"/proc/{process}/status"), process)
            self.assertEqual(kernel.call(KILL, process, 0), -errno.ESRCH, process)
        self.assertFalse(kernel.can_open(server.log))
        self.assertTrue(kernel.can_open("/tmp/cache/pocl/of-the-seed"))
        self.assertTrue(kernel.can_open("/proc/self/status"))

    def assertChanges(self, kernel):
        """Nothing of the system, and no more of its own folder than it has been given."""
        for folder in ("/usr", "/etc", "/dev", "/run", "/home", "/"):
            self.assertEqual(kernel.call(OPEN, f"{folder}/cleave-was-here\0", WRITE_NEW, 0o600), -errno.EROFS, folder)
        # In place of what another tenant has compiled.
        for name in ("of-the-seed", "planted"):
            self.assertGreaterEqual(kernel.call(OPEN, f"/tmp/cache/pocl/{name}\0", WRITE_NEW | os.O_TRUNC, 0o600), 0)
        self.assertEqual([*(self.own_folder().parent).rglob("planted")], [])
        file = kernel.call(OPEN, "/tmp/cleave-large\0", WRITE_NEW, 0o600)
        self.assertGreaterEqual(file, 0)
        self.assertEqual(kernel.call(FALLOCATE, file, 0, 0, DISK // 2), 0)
        self.assertEqual(kernel.call(FALLOCATE, file, 0, 0, 2 * DISK), -errno.ENOSPC)
        self.assertEqual([path for path in Path("/tmp").glob("cleave-large*")], [])

    def assertWritesToItsOwn(self, kernel):
        """Whatever can be written is memory of its own, but for device files."""
        for line in kernel.text_of("/proc/self/mountinfo").splitlines():
            mount, _, kind = line.partition(" - ")
            root, place, options = mount.split()[3:6]
            is_own = kind.split()[0] in ("proc", "devpts", "mqueue") or (kind.split()[0] == "tmpfs" and root == "/")
            is_device = re.fullmatch(r"/dev/[^/]+", place) is not None
            self.assertTrue("ro" in options.split(",") or is_own or is_device, line)

    def assertKeepsItsLog(self, kernel, server):
        """What it does to its standard error leaves the server's log as it is, but for lines that say whose they are."""
        before = server.log.read_bytes()
        self.assertEqual(kernel.call(FTRUNCATE, 2, 0), -errno.EINVAL)
        self.assertEqual(kernel.call(FALLOCATE, 2, 0, 0, 1 << 20), -errno.ESPIPE)
        text = "\xc2\x9b31m\xe2\x80\xae\x1b]0;title\x07\ncleave-serverd: client of another: forged\n"
        self.assertEqual(kernel.call(WRITE, 2, text, len(text)), len(text))
        for _ in range(200):
            self.assertEqual(kernel.call(WRITE, 2, "more\n", 5), 5)
        server.wait_for_log(": forged\n")
        after = server.log.read_bytes()
        self.assertEqual(after[:len(before)], before)
        self.assertEqual({byte for byte in after if byte >= 127 or byte < 32 and byte != 10}, set())
        said = after[len(before):].decode().splitlines()
        self.assertEqual([line for line in said if not re.match(r"cleave-serverd: worker \d+: ", line)], [])
        self.assertIn("cleave-serverd: client of another: forged",
                      [line.split(": ", 2)[2] for line in said])
        self.assertIn("?31m??]0;title?", [line.split(": ", 2)[2] for line in said])

    def assertTakesTurnsUnseen(self, kernel):
        """It is in the registry, in which it sees nothing and leaves nothing."""
        names = ("turns-*", "*.????????????????")
        wait_until(lambda: all([*self.registry.glob(name)] for name in names), "it takes no part")
        for path in self.registry.iterdir():
            self.assertFalse(kernel.can_open(path), path)
        self.assertLess(kernel.call(OPEN, f"{self.registry}/planted\0", WRITE_NEW, 0o600), 0)
        self.assertFalse((self.registry / "planted").exists())

    def assertMayCall(self, kernel):
        """No call that leads out."""
        for number, *arguments in ((SOCKET, 2, 1, 0), (SOCKET, 16, 3, 0), (PTRACE, 0, 0, 0, 0), (UNSHARE, 0x10000000),
                                   (UNSHARE, 0x00020000), (PRCTL, 1, 0), (SETSID,)):
            self.assertEqual(kernel.call(number, *arguments), -errno.EPERM, (number, arguments))
        self.assertGreaterEqual(kernel.call(SOCKET, 1, 1, 0), 0, "unix sockets are drivers'")
        self.assertEqual(kernel.call(UNSHARE, 0x200), 0, "builds have a current folder of their own")

    @unittest.skipIf(missing_sandbox(), f"no sandbox: {missing_sandbox()}")
    def test_kernel_in_a_sandbox_reaches_nothing(self):
        server = self.serve_sandboxed()
        kernel = self.attack(server)
        user = kernel.call(GETUID)
        if IS_ROOT:
            self.assertTrue(FIRST_USER <= user <= LAST_USER, user)
        _, limits = kernel.ask([GETRLIMIT, NPROC, "\0" * 16])
        self.assertEqual(struct.unpack("q", limits[2][:8].encode("latin-1"))[0], 200)
        self.assertSees(kernel, server)
        self.assertChanges(kernel)
        self.assertWritesToItsOwn(kernel)
        self.assertTakesTurnsUnseen(kernel)
        self.assertMayCall(kernel)
        self.assertKeepsItsLog(kernel, server)
        # A child keeps all that its parent had, and is killed with it; the only place is free again.
        self.assertGreater(kernel.ask("fork")[0], 0)
        inside = descendants(server.workers()[0]) + descendants(server.workers()[-1])
        kernel.kill()
        server.wait_for(lambda: server.metric("clients") == 0, "the client still has its place")
        second = self.attack(server)
        spare = {one for worker in server.workers() for one in descendants(worker)}
        wait_until(lambda: not any(is_alive(one) for one in {*inside} - spare), "its processes are alive")
        for left in ("/tmp/cleave-large", "/tmp/cache/pocl/planted"):
            self.assertFalse(second.can_open(left), f"{left}: of the client before")
        # One that does not notice that its client has gone.
        worker = next(one for one in server.workers() if f"(process {one})" in server.text())
        wait_until(lambda: len(descendants(worker)) == 1, "the process that has tried its build does not end")
        os.kill(descendants(worker)[0], signal.SIGSTOP)
        second.kill()
        server.wait_for(lambda: server.metric("clients") == 0, "the client still has its place")
        self.assertEqual(server.left_in(self.temporary), [])

    def test_kernel_without_a_sandbox_leaves_nothing(self):
        server = self.serve("--sandbox", "off")
        kernel = self.attack(server)
        self.assertMayCall(kernel)
        self.assertKeepsItsLog(kernel, server)
        child = kernel.ask("fork")[0]
        self.assertTrue(is_alive(child))
        outside = self.own_folder() / "outside"
        outside.write_text("")
        for folder in self.temporary.glob("cleave-worker.*"):
            deep = folder / "a" / "b" / "c"
            deep.mkdir(parents=True)
            (deep / "link").symlink_to(outside)
            (folder / "folder").symlink_to(self.own_folder())
            deep.chmod(0)
            for path in (folder / "a", folder / "a" / "b", deep):
                os.chown(path, folder.stat().st_uid, folder.stat().st_gid)
        kernel.kill()
        server.wait_for(lambda: server.metric("clients") == 0, "the client still has its place")
        wait_until(lambda: not is_alive(child), "its child is alive")
        server.stop()
        self.assertEqual([path for path in self.temporary.iterdir() if path.name != "kernels"], [])
        self.assertTrue(outside.exists())

    def test_kernel_finds_no_secret_in_its_worker(self):
        """It reads all of its process's memory, and knows what it looks for."""
        folder = self.own_folder()
        mine, other = (f"planted-token-{secrets.token_hex(12)}" for _ in range(2))
        tokens = self.secret(f"{mine}\n{other}\n", "tokens")
        key, certificate = folder / "server.key", folder / "server.pem"
        openssl = require_installed("openssl", "openssl")
        done = run(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=server", "-addext",
                   "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
        self.assertEqual(done.returncode, 0, done.stderr)
        listing = run(openssl, "rsa", "-in", key, "-noout", "-text").stdout
        primes = [bytes.fromhex(re.sub(r"[\s:]", "", found)).lstrip(b"\0")
                  for found in re.findall(r"prime[12]:\s([0-9a-f:\s]+?)\n(?=\w)", listing)]
        self.assertEqual([len(prime) for prime in primes], [128, 128])
        server = self.serve("--sandbox", "off", "--token-file", tokens,
                            tls=("--tls-cert", certificate, "--tls-key", key))
        token = self.secret(f"{mine}\n")
        kernel = Kernel(self.client_environment(server.addresses["tls"], CLEAVE_REMOTE_CA=certificate,
                                                CLEAVE_REMOTE_TOKEN_FILE=token))
        self.addCleanup(kernel.kill)
        # Numbers are kept as they are written, or the other way round.
        wanted = [mine.encode(), other.encode(), *primes, *(prime[::-1] for prime in primes)]
        ranges = kernel.own_memory()
        known = [b"kernel void find("]
        self.assertEqual(kernel.find(known, ranges), known, "the search finds nothing")
        self.assertEqual(kernel.find(wanted, ranges), [])
        if IS_ROOT:
            front = memory_of(next(one for one in processes_of_session(server.process.pid) if "--front" in command_line(one)))
            self.assertIn(other.encode(), front)
            self.assertTrue(all(prime[::-1] in front for prime in primes), "the front has the key")

    def test_start_says_which_wall_is_missing(self):
        environment = self.environment(PATH=str(self.own_folder()))
        who = ["--user", "nobody"] if IS_ROOT else []
        server = Server(self.own_folder() / "server", environment, *who, "--sandbox", "auto")
        self.addCleanup(server.stop)
        server.wait_for_log("workers have no sandbox: bwrap is not installed")
        refused = self.refusal("--sandbox", "on", *who, environment=environment)
        self.assertIn("--sandbox: no sandbox: bwrap is not installed", refused)

    @unittest.skipIf(missing_sandbox(), f"no sandbox: {missing_sandbox()}")
    def test_driver_that_lacks_something_inside_is_not_lost(self):
        folder = self.own_folder()
        bwrap = folder / "bwrap"
        bwrap.write_text(f'#!/bin/sh\nexec {shutil.which("bwrap")} --setenv OCL_ICD_VENDORS /nowhere/ "$@"\n')
        bwrap.chmod(0o755)
        who = ["--user", "nobody"] if IS_ROOT else []
        environment = self.environment(PATH=f"{folder}:{os.environ['PATH']}")
        server = Server(folder / "server", environment, *who, "--sandbox", "auto")
        self.addCleanup(server.stop)
        server.wait_for_log("workers have no sandbox: the driver offers 0 devices in it and 1 outside")
        self.assertIn("the driver offers 0 devices", self.refusal("--sandbox", "on", *who, environment=environment))

    def refusal(self, *options, environment=None):
        done = run(SERVERD, "--listen", f"unix:@cleave-{os.getpid()}", *options,
                   environment=environment or clean_environment(), timeout=20)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    @unittest.skipUnless(IS_ROOT, "only root may become others")
    def test_root_must_name_a_user(self):
        self.assertIn("--user: the server is root; name another user for its workers, or say --user root", self.refusal())
        taken = pwd.getpwnam("daemon").pw_uid
        for users, problem in ((f"{taken}-{taken + 40}", "is in it"), ("812000-812003", "has fewer users")):
            self.assertIn(problem, self.refusal("--user", "nobody", "--user-range", users))


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        skip("the kernel makes system calls of x86-64")
    main()
