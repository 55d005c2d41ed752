"""Programs that take turns on one device: right results by every way in, and an end, whatever their neighbours do."""

import os
import signal
import subprocess
import threading

from support.options import OPTIONS, main
from support.processes import cleave, wait_until
from support.programs import ProgramTest

TIMEOUT = 120
ROUNDS = 12


class TurnsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.registry = str(self.folder / (self.id().rsplit(".", 1)[-1] + "-registry"))

    def start(self, *arguments, method="preload", **settings):
        usual = {"CLEAVE_REGISTRY": self.registry, "CLEAVE_TURNS": "on", "CLEAVE_MIN_ITEMS": "0", "CLEAVE_VMS": "1"}
        return self.start_talking(method, OPTIONS.programs / "turn_taker", *arguments, stderr=subprocess.PIPE,
                                  **(usual | settings))

    def start_endless(self, **settings):
        process = self.start(0, **settings)
        self.assertEqual(process.stdout.readline(), "began\n")
        return process

    def outcome(self, process):
        """What it has printed. (Not communicate(), which misses what readline() has read ahead.)"""
        status = process.wait(TIMEOUT)
        out, err = process.stdout.read(), process.stderr.read()
        self.assertEqual(status, 0, out + err)
        return out, err

    def expect_right(self, process):
        out, err = self.outcome(process)
        self.assertEqual((out.splitlines()[-1:], err), (["right"], ""))

    def test_programs_get_their_results_beside_each_other_by_every_way_in(self):
        for process in [self.start(ROUNDS, method=method) for method in ("preload", "layer", "run")]:
            self.expect_right(process)
        self.assertTrue(self.turns_file(), "one device")

    def test_weights_and_classes(self):
        processes = [self.start(ROUNDS, CLEAVE_PRIORITY=priority, CLEAVE_WEIGHT=weight)
                     for priority, weight in (("high", 1), ("normal", 10000), ("background", 100))]
        for process in processes:
            self.expect_right(process)

    def test_who_has_declared_an_intent_is_shown(self):
        processes = [self.start_endless(), self.start_endless(CLEAVE_TURNS="auto", CLEAVE_CAP="90%")]
        (device,) = self.top()
        self.assertTrue(device["declared"])
        self.assertEqual({each["pid"] for each in device["participants"] if each["declares"]}, {each.pid for each in processes})
        wait_until(lambda: all(each["turns"] > 3 for each in self.top()[0]["participants"]), "they do not take turns")

    def test_what_has_no_effect_on_a_processor_is_said(self):
        out, errors = self.outcome(self.start(ROUNDS, CLEAVE_TURNS="auto", CLEAVE_WEIGHT=300))
        self.assertEqual(out.splitlines()[-1:], ["right"])
        self.assertRegex(errors, "^cleave: no weight and no class on a processor.*\n$")

    def test_killed_neighbours_hold_nobody_up(self):
        for _ in range(3):
            neighbours = [self.start_endless() for _ in range(2)]
            process = self.start(ROUNDS)
            for neighbour in neighbours:
                neighbour.kill()
            self.expect_right(process)

    def test_stopped_neighbour_holds_nobody_up_and_goes_on(self):
        neighbour = self.start(2 * ROUNDS)
        self.assertEqual(neighbour.stdout.readline(), "began\n")
        neighbour.send_signal(signal.SIGSTOP)
        self.expect_right(self.start(ROUNDS))
        neighbour.send_signal(signal.SIGCONT)
        self.expect_right(neighbour)

    def test_programs_that_wait_for_each_other(self):
        self.start_endless()
        one, other = self.start(ROUNDS, "paired"), self.start(ROUNDS, "paired")
        watchdog = threading.Timer(TIMEOUT, lambda: (one.kill(), other.kill()))
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        for _ in range(ROUNDS):
            for each in (one, other):
                each.stdin.write("go\n")
                each.stdin.flush()
                self.assertEqual(each.stdout.readline(), "next\n")
        self.expect_right(one)
        self.expect_right(other)

    def test_programs_may_exit_without_waiting(self):
        self.start_endless()
        for method in ("preload", "layer"):
            self.expect_right(self.start(ROUNDS, "left", method=method))

    def settings(self, **more):
        return self.environment(**({"CLEAVE_TURNS": "on", "CLEAVE_VMS": "1", "CLEAVE_REGISTRY": self.registry} | more))

    def cleave(self, *arguments, **settings):
        return cleave(*arguments, environment=self.settings(**settings))

    def top(self):
        return self.shared_devices(self.settings())

    def test_top_and_doctor_show_who_shares_the_device(self):
        self.assertEqual(self.top(), [])
        light, heavy = (self.start_endless(CLEAVE_WEIGHT=weight) for weight in (100, 300))
        wait_until(lambda: sum(each["turns"] > 3 for device in self.top() for each in device["participants"]) == 2,
                   "they do not take turns")
        (device,) = self.top()
        self.assertTrue(device["device"])
        self.assertEqual((device["file"], device["problem"]), (self.turns_file(), ""))
        by_pid = {each["pid"]: each for each in device["participants"]}
        self.assertEqual({pid: (each["weight"], each["class"], each["program"]) for pid, each in by_pid.items()},
                         {light.pid: (100, "normal", "turn_taker"), heavy.pid: (300, "normal", "turn_taker")})
        for each in by_pid.values():
            self.assertIn(each["state"], ("holds", "waits", "rests"))
            self.assertGreater(each["used_ns"], 0)
            self.assertGreaterEqual(each["waited_ns"], each["longest_wait_ns"] if each["state"] != "waits" else 0)
        self.assertTrue(0 < sum(each["share"] for each in by_pid.values()) <= 1.1, by_pid)
        text = self.cleave("top", "--once").stdout
        self.assertRegex(text, rf"(?m)^turns on .+ \({self.turns_file()}\): held by ")
        self.assertRegex(text, rf"(?m)^ *{heavy.pid} turn_taker +normal +300 +\d+\.\d% ")

        report = self.cleave("doctor").stdout
        self.assertRegex(report, r"(?m)^Turns$")
        self.assertRegex(report, rf"in turns, now with 2 processes: .*\b{heavy.pid} turn_taker \(weight 300, normal")
        light.kill()
        light.wait()
        wait_until(lambda: [each["pid"] for each in self.top()[0]["participants"]] == [heavy.pid],
                   "the ended process is not removed")

    def test_doctor_says_why_there_are_no_turns(self):
        self.expect_right(self.start(2))
        file = os.path.join(self.registry, self.turns_file())
        for settings, reason, status in (
                ({"CLEAVE_TURNS": "off"}, "no turns: CLEAVE_TURNS=off", 0),
                ({"CLEAVE_REGISTRY": "off"}, "no turns: CLEAVE_REGISTRY=off", 0),
                ({"CLEAVE_REGISTRY": file}, f"no turns: {file} is not a folder", 1)):
            done = self.cleave("doctor", **settings)
            self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
            self.assertIn(reason, done.stdout)
        with open(file, "r+b") as stream:
            stream.seek(4)
            stream.write(bytes([99]))
        self.assertEqual(self.top()[0]["problem"], "it is of another version of Cleave")
        done = self.cleave("doctor")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, rf"problem .*no turns: {file}: it is of another version(.|\n)*delete it when")

    def turns_file(self):
        (name,) = [name for name in os.listdir(self.registry) if name.startswith("turns-")]
        return name

    def test_folder_that_cannot_be_used_is_named_once(self):
        self.start_endless()
        process = self.start(ROUNDS, CLEAVE_REGISTRY="/proc/self/nothing")
        out, err = self.outcome(process)
        self.assertEqual(out.splitlines()[-1:], ["right"])
        self.assertEqual(err.count("no turns"), 1, err)
        self.assertIn("CLEAVE_TURNS=off", err)


main()
