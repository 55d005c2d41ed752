"""Who has only docs/remote-protocol.md and the schema can write a client, and it finds on a server what is beside the driver."""

import re
import sys
from pathlib import Path

from compare import OPTIONS, ComparedTest, main, needed
from same_work import BEYOND
from serving import MORE_OPTIONS, Server

HERE = Path(__file__).parent
# The distribution's packages belong to the distribution's Python.
PYTHON = "/usr/bin/python3"
WINDOW = 16
TOKEN = "of several words"


class AnotherClient(ComparedTest):
    def server(self, *more):
        wanted = {"--commands-per-client": str(WINDOW), "--data-per-client": "4K", "--timeout": "500", "--heartbeat": "200"}
        options = [word for name, value in wanted.items() if name not in MORE_OPTIONS for word in (name, value)]
        server = Server(self.folder / str(len(list(self.folder.iterdir()))), self.environment(), *options, *more)
        self.addCleanup(server.end)
        return server

    def guarded_server(self):
        tokens = self.folder / "tokens"
        tokens.write_text(f"another\n{TOKEN}\n")
        tokens.chmod(0o600)
        return self.server("--token-file", tokens)

    def run_client(self, server, transport, *options):
        return self.run_program("native", PYTHON, HERE / "same_work_remotely.py", OPTIONS.programs / "generated",
                                server.addresses[transport], *options)

    def assertFindsTheSame(self, server, transport, *options):
        native = self.native(PYTHON, HERE / "same_work_natively.py")
        run = self.run_client(server, transport, *options)
        self.assertSame(native, run)
        told = re.fullmatch(r"window of (\d+): at most (\d+) under way\n", run.err)
        self.assertTrue(told, run)
        if "--commands-per-client" not in MORE_OPTIONS:
            self.assertEqual(int(told[1]), WINDOW, run)
        self.assertEqual(int(told[2]), int(told[1]) + BEYOND, run)
        log = server.log.read_text()
        self.assertNotIn("crashed", log)
        self.assertNotIn("sent away", log)

    def test_it_finds_the_same_over_tcp(self):
        self.assertFindsTheSame(self.server(), "tcp")

    def test_it_finds_the_same_over_a_unix_socket_with_a_token(self):
        self.assertFindsTheSame(self.guarded_server(), "unix", "--token", TOKEN)

    def test_without_the_token_it_is_told_why_it_is_refused(self):
        server = self.guarded_server()
        for options in ((), ("--token", "a wrong one")):
            run = self.run_client(server, "tcp", *options)
            self.assertEqual((run.status, run.out), (1, ""), run)
            self.assertRegex(run.err, r"\Arefused \(token\): .+\n\Z")

    def test_if_it_gives_no_signs_of_life_it_is_gone(self):
        """Without which the pause in its work would prove nothing."""
        server = self.server()
        run = self.run_client(server, "tcp", "--silent")
        self.assertEqual((run.status, run.out, run.err), (0, "", "last words: \n"), run)
        server.wait_for(lambda: "silent for too long" in server.log.read_text(), "it does not say why the client went")

    def test_an_id_that_is_in_use_ends_the_connection_with_a_word(self):
        run = self.run_client(self.server(), "unix", "--twice")
        self.assertEqual((run.status, run.out), (0, ""), run)
        self.assertRegex(run.err, r"\Alast words: .*\bid\b.*\n\Z")


if __name__ == "__main__":
    try:
        needed("/usr/lib/python3/dist-packages/flatbuffers", "python3-flatbuffers")
    except AssertionError as missing:
        sys.exit(str(missing))
    main()
