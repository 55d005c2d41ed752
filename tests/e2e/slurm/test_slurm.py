"""Slurm itself, with the plugin and `cleave slurm`, on a cluster of the test's own (cluster.py).

CLEAVE_TEST_JOBS=200 makes it the whole test: as many jobs at random, and the time limit, which takes Slurm more than a minute.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

import cluster as slurm
from support.options import CLEAVE, OPTIONS, main, skip
from support.polling import wait_until
from support.processes import cleave, clean_environment

JOBS = int(os.environ.get("CLEAVE_TEST_JOBS", "16"))
IS_WHOLE = JOBS >= 100
SEED = int(os.environ.get("CLEAVE_TEST_SEED", str(random.randrange(1 << 31))))
NODE_DEATH = 120  # seconds within which a job whose node has died is to end; Slurm needs half a minute to notice
TURN_TAKER = OPTIONS.programs.parent / "turns" / "turn_taker"
BUFFER_TAKER = OPTIONS.programs / "buffer_taker"

if slurm.missing():
    skip(slurm.missing())


def variables(text):
    return dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)


class SlurmTest(unittest.TestCase):
    longMessage = True
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cleave-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.no_drivers = Path(folder.name) / "no-drivers"
        cls.no_drivers.mkdir()
        cls.cluster = slurm.Cluster(Path(folder.name) / "cluster", HOME=folder.name)
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def setUp(self):
        self.addCleanup(self.expect_nothing_left)  # after all other cleanups

    def expect_nothing_left(self):
        """Whatever a job was and however it ended, nothing of it is left."""
        for name in slurm.NODES:
            if self.cluster.daemons[name].poll() is not None:
                self.cluster.start_node(name)
        self.cluster.wait_until_idle()
        wait_until(lambda: not self.cluster.processes(), self.leftovers)
        self.assertEqual(self.cluster.booked(), [])
        wait_until(lambda: not list(self.cluster.jobs.glob("*")), self.cluster.logs)  # the epilog may still run
        self.assertEqual(sorted((self.cluster.folder.parent / ".cache/cleave").glob("slurm-*")), [])

    def leftovers(self):
        return [Path(f"/proc/{process}/cmdline").read_bytes() for process in self.cluster.processes()]

    def srun(self, *words, partition="gpu", **changes):
        return self.cluster.run("srun", f"--partition={partition}", *words, **changes)

    def environment_of(self, *words, **changes):
        done = self.srun(*words, "env", **changes)
        self.assertEqual(done.returncode, 0, done.stderr)
        return variables(done.stdout), done.stderr

    def shared_devices(self):
        environment = clean_environment(CLEAVE_REGISTRY=self.cluster.registry)
        return json.loads(cleave("top", "--once", "--json", environment=environment).stdout)["devices"]

    # The plugin

    def test_shards_become_settings_that_the_user_cannot_change(self):
        found, errors = self.environment_of("--gres=shard:3", CLEAVE_WEIGHT="10000", CLEAVE_DISABLE="true",
                                            SLURM_SHARDS_ON_NODE="1")
        self.assertEqual(errors, "")
        self.assertEqual({name: found.get(f"CLEAVE_{name}") for name in (
            "WEIGHT", "DISABLE", "CAP", "MEMORY_LIMIT", "PRIORITY", "TURNS")},
            {"WEIGHT": "300", "DISABLE": "false", "CAP": "99.9%", "PRIORITY": "normal", "TURNS": "on",
             "MEMORY_LIMIT": str(slurm.GPU_MEMORY * 3 // 4)})
        self.assertRegex(found["CLEAVE_TENANT"], r"^slurm-\d+\.0$")
        self.assertIn("libOpenCL.so.1", found["LD_PRELOAD"])

    def test_jobs_without_shards_are_left_alone(self):
        for words, changes in (((), {"SLURM_SHARDS_ON_NODE": "4"}), (("--gres=gpu:1",), {})):
            found, errors = self.environment_of(*words, **changes)
            self.assertEqual((found.get("CLEAVE_WEIGHT"), found.get("LD_PRELOAD"), errors), (None, None, ""), words)

    def test_options_are_granted_as_far_as_the_site_allows(self):
        found, errors = self.environment_of("--gres=shard:1", "--cleave-priority=high", "--cleave=off")
        self.assertEqual(found["CLEAVE_PRIORITY"], "normal")
        self.assertIn("cleave: --cleave-priority=high is more than this site allows; it is normal", errors)
        self.assertIn("cleave: --cleave=off is not allowed by this site, and is ignored", errors)
        done = self.srun("--gres=shard:1", "--cleave-priority=urgent", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Invalid --cleave-priority argument: urgent", done.stderr)

    def test_batch_steps_have_what_their_shards_are(self):
        script = self.cluster.folder / "batch"
        script.write_text("#!/bin/sh\nenv\necho\nsrun --gres=shard:1 env\n")
        out = self.cluster.folder / "batch.out"
        self.cluster.command("sbatch", "--wait", "--partition=gpu", "--gres=shard:2", "--cleave-priority=background",
                             f"--output={out}", script)
        batch, step = (variables(text) for text in out.read_text().split("\n\n"))
        self.assertEqual((batch["CLEAVE_WEIGHT"], step["CLEAVE_WEIGHT"]), ("200", "100"))
        self.assertEqual((batch["CLEAVE_PRIORITY"], step["CLEAVE_PRIORITY"]), ("background", "background"))
        self.assertTrue(batch["CLEAVE_TENANT"].endswith(".batch") and step["CLEAVE_TENANT"].endswith(".0"))

    def test_bad_configuration_is_one_line_and_the_job_runs(self):
        for words, line in (("shards=many", "plugstack.conf: shards=many: expected the number of shards of one GPU"),
                            ("", "plugstack.conf: shards= is missing"),
                            (f"shards=4 jobs={self.cluster.jobs} libraries=/nowhere",
                             "/nowhere/libOpenCL.so.1 is missing: set libraries= to the folder")):
            self.cluster.set_plugin(words)
            self.addCleanup(self.cluster.set_plugin)
            done = self.srun("--gres=shard:1", "env")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(line, done.stderr)
            self.assertIn("the job runs without Cleave", done.stderr)
            self.assertNotIn("CLEAVE_WEIGHT", done.stdout)
            self.cluster.wait_until_idle()  # the epilog reads the configuration, too
        self.cluster.set_plugin()

    def test_one_and_three_shards_get_a_quarter_and_three_quarters(self):
        jobs = {shards: self.cluster.start_command("srun", "--partition=gpu", "--nodelist=gpu1", f"--gres=shard:{shards}",
                                                   TURN_TAKER, "0") for shards in (1, 3)}
        for job in jobs.values():
            self.addCleanup(job.communicate)
            self.addCleanup(job.terminate)

        def used():
            """By weight, in ns; nothing unless both take turns."""
            found = {each["weight"]: each["used_ns"] for device in self.shared_devices()
                     for each in device["participants"] if each["turns"] > 5}
            return found if set(found) == {100, 300} else {}

        wait_until(used, lambda: f"they do not take turns: {self.shared_devices()}")
        last = [used()]
        shares = []

        def is_quarter():
            """Of some fifty rounds of turns; on a busy machine a job may not get to ask for all of its turns."""
            now = used()
            had = {weight: now[weight] - last[0].get(weight, 0) for weight in now}
            if sum(had.values()) < 4_000_000_000:
                return False
            last[0] = now
            shares.append(had[100] / sum(had.values()))
            return abs(shares[-1] - 0.25) <= 0.03

        wait_until(is_quarter, lambda: f"the shares are not a quarter: {shares}", timeout=120)

    def test_memory_beyond_the_share_is_refused_by_opencl(self):
        done = self.srun("--gres=shard:1", BUFFER_TAKER)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{slurm.GPU_MEMORY // slurm.SHARDS >> 20} MiB, error -4\n")

    def usage(self, job):
        """What sacct says of it, by name; in seconds and KiB."""
        parts = []

        def is_there():
            parts[:] = re.findall(r"(\w+)=([\d.]+)", self.cluster.account(job, "AdminComment")[1])
            return bool(parts)

        wait_until(is_there, lambda: f"nothing of job {job} in sacct\n{self.cluster.logs()}")
        return {name: float(value) for name, value in parts}

    def test_sacct_shows_what_a_job_has_had(self):
        job = self.cluster.command("sbatch", "--parsable", "--partition=gpu", "--gres=shard:1", "--output=/dev/null",
                                   f"--wrap=srun {TURN_TAKER} 12; {TURN_TAKER} 12").strip()
        usage = self.usage(job)
        self.assertGreater(usage["device"], 0, usage)
        self.assertEqual((usage["processes"], usage["memory"]), (2, 32), usage)

    def test_sacct_shows_what_a_cancelled_job_has_had(self):
        job = self.cluster.command("sbatch", "--parsable", "--partition=gpu", "--gres=shard:1", "--output=/dev/null",
                                   f"--wrap={TURN_TAKER} 0").strip()
        # Not one that an earlier job has left.
        wait_until(lambda: [each for device in self.shared_devices() for each in device["participants"]
                            if each["tenant"].startswith(f"slurm-{job}.")], "it does not compute")
        time.sleep(1)  # so that there is something to be shown
        self.cluster.command("scancel", job)
        self.assertGreater(self.usage(job)["device"], 0)

    # Remote GPUs

    def run_remotely(self, *options, program=(TURN_TAKER, "6"), **changes):
        """The program sees no device but the servers'."""
        return self.cluster.run(*slurm.slurm_run(*options), "env", f"OCL_ICD_VENDORS={self.no_drivers}/", *program,
                                **changes)

    def test_program_on_a_node_without_gpu_computes_with_another_nodes(self):
        done = self.run_remotely("--shards=2", program=("sh", "-c", f"echo $SLURMD_NODENAME; {TURN_TAKER} 6; exit 7"))
        self.assertEqual(done.stdout.splitlines(), ["cpu1", "began", "right"], done.stderr)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_several_servers_are_one_platform(self):
        done = self.run_remotely("--nodes=2", "--shards=1", program=("clinfo", "--list"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((done.stdout.count("Platform #"), done.stdout.count("Device #")), (1, 2), done.stdout)

    def test_plain_srun_does_the_same(self):
        done = self.cluster.run(
            "srun", "--kill-on-bad-exit", "--partition=cpu", CLEAVE, "slurm", "client", "--", "env",
            f"OCL_ICD_VENDORS={self.no_drivers}/", TURN_TAKER, "6",
            ":", "--partition=gpu", "--gres=shard:1", "--nodes=2", "--ntasks-per-node=1", CLEAVE, "slurm", "serve")
        self.assertEqual((done.returncode, done.stdout.splitlines()), (0, ["began", "right"]), done.stderr)

    def test_within_an_allocation_of_the_users_own(self):
        script = self.cluster.folder / "heterogeneous"
        out = self.cluster.folder / "heterogeneous.out"
        script.write_text("#!/bin/sh\n#SBATCH --partition=cpu\n#SBATCH hetjob\n#SBATCH --partition=gpu --gres=shard:1\n"
                          f"{CLEAVE} slurm run -- env OCL_ICD_VENDORS={self.no_drivers}/ {TURN_TAKER} 6\n")
        self.cluster.command("sbatch", "--wait", f"--output={out}", script)
        self.assertEqual(out.read_text().splitlines()[-2:], ["began", "right"])

    def start_remotely(self, *options):
        """An endless program; returns it when it computes, and the number of its job."""
        process = self.cluster.start_command(*slurm.slurm_run(*options), TURN_TAKER, "0")
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        line = process.stdout.readline()
        self.assertEqual(line, "began\n", "" if line else process.stderr.read())
        jobs = [line.split() for line in self.cluster.command("squeue", "-h", "-o", "%i %P %N").splitlines()]
        return process, {partition: job for job, partition, _ in jobs}

    def outcome(self, process, timeout=60):
        """Its status and what it has said, when it has ended."""
        deadline = time.monotonic() + timeout
        wait_until(lambda: process.poll() is not None, "the session does not end", timeout=deadline - time.monotonic())
        return process.returncode, process.stderr.read()

    def test_scancel_ends_everything(self):
        for partition in ("cpu", "gpu"):
            process, jobs = self.start_remotely("--shards=1")
            self.cluster.command("scancel", jobs[partition])
            status, errors = self.outcome(process)
            self.assertNotEqual(status, 0)
            self.assertIn("CANCELLED", errors)

    def test_killed_server_ends_the_program(self):
        process, _ = self.start_remotely("--shards=1")
        for each in self.cluster.processes():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                command = Path(f"/proc/{each}/cmdline").read_bytes()
                if b"cleave-serverd\0" in command and b"--tls-key" in command:
                    os.kill(each, signal.SIGKILL)
        status, errors = self.outcome(process)
        self.assertNotEqual(status, 0)
        self.assertRegex(errors, r"cleave: (the server on gpu\d|a server of this job) has ended")

    @unittest.skipUnless(IS_WHOLE, "only with CLEAVE_TEST_JOBS=200: Slurm's shortest limit is a minute")
    def test_time_limit_ends_everything(self):
        process, _ = self.start_remotely("--shards=1", "--time=1")
        status, errors = self.outcome(process, timeout=240)
        self.assertNotEqual(status, 0)
        self.assertIn("DUE TO TIME LIMIT", errors)

    def assertNodeFailed(self, process):
        status, errors = self.outcome(process, timeout=NODE_DEATH)
        self.assertNotEqual(status, 0)
        self.assertRegex(errors, "(?i)node failure|cleave: a server of this job has ended")

    def test_nodes_that_die_end_their_jobs(self):
        on_dead, _ = self.start_remotely("--shards=1", "--gpu-option=--nodelist=gpu1")
        on_other, _ = self.start_remotely("--shards=1", "--gpu-option=--nodelist=gpu2")
        self.cluster.kill_node("gpu1")
        # Its steps live on, without anybody who could end them.
        self.cluster.daemons["gpu2"].kill()
        self.cluster.daemons["gpu2"].wait()
        self.assertNodeFailed(on_dead)
        self.assertNodeFailed(on_other)
        self.expect_empty_folders()

    def expect_empty_folders(self):
        """Without a slurmd there is no epilog, and what a task had in the folder it has removed itself."""
        wait_until(lambda: not self.cluster.processes(), self.leftovers)
        for folder in self.cluster.jobs.glob("*"):
            self.assertEqual(sorted(folder.rglob("user/*")), [])
            shutil.rmtree(folder)

    @unittest.skipUnless(IS_WHOLE, "only with CLEAVE_TEST_JOBS=200: Slurm needs half a minute to notice")
    def test_program_whose_node_loses_its_slurmd_ends(self):
        process, _ = self.start_remotely("--shards=1")
        self.cluster.daemons["cpu1"].kill()
        self.cluster.daemons["cpu1"].wait()
        self.assertNodeFailed(process)
        self.expect_empty_folders()

    # All at once

    def test_jobs_that_end_at_random_leave_nothing(self):
        print(f"CLEAVE_TEST_SEED={SEED}")
        chance = random.Random(SEED)
        running, started = [], 0
        while started < JOBS or running:
            running = [each for each in running if each.poll() is None]
            while started < JOBS and len(running) < 4:
                running.append(self.start_random_job(chance))
                self.addCleanup(running[-1].communicate)
                started += 1
            self.disturb(chance)
            time.sleep(0.2)
        self.cluster.wait_until_idle()
        # The accounting hears of it a moment later.
        states = lambda: self.cluster.command("sacct", "-a", "-X", "-n", "-P", "-o", "State").split("\n")
        wait_until(lambda: not any(re.match("RUNNING|PENDING", state) for state in states()), states)
        self.assertEqual([each for device in self.shared_devices() for each in device["participants"]
                          if each["state"] != "ended"], [])

    def start_random_job(self, chance):
        rounds = str(chance.choice((0, 4, 12)))
        shards = chance.randint(1, slurm.SHARDS)
        if chance.random() < 0.3:
            return self.cluster.start_command(*slurm.slurm_run(f"--shards={shards}", f"--nodes={chance.randint(1, 2)}"),
                                              TURN_TAKER, rounds)
        return self.cluster.start_command("srun", "--kill-on-bad-exit", "--partition=gpu", f"--gres=shard:{shards}",
                                          f"--ntasks={chance.randint(1, 2)}", TURN_TAKER, rounds)

    def disturb(self, chance):
        """Cancels a job, or kills a process of one, now and then."""
        what = chance.random()
        if what < 0.15:
            jobs = self.cluster.command("squeue", "-h", "-o", "%i").split()
            if jobs:
                self.cluster.run("scancel", chance.choice(jobs))
        elif what < 0.3:
            victims = [each for each in self.cluster.processes() if self.is_of_job(each)]
            if victims:
                try:
                    os.kill(chance.choice(victims), chance.choice((signal.SIGKILL, signal.SIGTERM)))
                except ProcessLookupError:
                    pass

    @staticmethod
    def is_of_job(process):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            return False
        return any(word in command for word in (b"turn_taker", b"cleave", b"srun")) and b"slurmstepd" not in command


main()
