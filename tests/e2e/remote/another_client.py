"""A client of cleave-serverd that has nothing of Cleave's own: it is written after docs/remote-protocol.md and messages.fbs
alone, so that others can be. same_work_remotely.py is a program that uses it.

What flatc makes of the schema (`flatc --python --gen-object-api`) has to be on Python's path. A client reads and sends in
one thread: whatever it waits for, it waits in take(), which gives its signs of life."""

import importlib
import select
import socket
import struct
import sys
import time

import flatbuffers

HELLO, WELCOME, COMMANDS, EVENTS = 1, 2, 3, 4  # kinds of frames
HEADER = struct.Struct("<IHHQ")  # the size of the message, the kind, 0, the size of the payload
HEARTBEAT = 1500  # ms: a server takes this client for gone after three of them, or its own --timeout if that is longer
PATIENCE = 120  # seconds without a byte, after which the server is taken for gone, unless it has announced more


class Ended(Exception):
    """The connection, by the server; with its last words."""


def wire(name):
    return importlib.import_module(f"cleave.remote.wire.{name}")


def number_of(enum, name):
    return getattr(getattr(wire(enum), enum), name)


def name_of(enum, number):
    return next(name for name, one in vars(getattr(wire(enum), enum)).items() if one == number)


def table(kind, /, **fields):
    """A message or a part of one. flatc calls a field most_memory mostMemory, and `global` global_."""
    made = getattr(wire(kind), kind + "T")()
    for field, value in fields.items():
        first, *others = field.split("_")
        field = first + "".join(word.capitalize() or "_" for word in others)
        assert hasattr(made, field), f"{kind} has no {field}"
        setattr(made, field, value)
    return made


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
        self.heard = self.said = time.monotonic()
        self.silence = PATIENCE
        self.signs_of_life = False  # that it gives, not the server
        self.last_id = 1 << 63  # its ids count down from there
        self.last_request = self.pings = 0
        self.answers, self.completions, self.pongs, self.failures = {}, {}, set(), []
        # Of the connection, so far; what has ended as the server tells it.
        self.commands_sent = self.commands_ended = self.bytes_sent = self.bytes_ended = self.most_under_way = 0
        order = number_of("ByteOrder", sys.byteorder)
        self.put(HELLO, table("Hello", version=1, oldest=1, byte_order=order, token=token, name="another client",
                              heartbeat=HEARTBEAT, **hello))
        kind, message, _ = self.take_frame()
        assert kind == WELCOME, f"a frame of the kind {kind} in place of a Welcome"
        self.welcome = unpack("Welcome", message)
        if self.welcome.refusal != number_of("Refusal", "none"):
            raise Ended(f"refused ({name_of('Refusal', self.welcome.refusal)}): {text_of(self.welcome.text)}")
        self.silence = max(PATIENCE, 3 * self.welcome.heartbeat / 1000)
        self.signs_of_life = True

    def await_end(self):
        """The server's last words."""
        try:
            while True:
                self.take_events()
        except Ended as end:
            return str(end)

    def leave(self):
        """The protocol has no word for it."""
        self.socket.shutdown(socket.SHUT_WR)
        last_words = self.await_end()
        self.socket.close()
        return last_words

    # ---- frames

    def put(self, kind, message, payload=b""):
        builder = flatbuffers.Builder(1024)
        builder.Finish(message.Pack(builder))
        body = bytes(builder.Output())
        self.said = time.monotonic()
        try:
            self.socket.sendall(HEADER.pack(len(body), kind, 0, len(payload)) + body + payload)
        except (BrokenPipeError, ConnectionResetError):
            pass  # What the server has said last is still to be read.

    def take(self, size):
        while len(self.received) < size:
            now = time.monotonic()
            if now > self.heard + self.silence:
                raise Ended("the server is silent")
            if self.signs_of_life and now >= self.said + HEARTBEAT / 2000:
                self.ping()
            wait = self.said + HEARTBEAT / 2000 - now if self.signs_of_life else self.heard + self.silence - now
            if not select.select([self.socket], [], [], max(wait, 0))[0]:
                continue
            try:
                read = self.socket.recv(1 << 20)
            except ConnectionResetError:
                read = b""
            if not read:
                raise Ended("")
            self.received += read
            self.heard = time.monotonic()
        taken, self.received = self.received[:size], self.received[size:]
        return taken

    def take_frame(self):
        message, kind, _, payload = HEADER.unpack(self.take(HEADER.size))
        return kind, self.take(message), self.take(payload)

    # ---- what the server says

    def take_events(self):
        kind, message, payload = self.take_frame()
        assert kind == EVENTS, f"a frame of the kind {kind} in place of events"
        events = unpack("Events", message)
        for item in events.items or []:
            data, payload = payload[: item.payload], payload[item.payload :]
            getattr(self, "take_" + name_of("Event", item.eventType))(item.event, data)
        assert not payload, "a payload that belongs to no item"
        self.commands_ended, self.bytes_ended = events.commandsEnded, events.bytesEnded

    def take_Answer(self, answer, data):
        assert answer.request, "an Answer that nobody asked for"
        earlier = self.answers.get(answer.request)
        answer.data = (earlier.data if earlier else b"") + data
        self.answers[answer.request] = answer

    def take_Completion(self, completion, _):
        self.completions[completion.event] = completion

    def take_Failure(self, failure, _):
        self.failures.append((failure.object, failure.queue, failure.error))

    def take_Output(self, _, data):
        """What kernels print, and drivers: not what this is about."""

    def take_Pong(self, pong, _):
        self.pongs.add(pong.number)

    def take_Goodbye(self, goodbye, _):
        raise Ended(text_of(goodbye.text))

    def wait_for(self, condition, what):
        until = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > until:
                raise Ended(f"{what} does not come")
            self.take_events()

    # ---- commands

    def new_id(self, count=1):
        """The first of so many that follow each other."""
        self.last_id -= count
        return self.last_id

    def send(self, *commands, beyond=False):
        """As one frame, or as several where there is no room in the windows for all at once. `beyond`: whether there is or
        not, as all that is under way waits for a user event."""
        ready = []
        for one, data, asked in commands:
            if not beyond and not self.has_room(one, data, asked):
                self.put_commands(ready)
                ready = []
                self.wait_for(lambda one=one, data=data, asked=asked: self.has_room(one, data, asked), "room")
            if one.queue:
                self.commands_sent += 1
                self.bytes_sent += len(data) + asked
            self.most_under_way = max(self.most_under_way, self.commands_sent - self.commands_ended)
            ready.append((one, data))
        self.put_commands(ready)

    def put_commands(self, ready):
        if ready:
            message = table("Commands", commands=[one for one, _ in ready])
            self.put(COMMANDS, message, b"".join(data for _, data in ready))

    def has_room(self, one, data, asked):
        commands, size = self.commands_sent - self.commands_ended, self.bytes_sent - self.bytes_ended
        return not one.queue or (commands < self.welcome.windowCommands and (
            size < self.welcome.windowBytes or not data and not asked))

    def ask(self, *commands):
        """Sends them; the last one's answer."""
        self.last_request += 1
        last, _, asked = commands[-1]
        last.request = self.last_request
        self.send(*commands)
        self.wait_for(lambda: last.request in self.answers and not self.answers[last.request].more,
                      "an answer")
        answer = self.answers.pop(last.request)
        if answer.error:
            self.bytes_sent -= asked - len(answer.data)  # What has not come will not, and is not told as ended.
        return answer

    def ping(self):
        self.pings += 1
        self.put(COMMANDS, table("Commands", commands=[command("Ping", number=self.pings)[0]]))
        return self.pings

    def ended(self, event):
        self.wait_for(lambda: event in self.completions, "a Completion")
        return self.completions[event]

    def settle(self):
        """Until nothing is under way, by the client's account and the server's."""
        self.wait_for(lambda: (self.commands_ended, self.bytes_ended) == (self.commands_sent, self.bytes_sent),
                      f"the end of {self.commands_sent} commands and {self.bytes_sent} bytes")

    def failed(self, count):
        """So many failures, in their order: the object, the queue and the error of each."""
        self.wait_for(lambda: len(self.failures) >= count, f"{count} failures")
        taken, self.failures = self.failures[:count], self.failures[count:]
        return taken

    def hear(self):
        """What the server has had to say of all that was sent before, but of what takes its time."""
        last = self.ping()
        self.wait_for(lambda: last in self.pongs, "a Pong")


def command(kind, data=b"", asked=0, /, **fields):
    """It, its payload, and of how many bytes the data is that it asks for."""
    body = table(kind, **fields)
    return table("Command", payload=len(data), body_type=number_of("Body", kind), body=body), data, asked


def on(queue, one, event=0, waits=None):
    """A command of that queue."""
    one[0].queue, one[0].event, one[0].waits = queue, event, waits
    return one
