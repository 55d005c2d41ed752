"""A Slurm cluster on this machine, of a test's own: MUNGE, controller, accounting, and three nodes, with all that they write in
one folder. Needs no systemd, no control groups and no GPU: a node's GPU is a device file, and what computes is PoCL.

    cpu1         a node without GPUs, partition "cpu"
    gpu1, gpu2   nodes with a GPU of four shards, partition "gpu"
"""

import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from support.options import CLEAVE, LIBRARIES
from support.polling import wait_until
from support.processes import clean_environment, process_status

PLUGIN = LIBRARIES / "libcleave-spank.so"
NODES = ("cpu1", "gpu1", "gpu2")
SHARDS = 4  # of a GPU
GPU_MEMORY = 1 << 30  # as the site says
NODE_TIMEOUT = 10  # seconds after which a node that does not answer is down
PROGRAMS = {"munged": "munge", "munge": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "srun": "slurm-client",
            "slurmdbd": "slurmdbd", "mariadbd": "mariadb-server-core", "mariadb": "mariadb-client-core",
            "mariadb-install-db": "mariadb-server-core"}
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def missing():
    """A line on what is not there, or nothing."""
    absent = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program, path=_PATH)})
    if absent:
        return f"no Slurm: the packages {', '.join(absent)} are not installed (./quickstart test installs them)"
    if not PLUGIN.exists():
        return "the plugin for Slurm was not built: slurm/spank.h is missing (libslurm-dev)"
    return ""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Cluster:
    """Runs from start() to stop(). `environment` is for Slurm's commands, and becomes that of the jobs."""

    def __init__(self, folder, **environment):
        self.folder = Path(folder)
        self.folder.mkdir(mode=0o755)
        self.jobs = self.folder / "jobs"
        self.registry = self.folder / "registry"
        self.registry.mkdir(mode=0o1777)
        self.registry.chmod(0o1777)
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.environment = clean_environment(
            SLURM_CONF=self.folder / "slurm.conf", MYSQL_UNIX_PORT=self.folder / "database.socket", PATH=_PATH,
            CLEAVE_TEST_CLUSTER=self.folder, POCL_MAX_PTHREAD_COUNT=1, **environment)
        self.daemons = {}
        self.controller_port, self.accounting_port, *self.node_ports = free_ports(2 + len(NODES))

    # Configuration

    def configure(self):
        host = socket.gethostname().partition(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=16 CoresPerSocket=16 RealMemory=4000"
            + (f" Gres=gpu:1,shard:{SHARDS}" if name.startswith("gpu") else "")
            for name, port in zip(NODES, self.node_ports))
        self.write("slurm.conf", f"""
            ClusterName=test
            SlurmctldHost={host}(127.0.0.1)
            SlurmctldPort={self.controller_port}
            AuthType=auth/munge
            AuthInfo=socket={self.folder}/munge.socket
            SlurmUser={self.user}
            SlurmdUser={self.user}
            StateSaveLocation={self.folder}/state
            SlurmctldPidFile={self.folder}/slurmctld.pid
            SlurmdPidFile={self.folder}/slurmd.%n.pid
            SlurmdSpoolDir={self.folder}/spool.%n
            SlurmdParameters=config_overrides
            ProctrackType=proctrack/linuxproc
            TaskPlugin=task/none
            MpiDefault=none
            JobAcctGatherType=jobacct_gather/none
            SelectType=select/cons_tres
            SelectTypeParameters=CR_Core
            SchedulerParameters=bf_interval=1,sched_interval=1
            ReturnToService=2
            GresTypes=gpu,shard
            AccountingStorageType=accounting_storage/slurmdbd
            AccountingStorageHost=127.0.0.1
            AccountingStoragePort={self.accounting_port}
            AccountingStoragePass={self.folder}/munge.socket
            AccountingStorageTRES=gres/gpu,gres/shard
            PlugStackConfig={self.folder}/plugstack.conf
            KillWait=2
            InactiveLimit=10
            SlurmctldTimeout={NODE_TIMEOUT}
            SlurmdTimeout={NODE_TIMEOUT}
            {nodes}
            PartitionName=cpu Nodes=cpu1 Default=YES
            PartitionName=gpu Nodes=gpu1,gpu2
            """)
        self.write("gres.conf", f"""
            NodeName=gpu1,gpu2 Name=gpu File=/dev/null
            NodeName=gpu1,gpu2 Name=shard Count={SHARDS}
            """)
        self.write("slurmdbd.conf", f"""
            AuthType=auth/munge
            AuthInfo=socket={self.folder}/munge.socket
            DbdHost=localhost
            DbdAddr=127.0.0.1
            DbdPort={self.accounting_port}
            SlurmUser={self.user}
            PidFile={self.folder}/slurmdbd.pid
            StorageType=accounting_storage/mysql
            StorageHost=localhost
            StorageUser={self.user}
            StorageLoc=accounting
            """)
        (self.folder / "slurmdbd.conf").chmod(0o600)
        self.set_plugin()

    def write(self, name, text):
        """At once: the daemons may read it meanwhile."""
        new = self.folder / f"{name}.new"
        new.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
        new.replace(self.folder / name)

    def set_plugin(self, words=None):
        """The one line of plugstack.conf. Whether there is a prolog, slurmd reads at its start; all else, each job."""
        usual = (f"shards={SHARDS} memory={GPU_MEMORY} turns=on jobs={self.jobs} registry={self.registry} "
                 "libraries=" + str(LIBRARIES))
        self.write("plugstack.conf", f"required {PLUGIN} {usual if words is None else words}")

    # Daemons

    def daemon(self, name, *command, **changes):
        log = (self.folder / f"{name}.log").open("a")
        with log:
            self.daemons[name] = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, start_new_session=True,
                                                  env={**self.environment, **changes})

    def start(self):
        self.configure()
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        munge = [f"--{name}={self.folder}/munge{end}" for name, end in (
            ("key-file", ".key"), ("socket", ".socket"), ("pid-file", ".pid"), ("seed-file", ".seed"))]
        self.daemon("munged", "munged", "--foreground", "--force", *munge)
        self.start_database()
        self.wait_for("munged", lambda: (self.folder / "munge.socket").exists())
        self.daemon("slurmdbd", "slurmdbd", "-D")
        self.wait_for("slurmdbd", lambda: self.answers("sacctmgr", "-n", "show", "cluster"))
        self.command("sacctmgr", "-i", "add", "cluster", "test")
        self.daemon("slurmctld", "slurmctld", "-D", "-c")
        for name in NODES:
            self.start_node(name)
        self.wait_until_idle()

    def start_database(self):
        data = self.folder / "database"
        options = ["--no-defaults", f"--datadir={data}"]
        self.command("mariadb-install-db", *options, f"--user={self.user}", "--skip-test-db", "--skip-name-resolve",
                     "--auth-root-authentication-method=normal", f"--auth-root-socket-user={self.user}")
        self.daemon("mariadbd", "mariadbd", *options, f"--socket={self.folder}/database.socket", "--skip-networking",
                    f"--user={self.user}", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
                    "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin", f"--pid-file={self.folder}/database.pid")
        client = ("mariadb", "--no-defaults", f"--socket={self.folder}/database.socket", "--user=root")
        self.wait_for("mariadbd", lambda: self.answers(*client, "-e", "select 1"))
        self.command(*client, "-e", "create database accounting; create user if not exists "
                     f"'{self.user}'@'localhost'; grant all on accounting.* to '{self.user}'@'localhost'")

    def start_node(self, name):
        self.daemon(name, "slurmd", "-D", "-N", name)

    def wait_for(self, name, condition):
        def is_met():
            if self.daemons[name].poll() is not None:
                raise AssertionError(f"{name} has ended\n{self.log(name)}")
            return condition()

        wait_until(is_met, lambda: f"{name} does not start\n{self.log(name)}")

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def logs(self):
        return "\n".join(f"== {name}\n{self.log(name)}" for name in self.daemons)

    def stop(self):
        if "slurmctld" in self.daemons:
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                self.command("scancel", f"--user={self.user}", "--signal=KILL")
        for name in reversed(list(self.daemons)):
            self.daemons[name].terminate()
        for process in self.daemons.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    # Use

    def run(self, *command, timeout=120, **changes):
        return subprocess.run([str(word) for word in command], env={**self.environment, **changes}, capture_output=True,
                              text=True, timeout=timeout, stdin=subprocess.DEVNULL, cwd=self.folder, check=False)

    def start_command(self, *command, **changes):
        return subprocess.Popen([str(word) for word in command], env={**self.environment, **changes}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder)

    def answers(self, *command):
        return self.run(*command).returncode == 0

    def command(self, *command, **changes):
        """One that must succeed; returns its output."""
        done = self.run(*command, **changes)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.logs()}")
        return done.stdout

    def states(self):
        """Of the nodes, by name."""
        return dict(line.split() for line in self.command("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def wait_until_idle(self):
        """No job is left, nor does any node have anything to do or anything booked."""
        wait_until(lambda: not self.command("squeue", "-h") and set(self.states().values()) == {"idle"},
                   lambda: f"{self.states()}\n{self.command('squeue')}\n{self.logs()}", timeout=120)

    def wait_until_runs(self, job):
        wait_until(lambda: self.run("squeue", "-h", "-j", job, "-o", "%T").stdout.strip() == "RUNNING",
                   lambda: f"{self.command('squeue')}\n{self.logs()}")

    def account(self, job, *fields):
        """The fields of a job's row in sacct, once it has ended there."""
        row = []

        def has_ended():
            out = self.command("sacct", "-X", "-n", "-P", "-j", job, "-o", ",".join(("State", "End", *fields)))
            row[:] = out.splitlines()[0].split("|") if out else []
            return bool(row) and row[1] != "Unknown"

        wait_until(has_ended, lambda: f"job {job} has not ended: {row}")
        return [row[0], *row[2:]]

    def booked(self):
        """What the nodes have allocated, besides nothing."""
        return re.findall(r"AllocTRES=(\S+)", self.command("scontrol", "show", "nodes"))

    def processes(self):
        """Those of jobs, and of steps' daemons: all that have this cluster in their environment."""
        mark = f"CLEAVE_TEST_CLUSTER={self.folder}\0".encode()
        daemons = {process.pid for process in self.daemons.values()}
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in daemons:
                with contextlib.suppress(OSError):
                    is_controllers = b"slurmscriptd" in (entry / "cmdline").read_bytes()
                    if mark in (entry / "environ").read_bytes() and not is_controllers:
                        found.append(int(entry.name))
        return found

    def kill_node(self, name):
        """As when it loses its power: its slurmd, the steps there, and all of their processes."""
        mark = f"SLURMD_NODENAME={name}\0".encode()
        self.daemons[name].kill()
        self.daemons[name].wait()
        # First the steps' daemons, which would tell others of the end of their tasks.
        for process in self.processes():
            with contextlib.suppress(OSError, TypeError):
                parent = process_status(process)[1]
                is_step = b"slurmstepd" in Path(f"/proc/{parent}/cmdline").read_bytes()
                if is_step and mark in Path(f"/proc/{process}/environ").read_bytes():
                    os.kill(int(parent), signal.SIGKILL)
        for process in self.processes():
            with contextlib.suppress(OSError):
                environment = Path(f"/proc/{process}/environ").read_bytes()
                if mark in environment:
                    os.kill(process, signal.SIGKILL)
                    # /run is empty when a node starts again.
                    for folder in re.findall(rb"CLEAVE_SLURM_FOLDER=([^\0]+)/user\0", environment):
                        shutil.rmtree(folder.decode(), ignore_errors=True)


def slurm_run(*options):
    """The words of `cleave slurm run` on this cluster, up to the program."""
    return [CLEAVE, "slurm", "run", "--partition=cpu", "--gpu-partition=gpu", "--check=2", *options, "--"]
