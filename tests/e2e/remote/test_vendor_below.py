"""A server that finds its driver through the vendor library avoids the driver's faults."""

from support.options import OPTIONS, main
from support.remote import RemoteTest


class VendorBelow(RemoteTest):
    def test_launch_behind_a_failed_event_does_not_end_the_worker(self):
        native = self.run_native(*OPTIONS.program)
        for name in ("marked", "original"):
            with self.subTest(name=name):
                environment = self.with_vendor_below(self.environment(CLEAVE_SPLIT="fixed:7", CLEAVE_MIN_ITEMS="0"), name)
                server = self.start_server(name, environment=environment)
                self.assertSameRemotely(native, "native", server.addresses["unix"], *OPTIONS.program)
                self.assertNoCrash(server)


if __name__ == "__main__":
    main()
