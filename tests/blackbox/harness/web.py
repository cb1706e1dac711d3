"""HTTP for tests: a plain client, and a raw connection for everything a plain client refuses to send."""

import http.client
import json
import socket

from .contract import Contract


class Answer:
    """An HTTP answer: .status, .headers (names in lower case), .body (bytes), .json."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body!r}"


class Http:
    """A keep-alive HTTP/1.1 connection to a server. Not thread-safe: one per thread.

    Every exchange must be as docs/openapi.yaml says; see contract.py.
    """

    contract = Contract.load()

    def __init__(self, host, port, timeout_s=30, tls=None):
        """tls: an ssl.SSLContext, or None for plain text."""
        self.connection = (http.client.HTTPSConnection(host, port, timeout=timeout_s, context=tls) if tls else
                           http.client.HTTPConnection(host, port, timeout=timeout_s))

    def request(self, method, path, body=None, headers=None):
        """body: bytes or str as they are, anything else as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        self.connection.request(method, path, body=body.encode() if isinstance(body, str) else body, headers=headers)
        answer = Answer(self.connection.getresponse())
        if self.contract:
            self.contract.check(method, path, body, answer)
        return answer

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.request("POST", path, body, headers)

    def check(self, **fields):
        """POST /v1/ratelimit/check; returns the decision. Use post() to see errors."""
        answer = self.post("/v1/ratelimit/check", fields)
        assert answer.status == 200, answer
        return answer.json

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class RawConnection:
    """A TCP connection that sends exactly the given bytes."""

    def __init__(self, host, port, timeout_s=30):
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.received = b""

    def send(self, data):
        self.socket.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)
        return self

    def read_until(self, mark):
        """Returns what arrives up to and including `mark`."""
        while mark not in self.received:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(f"the server closed the connection before {mark!r}; it sent {self.received!r}")
            self.received += more
        end = self.received.index(mark) + len(mark)
        taken, self.received = self.received[:end], self.received[end:]
        return taken

    def read_bytes(self, count):
        while len(self.received) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(f"the server closed the connection {count - len(self.received)} bytes too early")
            self.received += more
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def read_answer(self):
        """Reads one HTTP/1.1 answer with a content-length: (status, headers, body)."""
        head = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        return int(head[0].split()[1]), headers, self.read_bytes(int(headers.get("content-length", 0)))

    def read_to_end(self):
        """Returns everything until the server closes (or resets) the connection."""
        try:
            while more := self.socket.recv(65536):
                self.received += more
        except ConnectionResetError:
            pass
        taken, self.received = self.received, b""
        return taken

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
