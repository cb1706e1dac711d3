"""--drain-seconds holds, whatever a client or a database leaves unfinished; a second SIGTERM ends at once."""

import signal
import socket
import sqlite3
import subprocess
import threading

import pytest
from harness.admin import sqlite
from harness.server import DIE_WITH_PARENT, binary, wait_until
from harness.web import RawConnection

POLICIES = """
policies:
  - id: p
    limits: [{ name: ten, per: [key], rate: 10/h }]
    on_failure: open
    deadline: 60s
"""
CHECK = b'{"policy_id":"p","key":"k"}'
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
BRIEF = ["--drain-notice-ms", "0", "--drain-seconds", "1"]
PATIENT = ["--drain-notice-ms", "0", "--drain-seconds", "3600"]


def post(path, length):
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, length)


def h2_headers(path):
    """HEADERS of a gRPC call on stream 1, with no end: literals without an index."""
    block = b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"localhost"), (b":path", path), (b"content-type", b"application/grpc"), (b"te", b"trailers")))
    return len(block).to_bytes(3, "big") + b"\x01\x04\0\0\0\x01" + block


UNFINISHED = {
    "half a head": b"POST /v1/ratelimit/check HTTP/1.1\r\nHost: loc",
    "half a body": post(b"/v1/ratelimit/check", len(CHECK)) + CHECK[:5],
    "half a chunked body": b"POST /v1/ratelimit/check HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    "half a preface": PREFACE[:10],
    "a call without its message": PREFACE + h2_headers(b"/sluice.v1.RateLimiter/CheckAndIncrement"),
    "an open stream": PREFACE + h2_headers(b"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
    "a watch": PREFACE + h2_headers(b"/grpc.health.v1.Health/Watch") + b"\0\0\x05\0\0\0\0\0\x01\0\0\0\0\0",
    "unread answers": b"GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500,
}


def ends(running):
    """It ends by itself, without an error. Before it could, nothing but SIGKILL ended it."""
    assert running.process.wait(60) == 0, running.log()


@pytest.mark.parametrize("what", UNFINISHED)
def test_clients_cannot_hold_it_up(server, raw, http, what):
    running = server(POLICIES, args=BRIEF)
    raw(running).send(UNFINISHED[what])
    assert http(running).get("/healthz").status == 200  # and so has seen the other
    running.signal(signal.SIGTERM)
    ends(running)


@pytest.mark.parametrize("what", ["half a body", "an open stream"])
def test_a_second_signal_ends_it_at_once(server, raw, what):
    running = server(POLICIES, args=PATIENT)
    raw(running).send(UNFINISHED[what])
    running.signal(signal.SIGTERM)
    running.wait_for_log("stopping")
    running.signal(signal.SIGTERM)
    ends(running)


def test_a_second_signal_ends_the_notice_too_and_others_do_not(server, http):
    running = server(POLICIES, args=["--drain-notice-ms", "600000", "--drain-seconds", "3600"])
    client = http(running)
    running.signal(signal.SIGTERM)
    wait_until(lambda: client.get("/readyz").status == 503, "readyz to turn")
    running.signal(signal.SIGHUP)
    assert client.get("/healthz").status == 200
    running.signal(signal.SIGTERM)
    ends(running)


@pytest.mark.parametrize("words", [b"*1\r\n$5\r\nMULTI\r\n", b"*2\r\n$4\r\nECHO\r\n$10\r\nab", b""])
def test_clients_of_the_redis_protocol_cannot_hold_it_up(server, words):
    running = server(POLICIES, args=[*BRIEF, "--resp-listen", "127.0.0.1:0"])
    port = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    with RawConnection(running.host, port) as connection:
        connection.send(words)
        if b"MULTI" in words:
            connection.read_until(b"+OK\r\n")
        running.signal(signal.SIGTERM)
        ends(running)


def test_half_a_handshake_cannot_hold_it_up(tls, raw):
    running = tls("--drain-seconds", "1")
    raw(running).send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 20)
    running.signal(signal.SIGTERM)
    ends(running)


def test_a_silent_store_cannot_hold_it_up(server, raw, redis):
    running = server(POLICIES, args=[*BRIEF, "--store", redis.url])
    redis.process.send_signal(signal.SIGSTOP)
    raw(running).send(post(b"/v1/ratelimit/check", len(CHECK)) + CHECK)
    running.signal(signal.SIGTERM)
    ends(running)


def put_policy(running, rate):
    """A change that has to wait for the database; nobody waits for its answer."""
    body = b'{"id":"q","limits":[{"name":"a","per":["key"],"rate":"%d/h"}]}' % rate
    connection = RawConnection(running.host, running.port)
    connection.send(b"PUT /v1/policies/q HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return connection


def test_a_locked_database_file_cannot_hold_it_up(server, tmp_path):
    running = server(args=[*sqlite(tmp_path), "--drain-seconds", "1"])
    with put_policy(running, 1) as first:
        assert first.read_answer()[0] == 201
    other = sqlite3.connect(tmp_path / "policies.db", isolation_level=None)
    other.execute("begin exclusive")
    with put_policy(running, 2):
        running.signal(signal.SIGTERM)
        ends(running)
    other.close()


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_a_silent_database_cannot_hold_it_up(server, request, kind):
    database = request.getfixturevalue({"postgres": "postgres", "redis": "durable_redis"}[kind])
    through = Freezer(database.port)
    try:
        running = server(args=["--policy-db", database.url.replace(f":{database.port}", f":{through.port}"), *BRIEF])
        with put_policy(running, 1) as first:
            assert first.read_answer()[0] == 201
        through.frozen.set()
        with put_policy(running, 2):
            running.signal(signal.SIGTERM)
            ends(running)
    finally:
        through.close()


class Freezer:
    """Passes bytes on to a port until it is frozen; then it is silent, and accepts without a word."""

    def __init__(self, port):
        self.target, self.frozen = port, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            if self.frozen.is_set():
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                continue
            self.sockets.append(server)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.frozen.is_set():
                    return
                sink.sendall(data)
        except OSError:
            pass

    def close(self):
        for one in [self.listener, *self.sockets]:
            one.close()


def test_a_signal_ends_the_start_too(tmp_path):
    """A database that accepts and says nothing holds up the start; it does not hold up the end."""
    through = Freezer(0)
    through.frozen.set()
    command = [str(binary()), "serve", "--listen", "127.0.0.1:0", "--policy-db", f"postgres://a:b@127.0.0.1:{through.port}/c"]
    with open(tmp_path / "log", "wb") as log, subprocess.Popen([*DIE_WITH_PARENT, *command], stdin=subprocess.DEVNULL,
                                                               stdout=log, stderr=subprocess.STDOUT) as process:
        try:
            wait_until(lambda: through.sockets, "the server to ask its database")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            through.close()
    assert "listening" not in (tmp_path / "log").read_text()
