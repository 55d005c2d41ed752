"""A TLS proxy between a client and a server, with a session of its own with each of them, so that alerts of TLS itself can be
sent at any time."""

import select
import socket
import ssl
import threading

from proxy import Listener

INTERVAL = 0.02  # seconds between two checks for a request
TIMEOUT = 20  # seconds


class TlsRelay(Listener):
    """Listens until close(), and forwards what both ends send."""

    def __init__(self, target, certificates):
        _, host, port = target.split(":")
        self.target = (host, int(port))
        self.inward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.inward.load_cert_chain(certificates.server, certificates.server.with_suffix(".key"))
        self.outward = ssl.create_default_context(cafile=certificates.ours.path)
        self.outward.load_cert_chain(certificates.client, certificates.client.with_suffix(".key"))
        self.requested = None  # the end to send close_notify to
        self.sent = threading.Event()
        self.open = []
        super().__init__("tls")

    def serve(self, client):
        threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        """In one thread: a TLS session is not thread-safe."""
        try:
            client_session = self.inward.wrap_socket(client, server_side=True)
            server_session = self.outward.wrap_socket(socket.create_connection(self.target), server_hostname=self.target[0])
            self.open += [client_session, server_session]
            ends = {"client": client_session, "server": server_session}
            while True:
                if self.requested:
                    self._send_close_notify(ends[self.requested])
                    return  # both stay open
                self._forward(client_session, server_session)
                self._forward(server_session, client_session)
                select.select([client_session, server_session], [], [], INTERVAL)
        except (OSError, ValueError):
            pass  # one of them is closed
        for one in self.open:
            one.close()

    def _forward(self, source, target):
        while source.pending() or select.select([source], [], [], 0)[0]:
            data = source.recv(1 << 14)
            if not data:
                raise OSError("end of stream")
            target.sendall(data)

    def _send_close_notify(self, end):
        self.requested = None
        end.settimeout(INTERVAL)
        try:
            end.unwrap()  # sends it, and waits without success for the peer's
        except OSError:
            pass
        self.sent.set()

    def send_close_notify(self, end):
        """To "client" or "server"."""
        self.requested = end
        if not self.sent.wait(TIMEOUT):
            raise AssertionError("there is no session to close")
        self.sent.clear()

    def close(self):
        super().close()
        for one in self.open:
            one.close()
