"""A client can be written from docs/remote-protocol.md and the schema alone, and finds on a server what a local driver
offers."""

import json
import re
import sys
from pathlib import Path

from support.options import OPTIONS, main
from support.processes import cleave, require_installed
from support.programs import PYTHON
from support.remote import EXTRA_SERVER_OPTIONS, RemoteTest
from workload import BEYOND

HERE = Path(__file__).parent
WINDOW = 16
TOKEN = "of several words"


class PythonClient(RemoteTest):
    def start(self, *more):
        wanted = {"--commands-per-client": str(WINDOW), "--data-per-client": "4K", "--timeout": "500", "--heartbeat": "200"}
        options = [word for name, value in wanted.items() if name not in EXTRA_SERVER_OPTIONS for word in (name, value)]
        return self.start_server(self.own_folder(), *options, *more)

    def start_with_token(self):
        return self.start("--token-file", self.secret(f"another\n{TOKEN}\n"))

    def run_python_client(self, server, transport, *options):
        return self.run_program("native", PYTHON, HERE / "workload_python_client.py", OPTIONS.programs / "generated",
                                server.addresses[transport], *options)

    def assertWorksAsNatively(self, server, transport, *options):
        native = self.run_native(PYTHON, HERE / "workload_native.py")
        run = self.run_python_client(server, transport, *options)
        self.assertEqual(run.status, 0, f"{run}\n{server.text()}")
        self.assertSameOutput(native, run)
        window = re.fullmatch(r"window of (\d+): at most (\d+) in flight\n", run.err)
        self.assertTrue(window, run)
        if "--commands-per-client" not in EXTRA_SERVER_OPTIONS:
            self.assertEqual(int(window[1]), WINDOW, run)
        self.assertEqual(int(window[2]), int(window[1]) + BEYOND, run)
        self.assertNoCrash(server)
        self.assertNotIn("protocol violation", server.text())

    def test_works_over_tcp_with_a_server_that_traces(self):
        """The client is as one of an older version: it compares no clocks, and leaves no file."""
        traces, out = self.own_folder() / "traces", self.own_folder() / "merged.json"
        traces.mkdir(parents=True)
        server = self.start("--trace", traces)
        self.assertWorksAsNatively(server, "tcp")
        server.stop()
        (trace,) = traces.iterdir()
        done = cleave("trace", "merge", out, trace, environment=self.environment())
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, rf"\Acleave: {trace}: no file is of its client .+ missing and not aligned\n\Z")
        commands = sum(event.get("cat") == "request" for event in json.loads(out.read_text(encoding="utf-8")))
        self.assertGreater(commands, WINDOW)

    def test_works_over_a_unix_socket_with_a_token(self):
        self.assertWorksAsNatively(self.start_with_token(), "unix", "--token", TOKEN)

    def test_refusal_for_a_missing_token_has_a_reason(self):
        server = self.start_with_token()
        for options in ((), ("--token", "a wrong one")):
            run = self.run_python_client(server, "tcp", *options)
            self.assertEqual((run.status, run.out), (1, ""), run)
            self.assertRegex(run.err, r"\Arefused \(token\): .+\n\Z")

    def test_client_without_heartbeats_is_disconnected(self):
        """Without this the pause in the workload would prove nothing."""
        server = self.start()
        run = self.run_python_client(server, "tcp", "--silent")
        self.assertEqual((run.status, run.out, run.err), (0, "", "goodbye: \n"), run)
        server.wait_for_log("silent for too long")

    def test_reused_id_ends_the_connection_with_a_reason(self):
        run = self.run_python_client(self.start(), "unix", "--reuse-id")
        self.assertEqual((run.status, run.out), (0, ""), run)
        self.assertRegex(run.err, r"\Agoodbye: .*\bid\b.*\n\Z")


if __name__ == "__main__":
    try:
        require_installed("/usr/lib/python3/dist-packages/flatbuffers", "python3-flatbuffers")
    except AssertionError as missing:
        sys.exit(str(missing))
    main()
