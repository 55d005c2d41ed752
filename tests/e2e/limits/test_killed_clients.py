"""Clients of a server that are killed at random moments keep nothing: no place, no turn, no memory.

CLEAVE_TEST_FAULTS says how many, CLEAVE_TEST_SEED with which numbers."""

import os
import random
import subprocess
import time

from support.options import OPTIONS, main
from support.processes import wait_until
from support.remote import METRICS, RemoteTest

CLIENTS = int(os.environ.get("CLEAVE_TEST_FAULTS", "15"))
SEED = int(os.environ.get("CLEAVE_TEST_SEED", "1"))
AT_A_TIME = 4
MIB = 1 << 20
LIMIT = 8 * MIB
REFUSED = "-4"  # CL_MEM_OBJECT_ALLOCATION_FAILURE
CLIENTS_FILE = """
[alice]
token = "first"
sessions = 3
memory = "8M"
cap = "90%"
[bob]
token = "second"
sessions = 3
memory = "8M"
weight = 300
"""


class KilledClients(RemoteTest):
    def setUp(self):
        super().setUp()
        self.registry = self.own_folder() / "registry"
        self.registry.mkdir()
        self.settings = {"CLEAVE_TURNS": "on", "CLEAVE_REGISTRY": self.registry, "CLEAVE_MIN_ITEMS": 0}
        self.tokens = {name: self.secret(token, name) for name, token in (("alice", "first"), ("bob", "second"))}
        self.server = self.start_server(
            self.own_folder() / "server", *METRICS, "--mixed-tenants", "--max-clients", AT_A_TIME, "--clients-file",
            self.secret(CLIENTS_FILE, "clients.toml"), environment=self.environment(**self.settings))

    def start(self, name, *command):
        environment = self.client_environment(self.server.addresses["unix"], CLEAVE_REMOTE_TOKEN_FILE=self.tokens[name])
        return self.start_piped(command, environment, subprocess.DEVNULL)

    def start_taker(self, name):
        return self.start(name, OPTIONS.programs / "memory_taker")

    def start_any(self, chance):
        """One that computes without an end, or one that takes memory, as much as it gets."""
        name = chance.choice(sorted(self.tokens))
        if chance.random() < 0.5:
            return self.start(name, OPTIONS.programs.parent / "turns" / "turn_taker", 0)
        client = self.start_taker(name)
        client.stdin.write("".join(f"take {chance.randrange(1, LIMIT)}\n" for _ in range(8)))
        client.stdin.flush()
        return client

    def participants(self):
        devices = self.shared_devices(self.environment(**self.settings))
        return [each for device in devices for each in device["participants"]]

    def test_nothing_stays_booked(self):
        chance = random.Random(SEED)
        running = []
        for _ in range(CLIENTS):
            running.append(self.start_any(chance))
            if len(running) == AT_A_TIME:  # one more would be refused
                self.end(running.pop(chance.randrange(len(running))))
            time.sleep(chance.choice((0, 0.05, 0.3, 1)) * chance.random())
        for client in running:
            self.end(client)
        self.server.wait_until_idle()
        self.assertNoCrash(self.server)
        wait_until(lambda: not self.participants(), lambda: f"they have turns: {self.participants()}")
        for name in self.tokens:
            takers = [self.start_taker(name) for _ in range(3)]  # as many as may be
            # The limit to the byte, by buffers that are large enough for the client to wait for the server's answer.
            for taker, size in zip(takers, (LIMIT - 4 * MIB, 2 * MIB, 2 * MIB)):
                self.assertEqual(self.ask(taker, "take", size), "taken", self.server.text())
            self.assertEqual([self.ask(taker, "take", 2 * MIB) for taker in takers], [REFUSED] * 3)
            for taker in takers:
                self.end(taker)
            self.server.wait_until_idle()


main()
