"""A client of cleave-serverd that shares no code with Cleave: it is written from docs/remote-protocol.md and messages.fbs
alone, to show that others can be. workload_python_client.py is a program that uses it.

The code that flatc generates from the schema (`flatc --python --gen-object-api`) has to be on Python's path. A client reads
and sends in one thread: it waits only in receive(), which sends its heartbeats."""

import importlib
import select
import socket
import struct
import sys
import time

import flatbuffers

HELLO, WELCOME, COMMANDS, EVENTS = 1, 2, 3, 4  # kinds of frames
HEADER = struct.Struct("<IHHQ")  # the size of the message, the kind, 0, the size of the payload
HEARTBEAT = 1500  # ms: a server takes this client for lost after three of them, or its own --timeout if that is longer
SILENCE_TIMEOUT = 120  # seconds without a byte after which the server is taken for lost, unless it has announced more


class Disconnected(Exception):
    """By the server; with the reason that it gave."""


def wire(name):
    return importlib.import_module(f"cleave.remote.wire.{name}")


def number_of(enum, name):
    return getattr(getattr(wire(enum), enum), name)


def name_of(enum, number):
    return next(name for name, one in vars(getattr(wire(enum), enum)).items() if one == number and not name.startswith("_"))


def table(kind, /, **fields):
    """A message or a part of one. flatc names a field most_memory mostMemory, and `global` global_."""
    message = getattr(wire(kind), kind + "T")()
    for field, value in fields.items():
        first, *others = field.split("_")
        field = first + "".join(word.capitalize() or "_" for word in others)
        assert hasattr(message, field), f"{kind} has no {field}"
        setattr(message, field, value)
    return message


def unpack(name, message):
    return getattr(wire(name), name + "T").InitFromObj(getattr(wire(name), name).GetRootAs(message))


def size3(x, y=1, z=1):
    return table("Size3", x=x, y=y, z=z)


def text_of(value):
    """Of a string, or of the bytes of an Info that are one: OpenCL's end with a zero."""
    return bytes([] if value is None else value).rstrip(b"\0").decode()


class Client:
    def __init__(self, address, token="", **hello):
        kind, _, place = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host, int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.last_received = self.last_sent = time.monotonic()
        self.silence = SILENCE_TIMEOUT
        self.sends_heartbeats = False
        self.last_id = 1 << 63  # its ids count down from there
        self.last_request = self.pings = 0
        self.answers, self.completions, self.pongs, self.failures = {}, {}, set(), []
        # Totals of the connection; what has ended as the server reports it.
        self.commands_sent = self.commands_ended = self.bytes_sent = self.bytes_ended = self.most_in_flight = 0
        order = number_of("ByteOrder", sys.byteorder)
        self.send_frame(HELLO, table("Hello", version=1, oldest=1, byte_order=order, token=token, name="Python client",
                              heartbeat=HEARTBEAT, **hello))
        kind, message, _ = self.receive_frame()
        assert kind == WELCOME, f"a frame of the kind {kind} in place of a Welcome"
        self.welcome = unpack("Welcome", message)
        if self.welcome.refusal != number_of("Refusal", "none"):
            raise Disconnected(f"refused ({name_of('Refusal', self.welcome.refusal)}): {text_of(self.welcome.text)}")
        self.silence = max(SILENCE_TIMEOUT, 3 * self.welcome.heartbeat / 1000)
        self.sends_heartbeats = True

    def await_end(self):
        """The server's goodbye."""
        try:
            while True:
                self.receive_events()
        except Disconnected as end:
            return str(end)

    def disconnect(self):
        """The protocol has no message for it."""
        self.socket.shutdown(socket.SHUT_WR)
        goodbye = self.await_end()
        self.socket.close()
        return goodbye

    # ---- frames

    def send_frame(self, kind, message, payload=b""):
        builder = flatbuffers.Builder(1024)
        builder.Finish(message.Pack(builder))
        body = bytes(builder.Output())
        self.last_sent = time.monotonic()
        try:
            self.socket.sendall(HEADER.pack(len(body), kind, 0, len(payload)) + body + payload)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The server's last messages are still to be read.

    def receive(self, size):
        while len(self.received) < size:
            now = time.monotonic()
            if now > self.last_received + self.silence:
                raise Disconnected("the server is silent")
            if self.sends_heartbeats and now >= self.last_sent + HEARTBEAT / 2000:
                self.ping()
            wait = self.last_sent + HEARTBEAT / 2000 - now if self.sends_heartbeats else self.last_received + self.silence - now
            if not select.select([self.socket], [], [], max(wait, 0))[0]:
                continue
            try:
                read = self.socket.recv(1 << 20)
            except ConnectionResetError:
                read = b""
            if not read:
                raise Disconnected("")
            self.received += read
            self.last_received = time.monotonic()
        data, self.received = self.received[:size], self.received[size:]
        return data

    def receive_frame(self):
        message, kind, _, payload = HEADER.unpack(self.receive(HEADER.size))
        return kind, self.receive(message), self.receive(payload)

    # ---- the server's messages

    def receive_events(self):
        kind, message, payload = self.receive_frame()
        assert kind == EVENTS, f"a frame of the kind {kind} in place of events"
        events = unpack("Events", message)
        for item in events.items or []:
            data, payload = payload[: item.payload], payload[item.payload :]
            getattr(self, "on_" + name_of("Event", item.eventType))(item.event, data)
        assert not payload, "a payload that belongs to no item"
        self.commands_ended, self.bytes_ended = events.commandsEnded, events.bytesEnded

    def on_Answer(self, answer, data):
        assert answer.request, "an Answer without a request"
        earlier = self.answers.get(answer.request)
        answer.data = (earlier.data if earlier else b"") + data
        self.answers[answer.request] = answer

    def on_Completion(self, completion, _):
        self.completions[completion.event] = completion

    def on_Failure(self, failure, _):
        self.failures.append((failure.object, failure.queue, failure.error))

    def on_Output(self, _, data):
        """The output of kernels and drivers, which this client ignores."""

    def on_Pong(self, pong, _):
        self.pongs.add(pong.number)

    def on_Goodbye(self, goodbye, _):
        raise Disconnected(text_of(goodbye.text))

    def wait_for(self, condition, what):
        until = time.monotonic() + SILENCE_TIMEOUT
        while not condition():
            if time.monotonic() > until:
                raise Disconnected(f"{what} does not come")
            self.receive_events()

    # ---- commands

    def new_id(self, count=1):
        """The first of so many consecutive ids."""
        self.last_id -= count
        return self.last_id

    def send(self, *commands, beyond=False):
        """In one frame, or in several if the windows have no room for all at once. `beyond`: regardless of the windows, as
        everything in flight waits for a user event."""
        ready = []
        for one, data, asked in commands:
            if not beyond and not self.has_room(one, data, asked):
                self.send_commands(ready)
                ready = []
                self.wait_for(lambda one=one, data=data, asked=asked: self.has_room(one, data, asked), "room")
            if one.queue:
                self.commands_sent += 1
                self.bytes_sent += len(data) + asked
            self.most_in_flight = max(self.most_in_flight, self.commands_sent - self.commands_ended)
            ready.append((one, data))
        self.send_commands(ready)

    def send_commands(self, ready):
        if ready:
            message = table("Commands", commands=[one for one, _ in ready])
            self.send_frame(COMMANDS, message, b"".join(data for _, data in ready))

    def has_room(self, one, data, asked):
        commands, size = self.commands_sent - self.commands_ended, self.bytes_sent - self.bytes_ended
        return not one.queue or (commands < self.welcome.windowCommands and (
            size < self.welcome.windowBytes or not data and not asked))

    def ask(self, *commands):
        """Sends them, and returns the answer to the last one."""
        self.last_request += 1
        last, _, asked = commands[-1]
        last.request = self.last_request
        self.send(*commands)
        self.wait_for(lambda: last.request in self.answers and not self.answers[last.request].more,
                      "an answer")
        answer = self.answers.pop(last.request)
        if answer.error:
            self.bytes_sent -= asked - len(answer.data)  # What has not come will not, and is not reported as ended.
        return answer

    def ping(self):
        self.pings += 1
        self.send_frame(COMMANDS, table("Commands", commands=[command("Ping", number=self.pings)[0]]))
        return self.pings

    def ended(self, event):
        self.wait_for(lambda: event in self.completions, "a Completion")
        return self.completions[event]

    def settle(self):
        """Waits until nothing is in flight, in the client's count and the server's."""
        self.wait_for(lambda: (self.commands_ended, self.bytes_ended) == (self.commands_sent, self.bytes_sent),
                      f"the end of {self.commands_sent} commands and {self.bytes_sent} bytes")

    def failed(self, count):
        """Waits for so many failures, in their order: the object, the queue and the error of each."""
        self.wait_for(lambda: len(self.failures) >= count, f"{count} failures")
        first, self.failures = self.failures[:count], self.failures[count:]
        return first

    def synchronize(self):
        """Waits for the server's messages about all that was sent before, but for commands that are still executed."""
        last = self.ping()
        self.wait_for(lambda: last in self.pongs, "a Pong")


def command(kind, data=b"", asked=0, /, **fields):
    """A command, its payload, and how many bytes of data it requests."""
    body = table(kind, **fields)
    return table("Command", payload=len(data), body_type=number_of("Body", kind), body=body), data, asked


def on(queue, one, event=0, waits=None):
    """Puts a command on that queue."""
    one[0].queue, one[0].event, one[0].waits = queue, event, waits
    return one
