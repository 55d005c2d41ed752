"""Starts processes on request, adopts all of their descendants, and kills all of them at the end of its standard input.

A domain's QEMU detaches itself from libvirtd, so that a killed test would leave it behind. Here each such process becomes a
child of the owner, whose input ends however the test ends. Its processes have no rights: if the tests run as root, it
becomes the user `nobody`.

Prints the name of a temporary folder, which it removes at its end. Then it answers each line, a list in JSON (a file for the
output, the environment, the command), with a process id.
"""

import ctypes
import json
import os
import pwd
import shutil
import signal
import sys
import tempfile
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def drop_privileges():
    if os.geteuid() != 0:
        return
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


def adopt_descendants():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def reap(*_):
    """At once: libvirt takes a zombie for a process that cannot be killed."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def start(output, environment, command):
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, write, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(command[0], command, environment, file_actions=actions)


def parent_of(process):
    """Its parent's id, or 0 if it has ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def children():
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == os.getpid()]


def kill_all():
    """Until there are none: orphans become children of this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while left := children():
        for child in left:
            os.kill(child, signal.SIGKILL)
        for child in left:
            os.waitpid(child, 0)


def main():
    drop_privileges()
    adopt_descendants()
    # Not $TMPDIR: that may be another user's own, and too long a name for the sockets in it.
    folder = tempfile.mkdtemp(prefix="cleave-domains-", dir="/tmp")
    os.chdir(folder)
    signal.signal(signal.SIGCHLD, reap)
    try:
        print(folder, flush=True)
        for line in sys.stdin:
            print(start(*json.loads(line)), flush=True)
    finally:
        kill_all()
        os.chdir("/")
        shutil.rmtree(folder)


main()
