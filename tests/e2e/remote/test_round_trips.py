"""How often a program's calls wait for the server: which of the client's messages request an answer, each of them a round trip
if nothing else is waited for. A call that begins to wait for one by accident changes these numbers."""

import json
import select
import socket
from pathlib import Path

from proxy import Listener
from support.options import OPTIONS, main
from support.processes import run
from support.programs import PYTHON
from support.remote import RemoteTest

HERE = Path(__file__).parent

# Of api_calls.cpp. What is not listed is sent, and nobody waits for it.
ANSWERED = {
    "CreateContext": 1,
    "CreateQueue": 1,
    "CreateSubBuffer": 1,
    "BuildProgram": 1,
    "CreateKernel": 1,
    "SetKernelArg": 2,  # each argument's first value
    "NDRange": 1,  # the first launch of this kernel and size
    "WriteBuffer": 1,  # the blocking one of two
    "ReadBuffer": 2,  # a read, and the contents of a map
    "FinishQueue": 1,
}


class Recorder(Listener):
    """Passes a client's bytes on, and keeps those that it sends."""

    def __init__(self, server):
        self.target = server.removeprefix("tcp:").rpartition(":")
        self.sent = b""
        super().__init__("tcp")

    def serve(self, client):
        with client, socket.create_connection((self.target[0], int(self.target[2]))) as server:
            other = {client: server, server: client}
            while True:
                for one in select.select([*other], [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    if one is client:
                        self.sent += data
                    other[one].sendall(data)


class RoundTrips(RemoteTest):
    def messages_of(self, program, output):
        """How many of each kind a program sends, and how many of them are answered."""
        server = self.start_server("server")
        recorder = Recorder(server.addresses["tcp"])
        self.addCleanup(recorder.close)
        done = self.run_client(self.client_environment(recorder.address, CLEAVE_REMOTE_COMPRESSION="off"), program)
        self.assertEqual((done.returncode, done.stdout), (0, output), done.stderr)
        file = self.own_folder() / "sent"
        file.write_bytes(recorder.sent)
        counted = run(PYTHON, HERE / "answered_messages.py", file, environment=self.environment(
            PYTHONPATH=f"{OPTIONS.programs / 'generated'}:{HERE}"))
        self.assertEqual(counted.returncode, 0, counted.stderr)
        return json.loads(counted.stdout)

    def test_only_these_messages_are_answered(self):
        counts = self.messages_of("api_calls", "done\n")
        self.assertLess({"CreateContext", "CreateBuffer", "NDRange", "WriteBuffer", "SetKernelArg", "FinishQueue"}, {*counts["sent"]})
        self.assertEqual(counts["answered"], ANSWERED)

    def test_maps_move_no_more_than_they_must(self):
        """A map that overwrites reads nothing, one for reading writes nothing."""
        sent = self.messages_of("map_calls", self.run_native(OPTIONS.programs / "map_calls").out)["sent"]
        self.assertEqual((sent["ReadBuffer"], sent["WriteBuffer"]), (3, 2))  # the last read is the program's own


if __name__ == "__main__":
    main()
