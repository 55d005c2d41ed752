"""Measures what compression does on narrow links: the work of narrow_link_work.cpp on a server's device, with compression and
without it, in turns, on a tunnel whose packets this process delays. Needs the rights to create network namespaces.

    CLEAVE_TEST_LINKS='10:20 100:1' PYTHONPATH=tests/e2e python3 tests/e2e/remote/narrow_links.py \\
      --cleave $PWD/build/release/bin/cleave --programs $PWD/build/release/tests/e2e/remote

CLEAVE_TEST_LINKS: MBIT/S:MILLISECONDS of each; without it nine, which takes half an hour. A delay is that of one direction. Prints a table in Markdown."""

import json
import os
import statistics

from network import SERVER_ADDRESS, TunnelLink
from support.options import main
from support.remote import RemoteTest

LINKS = os.environ.get("CLEAVE_TEST_LINKS", "1:1 1:20 1:100 10:1 10:20 10:100 100:1 100:20 100:100").split()
SIDES = (64, 128, 256, 512)
TURNS = 3


class Measurement(RemoteTest):
    client_timeout = 600

    def test_measure(self):
        token = self.secret()
        print("| Mbit/s, ms | contents | what | ms without | ms with | times |\n|---|---|---|---|---|---|", flush=True)
        for words in LINKS:
            rate, delay = map(int, words.split(":"))
            link = TunnelLink(1)
            link.rate, link.delay = rate * 125_000, delay / 1000
            server = self.new_server(f"server-{rate}-{delay}", "--token-file", token, "--timeout", "600000",
                                     host=SERVER_ADDRESS, prefix=link.inside(0))
            try:
                self.measure(words, rate, link, server, token)
            finally:
                server.stop()
                link.close()

    def measure(self, words, rate, link, server, token):
        sides = SIDES[:2] if rate == 1 else SIDES  # a product of 512 takes half a minute at 1 Mbit/s
        for contents in ("numbers", "noise"):
            found = {"off": [], "auto": []}
            for _ in range(TURNS):
                for compression, runs in found.items():
                    environment = self.client_environment(
                        server.addresses["tcp"], CLEAVE_REMOTE_TOKEN_FILE=token, CLEAVE_REMOTE_COMPRESSION=compression)
                    program = self.start_program("narrow_link_work", contents, 1 if rate == 1 else 3, *sides,
                                                 environment=environment, prefix=link.inside(1))
                    out, err = program.communicate(timeout=900)
                    self.assertEqual((program.returncode, err), (0, ""), server.text())
                    runs.append(json.loads(out))
            for what in found["off"][0]:
                off, auto = (statistics.median(run[what] for run in found[name]) * 1000 for name in ("off", "auto"))
                print(f"| {words.replace(':', ', ')} | {contents} | {what} | {off:.0f} | {auto:.0f} | {off / auto:.2f} |", flush=True)


if __name__ == "__main__":
    main()
