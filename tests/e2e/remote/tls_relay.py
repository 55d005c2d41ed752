"""Somebody between a client and a server who is the server to the one and the client to the other, so that what TLS itself
says can be said at any time."""

import select
import socket
import ssl
import threading

STEP = 0.02  # seconds between two looks at what is wanted
PATIENCE = 20  # seconds


class TlsRelay:
    """Listens until close(), and passes on what both ends say."""

    def __init__(self, target, certificates):
        _, host, port = target.split(":")
        self.target = (host, int(port))
        self.inward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.inward.load_cert_chain(certificates.server, certificates.server.with_suffix(".key"))
        self.outward = ssl.create_default_context(cafile=certificates.ours.path)
        self.outward.load_cert_chain(certificates.client, certificates.client.with_suffix(".key"))
        self.wanted = None  # whom to tell that this is the end
        self.told = threading.Event()
        self.open = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tls:127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        """By one thread: an end is no place for two."""
        try:
            near = self.inward.wrap_socket(client, server_side=True)
            far = self.outward.wrap_socket(socket.create_connection(self.target), server_hostname=self.target[0])
            self.open += [near, far]
            ends = {"client": near, "server": far}
            while True:
                if self.wanted:
                    self._end(ends[self.wanted])
                    return  # both stay open
                self._pass(near, far)
                self._pass(far, near)
                select.select([near, far], [], [], STEP)
        except (OSError, ValueError):
            pass  # one of them has gone, or all is over
        for one in self.open:
            one.close()

    def _pass(self, source, target):
        while source.pending() or select.select([source], [], [], 0)[0]:
            data = source.recv(1 << 14)
            if not data:
                raise OSError("the end")
            target.sendall(data)

    def _end(self, end):
        self.wanted = None
        end.settimeout(STEP)
        try:
            end.unwrap()  # says it, and waits in vain for the same
        except OSError:
            pass
        self.told.set()

    def notify(self, end):
        """Tells "client" or "server" that nothing comes any more, in the words of TLS alone."""
        self.wanted = end
        if not self.told.wait(PATIENCE):
            raise AssertionError("there is nobody to tell")
        self.told.clear()

    def close(self):
        self.listener.close()
        for one in self.open:
            one.close()
