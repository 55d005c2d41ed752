"""On a narrow link data that can be compressed is, in both directions, and all results are right; other data is not sent more than once."""

import json

from network import SERVER_ADDRESS, Network, TunnelLink
from support.options import main, skip
from support.remote import RemoteTest

RATE = 4_000_000  # bytes per second
SIDE = 256
PAYLOADS = 3 * 4 * SIDE * SIDE + 2 * 512 * 512  # of the work: three matrices, an image before and after


class NarrowLinks(RemoteTest):
    client_timeout = 60

    def bytes_of(self, contents, **settings):
        """What the work sends in both directions, headers of packets and all."""
        try:
            link = TunnelLink(1)
        except OSError as problem:
            self.skipTest(str(problem))
        self.addCleanup(link.close)
        link.rate = RATE
        token = self.secret()
        server = self.start_server(self.own_folder() / f"{contents}-{len(settings)}", "--token-file", token,
                                   host=SERVER_ADDRESS, prefix=link.inside(0))
        environment = self.client_environment(server.addresses["tcp"], CLEAVE_REMOTE_TOKEN_FILE=token, **settings)
        program = self.start_program("narrow_link_work", contents, 1, SIDE, environment=environment, prefix=link.inside(1))
        out, err = program.communicate(timeout=240)
        self.assertEqual((program.returncode, err), (0, ""), server.text())
        self.assertEqual(set(json.loads(out)), {f"product {SIDE}", "filters"})
        self.assertNoCrash(server)
        return link.bytes

    def test_compressible_data_is_compressed(self):
        self.assertLess(self.bytes_of("numbers"), 0.6 * PAYLOADS)

    def test_it_is_sent_as_it_is_if_that_is_wanted(self):
        self.assertGreater(self.bytes_of("numbers", CLEAVE_REMOTE_COMPRESSION="off"), PAYLOADS)

    def test_noise_arrives_as_well(self):
        self.assertGreater(self.bytes_of("noise"), 0.7 * PAYLOADS)


if __name__ == "__main__":
    if missing := Network.missing():
        skip(f"needs {missing}")
    main()
