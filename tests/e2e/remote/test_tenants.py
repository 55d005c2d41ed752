"""What the server's file of clients grants them, and what they themselves say, reaches the turns of their workers."""

from support.options import main
from support.processes import wait_until
from support.remote import RemoteTest

CLIENTS = """
[alice]
token = "first"
weight = 300
priority = "background"

[bob]
token = "second"
"""


class Tenants(RemoteTest):
    def setUp(self):
        super().setUp()
        self.registry = self.own_folder() / "registry"
        self.registry.mkdir()
        self.clients = self.secret(CLIENTS, "clients.toml")
        self.server = self.start_server(self.own_folder() / "server", "--sandbox", "off", "--user", "root", "--mixed-tenants",
                                        "--clients-file", self.clients,
                                        environment=self.environment(**self.settings(), CLEAVE_WEIGHT=7))

    def settings(self):
        return {"CLEAVE_TURNS": "on", "CLEAVE_REGISTRY": self.registry}

    def work(self, token):
        """As a program that would like to have more."""
        client = self.start_client(self.server.addresses["unix"], CLEAVE_REMOTE_TOKEN_FILE=self.secret(token, token),
                                   CLEAVE_WEIGHT=10000, CLEAVE_PRIORITY="high", CLEAVE_CAP="off", CLEAVE_TENANT="bob")
        self.assertEqual(client.execute("work"), "ok", self.server.text())
        return client

    def shares(self):
        devices = self.shared_devices(self.environment(**self.settings()))
        return sorted((each["weight"], each["class"]) for device in devices for each in device["participants"])

    def test_shares_are_the_operators(self):
        clients = [self.work(token) for token in ("first", "second")]
        wait_until(lambda: self.shares() == [(7, "normal"), (300, "background")], f"they have {self.shares()}")
        for client in clients:
            client.stop()


if __name__ == "__main__":
    main()
