"""The suite `neighbours`: the paper's experiment.

One job of four matrix products on the device shares a few cores of the host with one to four neighbours, which multiply
matrices on four threads each, like the paper's VMs of four virtual processors. Measured is how long the neighbours' products
and the job take while all of them run: without the job, with the job unsplit, and with the job in ever more slices (the part
`figures`). Then the policies in the same situation: a point each for the neighbours' loss and the job's (`losses`). Then what 500 slices
cost the job (`many`).
"""

import json
import os
import sys
import time

import isolation
import pressure_monitor
import programs
import tune
from results import Results, Row, Unmeasured, machine, median, ratio, spread

GROUPS = (2, 4, 10, 20)
MANY = 500
PRODUCTS = 4  # of the job
THREADS = 4  # of a neighbour
CLAIM_NEIGHBOURS, CLAIM_JOB, CLAIM_MANY = "up to 20 % faster", "less than 5 % slower", "38 % slower"
LOSS = 1.05  # of the job: what the best number of groups may cost
BUDGET = "budget"
DEFAULT_ALPHA = "4"  # of the setting
POLICIES = ("alpha", BUDGET, "pressure")
PARTS = ("figures", "losses", "many")
WITHOUT_JOB, UNSPLIT = "without the job", "the job unsplit"  # else groups, a policy or a table of α


class Bench:
    def __init__(self, given):
        self.cores = set(sorted(os.sched_getaffinity(0))[:given.cores])
        self.mode = given.mode
        self.rounds = given.rounds or (2 if given.quick else 3)
        usual = 20 if not given.quick else 3 if given.isolation == "domains" else 0.4
        self.window = given.window or usual  # seconds in which all of them run
        self.size = given.size or (320 if given.quick else 1600)
        self.groups = given.groups or GROUPS
        self.policies = given.policy or POLICIES
        probe, _ = programs.measure("stream", 1, *programs.target(given), "--repeats", 1)
        work = "tiled product" if given.quick or not probe["on_processor"] else "long product"
        self.work = [work, *programs.target(given), *(["--small"] if given.quick else [])]
        self.isolation = isolation.prepare(given.isolation, self.cores)
        self.pressure = f"pressure:{given.pressure:g}"
        self.monitor = None  # while the policies are measured
        words = machine(probe["device"], programs.library())
        self.results = Results("neighbours", words | {"isolation": self.isolation.name, "shared cores": len(self.cores),
                                                      "neighbours": f"{self.size}×{self.size}", "window": f"{self.window:g} s",
                                                      "mode": self.mode})

    def start_job(self, neighbours, job):
        way = "native" if job == UNSPLIT else "cleave"
        return self.isolation.start("job", "cleave_gpu", "busy", way, self.window, *self.work,
                                    settings=self.settings(neighbours, job))

    def settings(self, neighbours, job):
        """Of the job: unsplit, in so many groups, by one of the policies, or by the table of α that is its text."""
        if job == UNSPLIT:
            return {}
        usual = {"CLEAVE_VMS": str(neighbours + 1), "CLEAVE_LAUNCH": self.mode}
        if isinstance(job, int):
            return usual | {"CLEAVE_SPLIT": f"fixed:{job}"}
        if job in (BUDGET, self.pressure):
            # As a program has it that was never run before.
            monitor = {"CLEAVE_NEIGHBOURS": self.monitor.address} if job == self.pressure else {}
            return usual | monitor | {"CLEAVE_SPLIT": job, "CLEAVE_CACHE": "off"}
        # Without the rules that make fewer slices than α asks for, which the fixed numbers do without as well.
        return usual | {"CLEAVE_SPLIT": "alpha", "CLEAVE_ALPHA": job, "CLEAVE_MIN_ITEMS": "0"}

    def share(self, neighbours, job):
        """All at once: milliseconds of a neighbour's product and of the job, the job's share of a core, and how many times as long
        the neighbours took as they ran (StandIn.stretch)."""
        processes = []
        try:
            for i in range(neighbours):
                processes.append(self.isolation.start(f"neighbour-{i}", "cleave_neighbour", self.size, THREADS))
            if self.monitor:
                self.monitor.follow(processes)
            took, share, window = None, None, None
            if job == WITHOUT_JOB:
                begin = time.monotonic() + 0.2
                time.sleep(0.2 + self.window)
                window = begin, time.monotonic()
            else:
                took, share, window = self.follow(self.start_job(neighbours, job))
            self.check_alive(processes)
            stretch = self.monitor.stretch(window) if self.monitor else None
        finally:
            for process in processes:
                process.kill()
        outputs = [process.communicate()[0] for process in processes]
        self.results.sound &= all(process.returncode < 0 for process in processes)
        return median([product(output, window) for output in outputs]), took, share, stretch

    def follow(self, process):
        status, output = programs.finish(process, 600)
        if status not in (0, 1) or not output.strip():
            raise Unmeasured(f"the job ended with status {status}")
        line = json.loads(output)
        self.results.sound &= status == 0
        wall = line["end"] - line["begin"]
        return (PRODUCTS * sum(line["times"]) / len(line["times"]), line["processor"] / 1e3 / wall,
                (line["begin"], line["end"]))

    @staticmethod
    def check_alive(processes):
        for process in processes:
            if process.poll() is not None:
                raise Unmeasured(f"a neighbour ended by itself: exit status {process.returncode}")

    def in_turn(self, neighbours, jobs):
        """Each of the jobs alongside so many neighbours, alternately: for each the lists of what share() gives."""
        found = {job: ([], [], [], []) for job in jobs}
        for _ in range(self.rounds):
            for job, lists in found.items():
                for values, value in zip(lists, self.share(neighbours, job)):
                    values.append(value)
        return found

    def add(self, part, what, changed, base, **more):
        value, spread_of_it = ratio(changed, base)
        self.results.add(Row(part, what, value, spread=spread_of_it, **({"baseline": median(base)} | more)))
        return value


def product(output, window):
    """Milliseconds of a product: of those within the window, where there is none of those that reach into it, else of all."""
    times = [tuple(map(float, line.split())) for line in output.splitlines() if line.count(" ") == 1]
    inside = [(begin, end) for begin, end in times if window[0] <= begin and end <= window[1]]
    inside = inside or [(begin, end) for begin, end in times if begin < window[1] and end > window[0]] or times
    if not inside:
        raise Unmeasured("no neighbour ended a product in time: their cores are too slow, or too many share them")
    return 1e3 * sum(end - begin for begin, end in inside) / len(inside)


def plural(neighbours):
    return f"{neighbours} neighbour{'s' if neighbours > 1 else ''}"


def measure_sweep(bench, neighbours):
    """Figures 2, 4 and 5 for so many neighbours; gives the number of groups that serves them best."""
    found = bench.in_turn(neighbours, (WITHOUT_JOB, UNSPLIT, *bench.groups))
    beside = plural(neighbours)
    alone, unsplit = found[WITHOUT_JOB][0], found[UNSPLIT]
    bench.add("fig2", f"Fig. 2: {beside}, with the job to without", unsplit[0], alone, neighbours=neighbours)
    gains, losses = {}, {}
    for groups in bench.groups:
        gains[groups] = bench.add("fig4", f"Fig. 4: {beside}, job in {groups} groups to unsplit", found[groups][0], unsplit[0],
                                  neighbours=neighbours, slices=groups, claim=CLAIM_NEIGHBOURS)
    for groups in bench.groups:
        losses[groups] = bench.add("fig5", f"Fig. 5: the job beside {beside}, in {groups} groups to unsplit", found[groups][1],
                                   unsplit[1], neighbours=neighbours, slices=groups, claim=CLAIM_JOB)
    cheap = [groups for groups in bench.groups if losses[groups] <= LOSS] or list(bench.groups)
    return min(cheap, key=gains.get)


def alpha_table(best):
    """From the best numbers of groups: the nearest α for each number of neighbours, and the table as CLEAVE_ALPHA takes it."""
    alphas = {neighbours + 1: max(1, round(groups / (neighbours + 1))) for neighbours, groups in best.items()}
    return alphas, tune.table(alphas)


def measure_best(bench, neighbours, alphas, table):
    """Figure 6, measured again, so that a number that was the best by chance shows it: with the table of α."""
    vms = neighbours + 1
    alpha, groups = alphas[vms], vms * alphas[vms]
    found = bench.in_turn(neighbours, (WITHOUT_JOB, UNSPLIT, table))
    beside, note = plural(neighbours), f"α {alpha}, {groups} groups"
    more = {"neighbours": neighbours, "slices": groups, "note": note}
    bench.add("fig6 neighbours", f"Fig. 6: {beside}, best α to the job unsplit", found[table][0], found[UNSPLIT][0],
              claim=CLAIM_NEIGHBOURS, **more)
    bench.add("fig6 without", f"Fig. 6: {beside}, best α to without the job", found[table][0], found[WITHOUT_JOB][0], **more)
    bench.add("fig6 job", f"Fig. 6: the job beside {beside}, best α to unsplit", found[table][1], found[UNSPLIT][1],
              claim=CLAIM_JOB, **more)
    bench.results.add(Row("processor", f"share of a core that the job takes beside {beside}", median(found[table][2]),
                          "cores", baseline=median(found[UNSPLIT][2]), spread=spread(found[table][2]), **more))


def add_point(bench, neighbours, found, job, policy, words):
    """Where a job is in the picture of losses: its neighbours' time to that without it, and its own to that unsplit. And the part of
    the neighbours' time that is due to their waits for processors, as far as the kernel reports them: what else slows them down, caches and
    the machine's other users, is not the job's waiting, and varies more than that."""
    more = {"neighbours": neighbours, "policy": policy}
    beside = plural(neighbours)
    bench.add("loss neighbours", f"losses: {beside}, the job {words}, to without the job", found[job][0], found[WITHOUT_JOB][0],
              **more)
    if None not in (*found[job][3], *found[WITHOUT_JOB][3]):
        bench.add("loss waits", f"losses: {beside}, the job {words}, their waits alone", found[job][3], found[WITHOUT_JOB][3],
                  baseline=None, **more)
    bench.add("loss job", f"losses: the job {words} beside {beside}, to unsplit", found[job][1], found[UNSPLIT][1], **more)


def points(found, neighbours, policy, part):
    """Of so many neighbours: (the job's row, the neighbours' row of that part), as add_point() made them."""
    jobs, rows = ([row for row in found.of(each) if row.neighbours == neighbours] for each in ("loss job", part))
    if len(jobs) != len(rows):
        return []  # waits, which are not known of all
    return [(job, row) for job, row in zip(jobs, rows) if job.policy == policy]


def compare_with_fixed(found, neighbours, policy, part="loss neighbours", words=""):
    """Whether the policy's point is on or below the curve of the fixed numbers: the neighbours' time to that with the fixed number
    that serves them best of those that cost the job no more; of none, with the one that costs it least."""
    fixed = points(found, neighbours, "fixed", part)
    for job, row in points(found, neighbours, policy, part):
        cheap = [each for each in fixed if each[0].value <= job.value] or [min(fixed, key=lambda each: each[0].value)]
        best = min((each[1] for each in cheap), key=lambda each: each.value)
        value, noise = row.value / best.value, (row.spread + best.spread) / best.value
        note = "on or below" if value <= 1 else "above" if value > 1 + noise else "above, within the spread"
        found.add(Row("to fixed", f"losses: {plural(neighbours)}{words}, the job by {policy}, to the curve of fixed numbers", value,
                      baseline=best.baseline and best.baseline * best.value, spread=noise, neighbours=neighbours, policy=policy, note=note))


def measure_policies(bench, neighbours, table):
    """The points of the fixed numbers and of the policies, in the same turns. `pressure` is left out where there is no monitor that
    says one."""
    jobs = {"alpha": table, BUDGET: BUDGET} | ({"pressure": bench.pressure} if bench.monitor else {})
    jobs = {policy: job for policy, job in jobs.items() if policy in bench.policies}
    found = bench.in_turn(neighbours, (WITHOUT_JOB, UNSPLIT, *bench.groups, *jobs.values()))
    for job in (UNSPLIT, *bench.groups):
        add_point(bench, neighbours, found, job, "fixed", "unsplit" if job == UNSPLIT else f"in {job} groups")
    for policy, job in jobs.items():
        add_point(bench, neighbours, found, job, policy, f"by α {table}" if job == table else f"by {job}")
        compare_with_fixed(bench.results, neighbours, policy)
        compare_with_fixed(bench.results, neighbours, policy, "loss waits", ", their waits")


def start_monitor(bench):
    try:
        monitor = pressure_monitor.start(bench.isolation)
    except Unmeasured as why:
        return print(f"  pressure: left out: {why}", file=sys.stderr)
    bench.results.machine["pressure"] = monitor.words
    return monitor


def measure(given):
    """Without the sweep there is no table of α by it: the setting's default is measured in its place."""
    bench = Bench(given)
    parts = given.only or PARTS
    try:
        counts = range(1, given.neighbours + 1)
        alphas, table = None, DEFAULT_ALPHA
        if "figures" in parts:
            alphas, table = alpha_table({neighbours: measure_sweep(bench, neighbours) for neighbours in counts})
            for neighbours in counts:
                measure_best(bench, neighbours, alphas, table)
        if "losses" in parts:
            bench.monitor = start_monitor(bench)
            for neighbours in counts:
                measure_policies(bench, neighbours, table)
        if "many" in parts:
            found = bench.in_turn(1, (UNSPLIT, MANY))
            bench.add("many", f"the job beside 1 neighbour, in {MANY} groups to unsplit", found[MANY][1], found[UNSPLIT][1],
                      neighbours=1, slices=MANY, claim=CLAIM_MANY)
    finally:
        if bench.monitor:
            bench.monitor.close()
        bench.isolation.close()
    return bench.results
