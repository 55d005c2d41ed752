"""Installs the programs from Debian and PyPI, and says which are missing."""

import os
import subprocess
import tarfile

from places import DRIVERS, DEBIAN_PYTHON


def debian_packages(programs, driver):
    packages = {package for program in programs for package in program.debian}
    packages |= {DRIVERS[name][1] for name in {driver, *(program.driver for program in programs)} if name in DRIVERS}
    return sorted(packages | {"python3-venv", "ocl-icd-libopencl1"})


def pypi_packages(programs):
    return sorted({package for program in programs for package in program.pypi})


def source_packages(programs):
    return sorted({package for program in programs for package in program.sources})


def missing(programs, driver, cache):
    """What has still to be installed, in words."""
    found = [f"the Debian package {package}" for package in debian_packages(programs, driver) if not is_installed(package)]
    installed = _versions_in(cache)
    found += [f"{package} from PyPI" for package in pypi_packages(programs) if package not in installed]
    found += [f"the source of {package} from PyPI" for package in source_packages(programs)
              if not _source_folder(cache, package).is_dir()]
    return found


def install(programs, driver, cache):
    """Raises CalledProcessError if a package manager fails; it has then said why."""
    debian = [package for package in debian_packages(programs, driver) if not is_installed(package)]
    if debian:
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        _run(*sudo, "apt-get", "update", "-q")
        _run(*sudo, "apt-get", "install", "-q", "-y", "--no-install-recommends", *debian)
    cache.folder.mkdir(parents=True, exist_ok=True)
    if not cache.python.exists():
        _run(DEBIAN_PYTHON, "-m", "venv", cache.venv)
    installed = _versions_in(cache)
    pypi = [package for package in pypi_packages(programs) if package not in installed]
    if pypi:
        _run(cache.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *pypi)
    for package in source_packages(programs):
        if not _source_folder(cache, package).is_dir():
            _unpack(package, cache)


def is_installed(package):
    """Whether dpkg has it."""
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, check=False)
    return asked.stdout.endswith(" installed")


def _versions_in(cache):
    if not cache.python.exists():
        return set()
    listed = subprocess.run([cache.python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
                            capture_output=True, text=True, check=True)
    return {line.strip().lower() for line in listed.stdout.splitlines()}


def _source_folder(cache, package):
    return cache.sources / package.replace("==", "-")


def _unpack(package, cache):
    cache.sources.mkdir(parents=True, exist_ok=True)
    name = package.partition("==")[0]
    _run(cache.python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", cache.sources, package)
    for archive in cache.sources.glob(f"{package.replace('==', '-')}.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(cache.sources, filter="data")


def _run(*command):
    # Standard output belongs to the report.
    subprocess.run([str(word) for word in command], check=True, stdout=2)
