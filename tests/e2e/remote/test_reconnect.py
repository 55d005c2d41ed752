"""A client whose connection has ended gets a new one when it makes a context: what it had is lost, its devices are not. And a
forked child has connections of its own."""

import os
import signal

from compare import OPTIONS, ComparedTest, main, needed
from serving import Obedient, Server, client_variables, wait_until

TIMEOUT = 20  # seconds, the setting: no call here waits for it
LOST = "error -2"  # CL_DEVICE_NOT_AVAILABLE
OTHER_DRIVER = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"


class WithAServer(ComparedTest):
    transport = "tcp"

    def setUp(self):
        super().setUp()
        self.where = self.folder / self.id().rpartition(".")[2]
        self.server = self.start()

    def start(self, *options, before=None, **changes):
        server = Server(self.where, self.environment(**changes), "--metrics", "tcp:127.0.0.1:0", *options, before=before)
        self.addCleanup(server.end)
        return server

    def begin(self, server=None):
        address = (server or self.server).addresses[self.transport]
        client = Obedient(OPTIONS.programs / "obedient", self.environment(),
                          **client_variables(self.folder, address, TIMEOUT))
        self.addCleanup(client.end)
        return client

    def assertAnswers(self, client, *pairs):
        for words, expected in pairs:
            self.assertEqual(client.ask(words), expected, f"{words}\n{self.server.log.read_text()}")


class Reconnecting(WithAServer):
    def restart(self, *options, **changes):
        if self.server.process.poll() is None:
            self.server.kill()
        self.server = self.start(*options, before=self.server, **changes)

    def test_an_idle_client_that_was_sent_away_works_again(self):
        self.restart("--idle-timeout", "1")
        client = self.begin()
        for times in (1, 2, 3):
            self.assertAnswers(client, ("work", "right"))
            self.server.wait_for(lambda: self.server.log.read_text().count("idle for too long") == times, "it may stay")
        self.server.wait_until_free()

    def test_one_that_waits_for_the_device_is_not_idle(self):
        self.restart("--idle-timeout", "1")
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("linger 3", "right"), ("use", "right"))

    def test_a_new_server_in_its_place_serves_the_client(self):
        client = self.begin()
        self.assertAnswers(client, ("work", "right"))
        self.restart()
        self.assertAnswers(client, ("work", "right"), ("available", "1"))

    def test_what_was_on_the_old_connection_is_lost_until_released(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("use", "right"))
        self.restart()
        self.assertAnswers(client, ("use", LOST), ("work", "right"), ("use", LOST), ("release", "released"),
                           ("hold", "held"), ("use", "right"))

    def test_nobody_is_told_of_a_build_that_could_not_begin(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("build", "0, called 1"))
        self.restart()
        self.assertAnswers(client, ("use", LOST), ("build", "-2, called 0"))

    def test_without_a_server_calls_say_so_and_with_one_they_work(self):
        client = self.begin()
        self.assertAnswers(client, ("work", "right"))
        self.server.kill()
        self.assertAnswers(client, ("work", LOST), ("available", "0"), ("work", LOST))
        self.restart()
        self.assertAnswers(client, ("available", "1"), ("work", "right"))

    def test_other_devices_are_not_taken_for_the_same(self):
        needed(OTHER_DRIVER, "oclgrind")
        client = self.begin()
        self.assertAnswers(client, ("work", "right"))
        self.restart(OCL_ICD_VENDORS=OTHER_DRIVER)
        self.assertAnswers(client, ("work", LOST), ("available", "0"))
        self.server.wait_until_free()
        self.restart()
        self.assertAnswers(client, ("work", "right"))

    def test_connections_that_are_not_used_any_more_leave_nothing_behind(self):
        client = self.begin()
        self.assertAnswers(client, ("work", "right"))
        before = client.ask("descriptors")
        for _ in range(5):
            self.restart()
            self.assertAnswers(client, ("hold", "held"), ("work", "right"), ("release", "released"))
        # A thread of the last but one connection may be about to end.
        wait_until(lambda: client.ask("descriptors") == before, "descriptors are left open")


class ReconnectingOnThisMachine(Reconnecting):
    transport = "unix"


class Forking(WithAServer):
    def test_a_child_works_on_a_connection_of_its_own(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("use", "right"))
        client.tell("fork use,release,available,work,hold,fork work")
        answers = [client.answer() for _ in range(8)]
        self.assertRegex(answers[0], r"^child: error -\d+$")
        self.assertEqual(answers[1:], ["child: released", "child: 1", "child: right", "child: held",
                                       "child: right", "child: child ended 0", "child ended 0"])
        self.assertAnswers(client, ("use", "right"), ("release", "released"), ("work", "right"))

    def test_children_come_and_go_while_the_parent_works(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("forks 40", "all right"), ("use", "right"))

    def test_a_child_does_not_keep_its_parents_connection_open(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"))
        child = int(client.ask("orphan"))
        self.addCleanup(os.kill, child, signal.SIGKILL)
        client.end()
        self.server.wait_until_free()

    def test_programs_that_it_starts_inherit_nothing(self):
        client = self.begin()
        self.assertAnswers(client, ("hold", "held"), ("open", "inherited: "))


class ForkingOnThisMachine(Forking):
    transport = "unix"


if __name__ == "__main__":
    main()
