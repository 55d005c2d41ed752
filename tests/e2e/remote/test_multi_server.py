"""A context over the devices of two servers behaves like one over a single device, and when one server is lost, the other
still works."""

import subprocess

from support.emulation import as_client
from support.options import OPTIONS, main
from support.remote import RemoteTest

# A driver that executes out-of-order queues in order.
IN_ORDER_DRIVER = (OPTIONS.programs / "in_order_driver.so").resolve(strict=True)

AFTER_LOSS = """\
a command that waits for the lost one: error
the lost command: not available
a launch there: not available
a finish there: not available
a launch on the other server with a lost buffer: not available
a launch with its own buffer: success
a launch with rewritten contents: success
"""
AT_THE_END = """\
a new buffer: success
a launch with it: success
completing the user event: success
a finish: success
"""


class MultiServer(RemoteTest):
    def setUp(self):
        super().setUp()
        self.servers = [self.start("one"), self.start("two")]

    def start(self, name, *options):
        return self.start_server(self.own_folder() / name, *options)

    def addresses(self, *transports):
        return ",".join(server.addresses[transport] for server, transport in zip(self.servers, transports))

    def assertLikeOneDevice(self, program, *arguments):
        command = [OPTIONS.programs / program, *arguments]
        native = self.run_native(*command)
        for method, transports in (("native", ("unix", "unix")), ("native", ("tcp", "unix")), ("preload", ("tcp", "tcp"))):
            run = self.assertSameRemotely(native, method, self.addresses(*transports), *command)
            self.assertEqual(run.err, "", run)
        self.assertNoCrash(*self.servers)

    def test_results_are_those_of_one_device(self):
        self.assertLikeOneDevice("multi_server_commands")

    def test_query_results_are_those_of_one_device(self):
        self.assertLikeOneDevice("multi_server_queries")

    def test_edge_cases_are_those_of_one_device(self):
        self.assertLikeOneDevice("multi_server_edge_cases")

    def test_threads_do_not_exhaust_each_others_windows(self):
        self.assertLikeOneDevice("multi_server_threads")

    def test_random_commands_of_many_threads_are_those_of_one_device(self):
        self.assertLikeOneDevice("many_threads", "100", "3", "6")

    def test_edge_cases_are_the_same_with_a_single_server(self):
        self.servers = self.servers[:1]
        self.assertLikeOneDevice("multi_server_edge_cases")

    def test_drivers_that_execute_out_of_order_queues_in_order(self):
        self.servers = [self.start(name, "--opencl", IN_ORDER_DRIVER) for name in ("three", "four")]
        self.assertLikeOneDevice("multi_server_edge_cases")
        self.assertLikeOneDevice("many_threads", "150", "5", "6")

    def test_losing_one_server_leaves_the_other_usable(self):
        environment = self.client_environment(self.addresses("tcp", "tcp"), CLEAVE_REMOTE_TIMEOUT=3)
        command, environment = as_client([OPTIONS.programs / "server_loss"], environment)
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as program:
            self.addCleanup(program.kill)
            self.assertEqual(program.stdout.readline(), "kill the first server\n")
            self.servers[0].kill()
            out, err = program.communicate("killed\n", timeout=60)
        self.assertEqual((program.returncode, err), (0, ""), out)
        self.assertTrue(out.startswith(AFTER_LOSS), out)
        self.assertTrue(out.endswith(AT_THE_END), out)


if __name__ == "__main__":
    main()
