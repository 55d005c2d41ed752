"""Caps on a real driver: programs wait for them and get their results, alone and alongside others; limits that change."""

import json
import time

from limits_test import LimitsTest
from support.options import OPTIONS, main
from support.processes import wait_until

TIMEOUT = 200
ROUNDS = 12
ATTEMPTS = 4


class CapsTest(LimitsTest):
    def start_taking_turns(self, rounds=0, **settings):
        return self.start(OPTIONS.programs.parent / "turns" / "turn_taker", rounds, CLEAVE_MIN_ITEMS="0", **settings)

    def finish(self, process):
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, out.splitlines()[-1:]), (0, ["right"]), out)

    def test_alone_a_program_waits_for_its_cap(self):
        stats = self.own_folder() / "stats.json"
        for _ in range(ATTEMPTS):
            before = time.monotonic()
            self.finish(self.start_taking_turns(ROUNDS, CLEAVE_CAP="10%", CLEAVE_STATS=stats))
            took = time.monotonic() - before
            (device,) = json.loads(stats.read_text())["turns"]["devices"]
            if device["state"] != "given up":
                break
        else:
            self.skipTest("the machine is so busy that commands do not end in time")
        self.assertEqual((device["state"], device["waited_for"]), ("joined", []))
        # All that it held but the last burst has been paid off; a busy machine only makes it longer.
        self.assertGreater(took, (device["held_ns"] / 1e9 - 0.03) / 0.1 * 0.8, device)

    def test_beside_others_with_caps_and_tenants_results_are_right(self):
        settings = ({"CLEAVE_CAP": "30%", "CLEAVE_TENANT": "alice"}, {"CLEAVE_CAP": "30%", "CLEAVE_TENANT": "alice"},
                    {"CLEAVE_CAP": "20%,borrow"}, {})
        for process in [self.start_taking_turns(8, **each) for each in settings]:
            self.finish(process)
        (device,) = self.top()
        # Those who were alone, and held back by nothing, took no turns.
        self.assertEqual({each["tenant"]: each["processes"] for each in device["tenants"]}.get("alice"), 2)
        self.assertEqual(device["participants"], [])

    def test_killed_and_stopped_neighbours_hold_nobody_up(self):
        neighbours = [self.start_taking_turns(CLEAVE_CAP="20%", CLEAVE_TENANT="alice") for _ in range(2)]
        for each in neighbours:
            self.assertEqual(each.stdout.readline(), "began\n")
        process = self.start_taking_turns(8, CLEAVE_CAP="50%", CLEAVE_TENANT="alice")
        for each in neighbours:
            each.kill()
        self.finish(process)

    def test_caps_and_weights_that_change_take_effect(self):
        config = self.file("[turns]\nweight = 50\n")
        alone = self.start_taking_turns(CLEAVE_CONFIG=config)
        self.assertEqual(alone.stdout.readline(), "began\n")

        def has(cap, weight):
            (device,) = self.top()
            return [(each["cap"], each["weight"]) for each in device["participants"]] == [(cap, weight)]

        wait_until(lambda: has(0, 50), "it has not joined")
        self.file('[turns]\nweight = 70\n[limits]\ncap = "30%"\n')
        wait_until(lambda: has(0.3, 70), "the cap does not take effect")
        self.file("[turns]\nweight = 70\n")
        wait_until(lambda: has(0, 70), "the cap is not lifted")


main()
