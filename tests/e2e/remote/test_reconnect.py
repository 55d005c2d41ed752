"""A client whose connection has ended gets a new one when it creates a context: its objects are lost, its devices are not.
And a forked child has connections of its own."""

import os
import signal
import unittest

from support import emulation
from support.options import main
from support.processes import wait_until
from support.programs import driver_icd
from support.remote import DEVICE_LOST, METRICS, RemoteTest


class OneServerTest(RemoteTest):
    transport = "tcp"

    def setUp(self):
        super().setUp()
        self.server = self.start()

    def start(self, *options, before=None, **changes):
        return self.start_server(self.own_folder(), *METRICS, *options, environment=self.environment(**changes),
                                 before=before)

    def connect(self):
        return self.start_client(self.server.addresses[self.transport])

    def assertReplies(self, client, *pairs):
        for command, expected in pairs:
            self.assertEqual(client.execute(command), expected, f"{command}\n{self.server.text()}")


class Reconnecting(OneServerTest):
    def restart(self, *options, **changes):
        if self.server.process.poll() is None:
            self.server.kill()
        self.server = self.start(*options, before=self.server, **changes)

    def test_client_disconnected_for_idleness_works_again(self):
        self.restart("--idle-timeout", "3")  # seconds: on a busy machine a program may pause for one
        client = self.connect()
        for times in (1, 2):
            self.assertReplies(client, ("work", "ok"))
            self.server.wait_for_log("idle for too long", times)
        self.server.wait_until_idle()

    def test_waiting_for_a_command_is_not_idle(self):
        self.restart("--idle-timeout", "1")
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("wait 3", "ok"), ("use", "ok"))

    def test_client_works_on_a_restarted_server(self):
        client = self.connect()
        self.assertReplies(client, ("work", "ok"))
        self.restart()
        self.assertReplies(client, ("work", "ok"), ("available", "1"))

    def test_objects_of_the_old_connection_are_lost(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("use", "ok"))
        self.restart()
        self.assertReplies(client, ("use", DEVICE_LOST), ("work", "ok"), ("use", DEVICE_LOST), ("release", "released"),
                           ("hold", "held"), ("use", "ok"))

    def test_failed_build_request_calls_no_callback(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("build", "0, callbacks 1"))
        self.restart()
        self.assertReplies(client, ("use", DEVICE_LOST), ("build", "-2, callbacks 0"))

    def test_calls_fail_while_there_is_no_server(self):
        client = self.connect()
        self.assertReplies(client, ("work", "ok"))
        self.server.kill()
        self.assertReplies(client, ("work", DEVICE_LOST), ("available", "0"), ("work", DEVICE_LOST))
        self.restart()
        self.assertReplies(client, ("available", "1"), ("work", "ok"))

    def test_other_devices_at_the_address_are_refused(self):
        client = self.connect()
        self.assertReplies(client, ("work", "ok"))
        self.restart(OCL_ICD_VENDORS=driver_icd("oclgrind"))
        self.assertReplies(client, ("work", DEVICE_LOST), ("available", "0"))
        self.server.wait_until_idle()
        self.restart()
        self.assertReplies(client, ("work", "ok"))

    def test_old_connections_leave_no_descriptors(self):
        client = self.connect()
        self.assertReplies(client, ("work", "ok"))
        before = client.execute("descriptors")
        for _ in range(5):
            self.restart()
            self.assertReplies(client, ("hold", "held"), ("work", "ok"), ("release", "released"))
        # A thread of the last but one connection may be about to end.
        wait_until(lambda: client.execute("descriptors") == before, "descriptors are left open")


class ReconnectingOverUnixSocket(Reconnecting):
    transport = "unix"


@unittest.skipIf(emulation.IS_USED, "QEMU's user emulation fails in a forked child of a program with threads")
class Forking(OneServerTest):
    def test_child_works_on_its_own_connection(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("use", "ok"))
        client.send("fork use,release,available,work,hold,fork work")
        replies = [client.reply() for _ in range(8)]
        self.assertRegex(replies[0], r"^child: error -\d+$")
        self.assertEqual(replies[1:], ["child: released", "child: 1", "child: ok", "child: held",
                                       "child: ok", "child: child ended 0", "child ended 0"])
        self.assertReplies(client, ("use", "ok"), ("release", "released"), ("work", "ok"))

    def test_parent_works_while_children_come_and_go(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("forks 40", "all ok"), ("use", "ok"))

    def test_child_does_not_keep_its_parents_connection_open(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"))
        child = int(client.execute("orphan"))
        self.addCleanup(os.kill, child, signal.SIGKILL)
        client.stop()
        self.server.wait_until_idle()

    def test_executed_programs_inherit_no_descriptors(self):
        client = self.connect()
        self.assertReplies(client, ("hold", "held"), ("inherited", "inherited: "))


class ForkingOverUnixSocket(Forking):
    transport = "unix"


if __name__ == "__main__":
    main()
