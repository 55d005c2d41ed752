"""The work of same_work_natively.py with another_client.py: on standard output is what the former prints, on standard error
what only a client sees. Run by test_another_client.py, with the distribution's Python.

    same_work_remotely.py GENERATED ADDRESS [--token TOKEN] [--silent | --twice]

GENERATED: the folder of what flatc made of messages.fbs."""

import argparse
import struct
import sys
import time

from another_client import HEARTBEAT, Client, Ended, command, number_of, on, size3, text_of
from same_work import BEYOND, BROKEN, COUNT, GROUP, NO_ARGUMENT, OPTIONS, ROUNDS, SIZE, SOURCE, STATE, WRITES, digest, told

# Of CL/cl.h. The facts of a device: with the type of each.
PLATFORM_VERSION, PLATFORM_NAME = 0x0901, 0x0902
DEVICE_FACTS = {"name": (0x102B, None), "version": (0x102F, None), "units": (0x1002, "I"), "bytes": (0x101F, "Q"),
                "group": (0x1004, "N")}
QUEUE_PROPERTIES, QUEUE_PROFILING, PARTITION_EQUALLY = 0x1093, 2, 0x1086
BUILD_LOG, KERNEL_NUM_ARGS, MEM_SIZE = 0x1183, 0x1191, 0x1102
INVALID_VALUE, INVALID_KERNEL, INVALID_WAIT_LIST, WAITED_FOR_WHAT_FAILED = -30, -48, -57, -14


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found}, not {expected}")


def note(what):
    print(what, file=sys.stderr)


def fact(infos, what, param, kind=None):
    """One of `infos`: a string, or a number of the kind that `struct` knows."""
    found = next(bytes(one.bytes) for one in infos if one.what == number_of("What", what) and one.param == param)
    return struct.unpack("=" + kind.replace("N", "Q"), found)[0] if kind else text_of(found)


def list_devices(welcome):
    for platform in welcome.platforms:
        print("platform", fact(platform.infos, "platform", PLATFORM_NAME) + ",",
              fact(platform.infos, "platform", PLATFORM_VERSION))
        for device in platform.devices:
            facts = {name: fact(device.infos, "device", *one) for name, one in DEVICE_FACTS.items()}
            print("device {name}, {version}, {units} units, {bytes} bytes, groups of {group}".format(**facts))


def divide(client, device):
    """Into devices of one unit each: as they are told, and again without a question."""
    units = fact(client.welcome.platforms[0].devices[0].infos, "device", *DEVICE_FACTS["units"])
    first, again, context = client.new_id(units), client.new_id(units), client.new_id()
    parts = client.ask(command("CreateSubDevices", first=first, device=device, properties=[PARTITION_EQUALLY, 1])).devices
    print("parts of", [fact(part.infos, "device", *DEVICE_FACTS["units"]) for part in parts], "units")
    expect([part.id for part in parts], list(range(first, first + units)), "their ids")
    client.send(command("CreateSubDevices", first=again, device=device, properties=[PARTITION_EQUALLY, 1]),
                command("CreateContext", id=context, devices=[again]))
    expect(client.ask(command("Release", ids=[context, *range(first, first + units), *range(again, again + units)])).error,
           0, "a release")


def build(client, context, device, text, options=""):
    """A program, the error of its build, and the log."""
    program = client.new_id()
    answer = client.ask(command("CreateProgramWithSource", text.encode(), id=program, context=context),
                        command("BuildProgram", program=program, devices=[device], options=options))
    return program, answer.error, fact(answer.infos, "program_build", BUILD_LOG)


def launch(kernel):
    return command("NDRange", kernel=kernel, dims=1, global_=size3(COUNT), local=size3(GROUP))


def write(buffer, offset):
    return command("WriteBuffer", STATE, buffer=buffer, offset=offset, size=SIZE)


def number(kernel, index, value):
    return command("SetKernelArg", kernel=kernel, index=index, size=4, value=struct.pack("=I", value))


def read(client, queue, buffer):
    answer = client.ask(on(queue, command("ReadBuffer", b"", SIZE, buffer=buffer, size=SIZE)))
    expect(answer.error, 0, "a read")
    return answer.data


def work(client):
    list_devices(client.welcome)
    device = client.welcome.platforms[0].devices[0].id
    divide(client, device)
    context, queue, kernel, buffer = (client.new_id() for _ in range(4))
    client.send(command("CreateContext", id=context, devices=[device]),
                command("CreateQueue", id=queue, context=context, device=device,
                        properties=[QUEUE_PROPERTIES, QUEUE_PROFILING]))
    broken, error, log = build(client, context, device, BROKEN)
    print(f"broken: {error}")
    print(told(log))
    program, error, _ = build(client, context, device, SOURCE, OPTIONS)
    expect(error, 0, "a build")
    made = client.ask(command("CreateBuffer", id=buffer, context=context, flags=1, size=SIZE),
                      command("CreateKernel", id=kernel, program=program, name="advance"))
    size = client.ask(command("Query", what=number_of("What", "memory"), object=buffer, param=MEM_SIZE))
    print(f"kernel of {fact(made.infos, 'kernel', KERNEL_NUM_ARGS, 'I')} arguments,"
          f" buffer of {struct.unpack('=Q', bytes(size.bytes))[0]} bytes")

    first = client.new_id()
    client.send(*[on(queue, write(buffer, 0)) for _ in range(WRITES)],
                command("SetKernelArg", kernel=kernel, index=0, size=8, kind=number_of("Argument", "object"), object=buffer),
                number(kernel, 1, 0), on(queue, launch(kernel), event=first))
    print(f"after the first round: {digest(read(client, queue, buffer))}")
    end = client.ended(first)
    expect(end.status, 0, "the first launch")
    times = end.times
    expect(0 < times.queued <= times.submit <= times.start <= times.end, True, "its times are in their order")
    rounds(client, context, queue, kernel)
    print(f"after all rounds: {digest(read(client, queue, buffer))}")
    wrong(client, queue, program, kernel, buffer)
    idle(client)
    leave(client, queue, [first, buffer, kernel, program, broken, queue, context], kernel)


def rounds(client, context, queue, kernel):
    """A window of launches behind a user event, and some more, as all of them wait for it; then those that are left."""
    client.settle()
    client.most_under_way = 0
    gate, last = client.new_id(), client.new_id()
    client.send(command("CreateUserEvent", id=gate, context=context))
    window = client.welcome.windowCommands
    for round_ in range(1, window + 1):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel), waits=[gate] if round_ == 1 else None))
    expect(client.has_room(*on(queue, launch(kernel))), False, "there is room beyond the window")
    for round_ in range(window + 1, window + BEYOND + 1):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel)), beyond=True)
    client.hear()
    expect(client.commands_sent - client.commands_ended, window + BEYOND, "launches behind a user event")
    client.send(command("SetUserEventStatus", event=gate, status=0))
    for round_ in range(window + BEYOND + 1, ROUNDS):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel), event=last if round_ == ROUNDS - 1 else 0))
    expect(client.ended(last).status, 0, "the last launch")
    client.send(command("Release", ids=[gate, last]))
    note(f"window of {window}: at most {client.most_under_way} under way")


def wrong(client, queue, program, kernel, buffer):
    """A frame full of mistakes, and others whose errors are asked for. What comes behind them does its work."""
    nobody, refused, behind, no_event = (client.new_id() for _ in range(4))
    client.send(command("CreateKernel", id=nobody, program=program, name="nobody"),
                on(queue, launch(nobody), event=refused),
                on(queue, launch(kernel), event=behind, waits=[refused]),
                number(kernel, NO_ARGUMENT, 0),
                on(queue, write(buffer, SIZE)))
    expect(client.ended(refused).status, INVALID_KERNEL, "a launch of a kernel that is none")
    expect(client.ended(behind).status, WAITED_FOR_WHAT_FAILED, "what waits for it")
    failures = client.failed(4)
    expect([one[:2] for one in failures], [(nobody, 0), (0, queue), (kernel, 0), (0, queue)], "what has failed")
    print(f"a kernel that is not there: {failures[0][2]}")
    expect(failures[1][2], INVALID_KERNEL, "the failure beside an event's")
    print(f"an argument that is not there: {failures[2][2]}")
    print(f"beyond the buffer: {failures[3][2]}")
    beyond = on(queue, command("ReadBuffer", b"", SIZE, buffer=buffer, offset=1, size=SIZE))
    expect(client.ask(beyond).error, INVALID_VALUE, "a read beyond the buffer")
    expect(client.ask(on(queue, write(buffer, SIZE), event=no_event)).error, INVALID_VALUE, "a write beyond the buffer")
    client.send(on(queue, launch(kernel), waits=[no_event]))
    expect(client.failed(1), [(0, queue, INVALID_WAIT_LIST)], "who is told by an Answer has no event")
    client.send(command("Release", ids=[refused, behind]), command("Release", ids=[nobody]))
    expect(client.failed(1), [(0, 0, INVALID_VALUE)], "what was not created cannot be released")


def idle(client):
    """For longer than the server bears silence. Then it still does its work."""
    until = time.monotonic() + 4.5 * HEARTBEAT / 1000
    client.wait_for(lambda: time.monotonic() > until, "the end of a pause")
    client.hear()


def leave(client, queue, ids, kernel):
    expect(client.ask(on(queue, command("FinishQueue"))).error, 0, "a finish")
    client.settle()
    client.send(command("Release", ids=ids), number(kernel, 1, 0))
    expect(client.failed(1), [(kernel, 0, INVALID_KERNEL)], "what has been released")
    client.hear()
    expect(client.pongs, set(range(1, client.pings + 1)), "every Ping has its Pong")
    expect((client.failures, client.answers), ([], {}), "nothing came that was not asked for")
    expect(client.leave(), "", "the server's last words")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("generated")
    parser.add_argument("address")
    parser.add_argument("--token", default="")
    parser.add_argument("--silent", action="store_true", help="comes, and never says anything again")
    parser.add_argument("--twice", action="store_true", help="chooses an id twice")
    chosen = parser.parse_args()
    sys.path.insert(0, chosen.generated)
    try:
        client = Client(chosen.address, chosen.token)
    except Ended as end:
        sys.exit(str(end))
    if chosen.silent:
        client.signs_of_life = False
        note(f"last words: {client.await_end()}")
    elif chosen.twice:
        devices = [client.welcome.platforms[0].devices[0].id]
        client.send(*[command("CreateContext", id=1, devices=devices) for _ in range(2)])
        note(f"last words: {client.await_end()}")
    else:
        work(client)


if __name__ == "__main__":
    main()
