"""The workload of workload_native.py with python_client.py: standard output has what the former prints, standard error what
only a client sees. Run by test_python_client.py, with the distribution's Python.

    workload_python_client.py GENERATED ADDRESS [--token TOKEN] [--silent | --reuse-id]

GENERATED: the folder of what flatc made of messages.fbs."""

import argparse
import struct
import sys
import time

from python_client import HEARTBEAT, Client, Disconnected, command, number_of, on, size3, text_of
from workload import (BEYOND, BROKEN, COUNT, GROUP, NO_ARGUMENT, OPTIONS, ROUNDS, SIZE, SOURCE, STATE, WRITES, digest,
                      without_file_names)

# Of CL/cl.h. The properties of a device, each with its type.
PLATFORM_VERSION, PLATFORM_NAME = 0x0901, 0x0902
DEVICE_PROPERTIES = {"name": (0x102B, None), "version": (0x102F, None), "units": (0x1002, "I"), "bytes": (0x101F, "Q"),
                     "group": (0x1004, "N")}
QUEUE_PROPERTIES, QUEUE_PROFILING, PARTITION_EQUALLY = 0x1093, 2, 0x1086
BUILD_LOG, KERNEL_NUM_ARGS, MEM_SIZE = 0x1183, 0x1191, 0x1102
INVALID_VALUE, INVALID_KERNEL, INVALID_WAIT_LIST, WAIT_LIST_FAILED = -30, -48, -57, -14


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found}, not {expected}")


def log(what):
    print(what, file=sys.stderr)


def info(infos, what, param, kind=None):
    """One of `infos`: a string, or a number of the kind that `struct` knows."""
    found = next(bytes(one.bytes) for one in infos if one.what == number_of("InfoSubject", what) and one.param == param)
    return struct.unpack("=" + kind.replace("N", "Q"), found)[0] if kind else text_of(found)


def list_devices(welcome):
    for platform in welcome.platforms:
        print("platform", info(platform.infos, "platform", PLATFORM_NAME) + ",",
              info(platform.infos, "platform", PLATFORM_VERSION))
        for device in platform.devices:
            properties = {name: info(device.infos, "device", *one) for name, one in DEVICE_PROPERTIES.items()}
            print("device {name}, {version}, {units} units, {bytes} bytes, groups of {group}".format(**properties))


def divide(client, device):
    """Into devices of one unit each: with a request for their properties, and again without one."""
    units = info(client.welcome.platforms[0].devices[0].infos, "device", *DEVICE_PROPERTIES["units"])
    first, again, context = client.new_id(units), client.new_id(units), client.new_id()
    parts = client.ask(command("CreateSubDevices", first=first, device=device, properties=[PARTITION_EQUALLY, 1])).devices
    print("parts of", [info(part.infos, "device", *DEVICE_PROPERTIES["units"]) for part in parts], "units")
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
    return program, answer.error, info(answer.infos, "program_build", BUILD_LOG)


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
    broken, error, build_log = build(client, context, device, BROKEN)
    print(f"broken: {error}")
    print(without_file_names(build_log))
    program, error, _ = build(client, context, device, SOURCE, OPTIONS)
    expect(error, 0, "a build")
    made = client.ask(command("CreateBuffer", id=buffer, context=context, flags=1, size=SIZE),
                      command("CreateKernel", id=kernel, program=program, name="advance"))
    size = client.ask(command("Query", what=number_of("InfoSubject", "memory"), object=buffer, param=MEM_SIZE))
    print(f"kernel of {info(made.infos, 'kernel', KERNEL_NUM_ARGS, 'I')} arguments,"
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
    invalid_commands(client, queue, program, kernel, buffer)
    idle(client)
    disconnect(client, queue, [first, buffer, kernel, program, broken, queue, context], kernel)


def rounds(client, context, queue, kernel):
    """A window of launches behind a user event, and some beyond, as all of them wait for it; then the rest."""
    client.settle()
    client.most_in_flight = 0
    gate, last = client.new_id(), client.new_id()
    client.send(command("CreateUserEvent", id=gate, context=context))
    window = client.welcome.windowCommands
    for round_ in range(1, window + 1):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel), waits=[gate] if round_ == 1 else None))
    expect(client.has_room(*on(queue, launch(kernel))), False, "the window is exceeded")
    for round_ in range(window + 1, window + BEYOND + 1):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel)), beyond=True)
    client.synchronize()
    expect(client.commands_sent - client.commands_ended, window + BEYOND, "launches behind a user event")
    client.send(command("SetUserEventStatus", event=gate, status=0))
    for round_ in range(window + BEYOND + 1, ROUNDS):
        client.send(number(kernel, 1, round_), on(queue, launch(kernel), event=last if round_ == ROUNDS - 1 else 0))
    expect(client.ended(last).status, 0, "the last launch")
    client.send(command("Release", ids=[gate, last]))
    log(f"window of {window}: at most {client.most_in_flight} in flight")


def invalid_commands(client, queue, program, kernel, buffer):
    """A frame full of invalid commands, and others whose errors are requested. The commands behind them are executed."""
    missing, failed, behind, no_event = (client.new_id() for _ in range(4))
    client.send(command("CreateKernel", id=missing, program=program, name="missing"),
                on(queue, launch(missing), event=failed),
                on(queue, launch(kernel), event=behind, waits=[failed]),
                number(kernel, NO_ARGUMENT, 0),
                on(queue, write(buffer, SIZE)))
    expect(client.ended(failed).status, INVALID_KERNEL, "a launch of a kernel that is none")
    expect(client.ended(behind).status, WAIT_LIST_FAILED, "a launch that waits for it")
    failures = client.failed(4)
    expect([one[:2] for one in failures], [(missing, 0), (0, queue), (kernel, 0), (0, queue)], "the failures")
    print(f"a kernel that is not there: {failures[0][2]}")
    expect(failures[1][2], INVALID_KERNEL, "the failure beside an event's")
    print(f"an argument that is not there: {failures[2][2]}")
    print(f"beyond the buffer: {failures[3][2]}")
    beyond = on(queue, command("ReadBuffer", b"", SIZE, buffer=buffer, offset=1, size=SIZE))
    expect(client.ask(beyond).error, INVALID_VALUE, "a read beyond the buffer")
    expect(client.ask(on(queue, write(buffer, SIZE), event=no_event)).error, INVALID_VALUE, "a write beyond the buffer")
    client.send(on(queue, launch(kernel), waits=[no_event]))
    expect(client.failed(1), [(0, queue, INVALID_WAIT_LIST)], "a command that failed with an Answer has no event")
    client.send(command("Release", ids=[failed, behind]), command("Release", ids=[missing]))
    expect(client.failed(1), [(0, 0, INVALID_VALUE)], "an object that was not created cannot be released")


def idle(client):
    """For longer than the server accepts silence. Then it still works."""
    until = time.monotonic() + 4.5 * HEARTBEAT / 1000
    client.wait_for(lambda: time.monotonic() > until, "the end of a pause")
    client.synchronize()


def disconnect(client, queue, ids, kernel):
    expect(client.ask(on(queue, command("FinishQueue"))).error, 0, "a finish")
    client.settle()
    client.send(command("Release", ids=ids), number(kernel, 1, 0))
    expect(client.failed(1), [(kernel, 0, INVALID_KERNEL)], "a released kernel")
    client.synchronize()
    expect(client.pongs, set(range(1, client.pings + 1)), "every Ping has its Pong")
    expect((client.failures, client.answers), ([], {}), "no unrequested messages")
    expect(client.disconnect(), "", "the server's goodbye")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("generated")
    parser.add_argument("address")
    parser.add_argument("--token", default="")
    parser.add_argument("--silent", action="store_true", help="connects, and never sends anything again")
    parser.add_argument("--reuse-id", action="store_true", help="chooses an id twice")
    chosen = parser.parse_args()
    sys.path.insert(0, chosen.generated)
    try:
        client = Client(chosen.address, chosen.token)
    except Disconnected as end:
        sys.exit(str(end))
    if chosen.silent:
        client.sends_heartbeats = False
        log(f"goodbye: {client.await_end()}")
    elif chosen.reuse_id:
        devices = [client.welcome.platforms[0].devices[0].id]
        client.send(*[command("CreateContext", id=1, devices=devices) for _ in range(2)])
        log(f"goodbye: {client.await_end()}")
    else:
        work(client)


if __name__ == "__main__":
    main()
