"""A connection with an ear: passes bytes between HTTP/2 clients and a server, and notes the frames that go by."""

import collections
import socket
import threading
import time

DATA, HEADERS, RST_STREAM, PING = 0, 1, 3, 6
ACK = 1
PREFACE_BYTES = 24

Frame = collections.namedtuple("Frame", "at_s from_client type flags stream payload")


class Wire:
    """Listens on a port of its own, `address`, in front of the server at (host, port)."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.frames = []
        self.connections = 0
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()  # nobody there, as the client would have found itself
                continue
            self.connections += 1
            self.sockets += [client, server]
            for source, sink, from_client in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass_on, args=(source, sink, from_client), daemon=True).start()

    def _pass_on(self, source, sink, from_client):
        unread = b""
        to_skip = PREFACE_BYTES if from_client else 0
        try:
            while received := source.recv(65536):
                sink.sendall(received)
                unread += received
                if to_skip:
                    if len(unread) < to_skip:
                        continue
                    unread, to_skip = unread[to_skip:], 0
                unread = self._note(unread, from_client)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side has gone; the other learns it from its own socket

    def _note(self, received, from_client):
        """Takes whole frames off the front; returns the rest."""
        while len(received) >= 9:
            end = 9 + int.from_bytes(received[:3], "big")
            if len(received) < end:
                break
            stream = int.from_bytes(received[5:9], "big")
            self.frames.append(Frame(time.monotonic(), from_client, received[3], received[4], stream, received[9:end]))
            received = received[end:]
        return received

    def seen(self, kind, from_client, ack=None):
        """The frames of one type that have gone by, in order; with or without the flag ACK, if that matters."""
        return [frame for frame in list(self.frames) if frame.type == kind and frame.from_client == from_client and
                ack in (None, bool(frame.flags & ACK))]

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.listener.close()
        for each in self.sockets:
            each.close()
