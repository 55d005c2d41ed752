"""A server's device does not offer command buffers, though its driver has them: neither the name nor a function."""

from support.options import OPTIONS, main
from support.remote import RemoteTest


class CommandBuffers(RemoteTest):
    def test_are_not_offered(self):
        server = self.start_server(self.own_folder())
        self.assertIn("offered: yes, functions: 6 of 6", self.run_native(*OPTIONS.program).out)
        for method in ("native", "preload"):
            run = self.run_remotely(method, server.addresses["unix"], *OPTIONS.program)
            self.assertEqual(run.status, 0, run)
            self.assertIn("offered: no, functions: 0 of 6", run.out, run)
        self.assertNoCrash(server)


if __name__ == "__main__":
    main()
