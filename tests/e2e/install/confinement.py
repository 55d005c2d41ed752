"""Runs a service's command under its unit's restrictions, as far as possible without systemd: the user, groups and
capabilities, writable folders, the private /tmp, and the socket families. For root, who may create mount namespaces."""

import grp
import os
import platform
import pwd
import socket
import subprocess

USER = "nobody"
# What is applied here, and what needs no action.
APPLIED = {"Type", "NotifyAccess", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "RestartPreventExitStatus",
         "KillMode", "TimeoutStopSec", "LimitNOFILE", "RuntimeDirectory", "CacheDirectory", "Environment", "DynamicUser",
         "SupplementaryGroups", "NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities", "PrivateTmp",
         "ProtectSystem", "ProtectHome", "RestrictAddressFamilies", "UMask", "OOMPolicy"}

# The namespace's own view: $1 and $2 are the folders for /run and /var/cache, $3 what is installed, $4 where.
MOUNTS = """
set -e
run=$1 cache=$2 tree=$3 prefix=$4 name=$5
shift 5
mount --bind "$tree" "$prefix"
exec 8<"$run" 9<"$cache"
for folder in /home /root /run/user; do
  [ ! -d "$folder" ] || mount -t tmpfs -o mode=0,ro tmpfs "$folder"
done
mount -t tmpfs tmpfs /run
mkdir "/run/$name"
mount --bind /proc/self/fd/8 "/run/$name"
mount -t tmpfs tmpfs /var/cache
mkdir "/var/cache/$name"
mount --bind /proc/self/fd/9 "/var/cache/$name"
mount -t tmpfs tmpfs /tmp
chmod 1777 /tmp
mount -t tmpfs tmpfs /var/tmp
chmod 1777 /var/tmp
mount -o remount,bind,ro "$prefix"
mount -o remount,bind,ro /
exec 8<&- 9<&-
cd /
exec "$@"
"""

# A seccomp filter for socket(2): families that are not named do not exist.
FILTER = """
import ctypes, os, struct, sys
number, families, command = int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")], sys.argv[3:]
load, equal, give = 0x20, 0x15, 0x06
allow, refuse = 0x7FFF0000, 0x00050000 | 97  # EAFNOSUPPORT
steps = [(load, 0, 0, 0), (equal, 0, len(families) + 2, number), (load, 0, 0, 16)]
steps += [(equal, len(families) - i, 0, family) for i, family in enumerate(families)]
steps += [(give, 0, 0, refuse), (give, 0, 0, allow)]
program = b"".join(struct.pack("HBBI", *step) for step in steps)
buffer = ctypes.create_string_buffer(program)
head = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, head, 0, 0) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(command[0], command)
"""
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}


def missing_confinement():
    """Why no service can be confined here; empty if it can."""
    if os.geteuid() != 0:
        return "only root can"
    if platform.machine() not in SOCKET_CALL:
        return f"not on {platform.machine()}"
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/tmp"], capture_output=True, text=True,
                          check=False)
    return done.stderr.strip()


def _group(name):
    try:
        return str(grp.getgrnam(name).gr_gid)
    except KeyError:
        return None  # systemd would refuse; not every machine has the groups of a GPU


class Confined:
    """A context manager. `unit`: of test_units.py. `tree`: the installed files, for `prefix`. `runtime` and `cache` are its
    folders as others see them, `log` its output, `unknown` the keys of the unit that are not applied here."""

    def __init__(self, unit, folder, tree, prefix, **environment):
        user = pwd.getpwnam(USER)
        self.runtime, self.cache, self.log = folder / "run", folder / "cache", folder / "log"
        self.unknown = set(unit.sections["Service"]) - APPLIED
        for path in (*folder.parents[:1], folder):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        for path in (self.runtime, self.cache):
            path.mkdir()
            os.chown(path, user.pw_uid, user.pw_gid)
        groups = [one for one in map(_group, unit.words("SupplementaryGroups")) if one]
        families = ",".join(str(int(getattr(socket, name))) for name in unit.words("RestrictAddressFamilies"))
        self.command = [
            "unshare", "--mount", "sh", "-c", MOUNTS, "sh", self.runtime, self.cache, tree, prefix, unit["RuntimeDirectory"],
            "prlimit", f"--nofile={unit['LimitNOFILE']}", "setpriv", "--reuid", str(user.pw_uid), "--regid",
            str(user.pw_gid), *(["--groups", ",".join(groups)] if groups else ["--clear-groups"]), "--no-new-privs",
            "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "/usr/bin/python3", "-c", FILTER,
            str(SOCKET_CALL[platform.machine()]), families, *unit.command()]
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                            "RUNTIME_DIRECTORY": f"/run/{unit['RuntimeDirectory']}", **unit.environment(), **environment}
        self.umask = int(unit["UMask"], 8)

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen([str(word) for word in self.command], env=self.environment, stdout=log,
                                            stderr=log, umask=self.umask)
        return self

    def __exit__(self, *problem):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
