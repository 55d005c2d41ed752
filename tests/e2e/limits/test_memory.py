"""Memory limits on a real driver: by every way in, for forked children, for a tenant's processes, and while they change."""

from limits_test import LimitsTest
from support.options import main
from support.processes import wait_until

MIB = 1 << 20
LIMIT = 8 * MIB
REFUSED = "-4"  # CL_MEM_OBJECT_ALLOCATION_FAILURE
TOO_LARGE = "-61"  # CL_INVALID_BUFFER_SIZE: more than the device says that a buffer may have


class MemoryTest(LimitsTest):
    def expect_exact(self, taker):
        self.assertEqual(self.ask(taker, "take", LIMIT + 1), TOO_LARGE)
        self.assertEqual(self.ask(taker, "take", LIMIT - 5), "taken")
        self.assertEqual(self.ask(taker, "take", 6), REFUSED)
        self.assertEqual(self.ask(taker, "take", 5), "taken")
        self.assertEqual(self.ask(taker, "svm", 1), "null")
        self.assertEqual([self.ask(taker, "give") for _ in range(2)], ["given"] * 2)
        self.assertEqual(self.ask(taker, "svm", LIMIT), "taken")
        self.assertEqual(self.ask(taker, "take", LIMIT), "taken")

    def test_limit_is_exact_by_every_way_in(self):
        for method in ("preload", "layer", "run", "preload_and_layer"):
            with self.subTest(method):
                taker = self.start_taker(method=method, CLEAVE_MEMORY_LIMIT="8M")
                self.assertEqual(self.ask(taker, "says"), f"{LIMIT} {LIMIT}")
                self.expect_exact(taker)

    def test_limit_is_exact_below_the_vendor_library(self):
        taker = self.start_taker(method="native", CLEAVE_MEMORY_LIMIT="8M",
                                 **self.with_vendor_below(self.environment(), "original"))
        self.assertEqual(self.ask(taker, "says"), f"{LIMIT} {LIMIT}")
        self.expect_exact(taker)

    def test_without_a_registry_the_limit_holds_for_the_process(self):
        self.expect_exact(self.start_taker(CLEAVE_MEMORY_LIMIT="8M", CLEAVE_REGISTRY="off"))

    def test_forked_children_have_it_too(self):
        taker = self.start_taker(CLEAVE_MEMORY_LIMIT="8M")
        self.assertEqual(self.ask(taker, "fork", LIMIT + 1), TOO_LARGE)
        self.assertEqual(self.ask(taker, "fork", LIMIT), "taken")

    def test_a_tenants_processes_share_it_and_the_killed_keep_nothing(self):
        alice, more = ({"CLEAVE_MEMORY_LIMIT": "8M", "CLEAVE_TENANT": "alice"} for _ in range(2))
        first, second = self.start_taker(**alice), self.start_taker(**more)
        stranger = self.start_taker(CLEAVE_MEMORY_LIMIT="8M", CLEAVE_TENANT="bob")
        self.assertEqual(self.ask(first, "take", 5 * MIB), "taken")
        self.assertEqual(self.ask(second, "take", 3 * MIB + 1), REFUSED)
        self.assertEqual(self.ask(second, "take", 3 * MIB), "taken")
        self.assertEqual(self.ask(stranger, "take", LIMIT), "taken")
        first.kill()
        first.wait()
        self.assertEqual(self.ask(second, "take", 5 * MIB), "taken")
        self.assertEqual(self.ask(second, "take", 1), REFUSED)

    def test_a_limit_that_changes_takes_effect(self):
        settings = {"CLEAVE_TENANT": "alice", "CLEAVE_CONFIG": self.file('[tenants.alice]\nmemory = "1M"\n')}
        taker = self.start_taker(**settings)
        self.assertEqual(self.ask(taker, "take", 2 * MIB), TOO_LARGE)
        self.file('[tenants.alice]\nmemory = "3M"\n')
        wait_until(lambda: self.ask(taker, "take", 2 * MIB) == "taken", "the new limit does not take effect")
        self.file('[tenants.alice]\nmemory = "2M"\n')
        wait_until(lambda: self.ask(taker, "says") == f"{2 * MIB} {2 * MIB}", "the lower limit does not take effect")
        self.assertEqual(self.ask(taker, "take", 1), REFUSED)


main()
