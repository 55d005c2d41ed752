"""Certificates for tests, made by the command openssl: authorities, and what they sign."""

import subprocess

from support.processes import require_installed

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """Signs in a folder. A certificate is the path of a PEM file NAME.pem, with its key in NAME.key next to it."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        folder.mkdir(exist_ok=True)
        self.path = folder / f"{name}.pem"
        self._run("req", "-x509", *_NEW_KEY, "-days", 2, "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                  "-keyout", f"{name}.key", "-out", self.path)

    def _run(self, *words):
        subprocess.run([require_installed("openssl", "openssl"), *map(str, words)], cwd=self.folder, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)

    def sign(self, name, alternative="IP:127.0.0.1", days=2):
        """`days`: 0 for one that has expired."""
        (self.folder / f"{name}.extensions").write_text(f"subjectAltName={alternative}\n")
        self._run("req", *_NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.request")
        self._run("x509", "-req", "-in", f"{name}.request", "-CA", self.path, "-CAkey", self.path.with_suffix(".key"),
                  "-CAcreateserial", "-days", days, "-extfile", f"{name}.extensions", "-out", f"{name}.pem")
        return self.folder / f"{name}.pem"


class Certificates:
    """For a server and its clients, which authenticate each other."""

    def __init__(self, folder, alternative="IP:127.0.0.1"):
        self.ours = Authority(folder, "ours")
        self.server = self.ours.sign("server", alternative)
        self.client = self.ours.sign("client")

    def options(self, certificate=None, asks=True):
        """The server's options. `asks`: it demands a client's certificate."""
        certificate = certificate or self.server
        options = ["--tls-cert", certificate, "--tls-key", certificate.with_suffix(".key")]
        return [*options, "--client-ca", self.ours.path] if asks else options

    def variables(self, certificate=None):
        """The client's settings."""
        certificate = certificate or self.client
        return {"CLEAVE_REMOTE_CA": self.ours.path,
                "CLEAVE_REMOTE_CERT": f"{certificate},{certificate.with_suffix('.key')}"}
