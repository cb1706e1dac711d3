"""What strangers can make the server hold is bounded: memory and connections. It lives, and answers health checks."""

import pathlib
import re
import resource
import socket

import pytest
from harness.server import wait_until
from harness.web import Http, RawConnection

POLICIES = """
policies:
  - id: p
    limits: [{ name: ten, per: [key], rate: 10/h }]
"""
QUICK = ["--drain-notice-ms", "0", "--drain-seconds", "0"]
MIB = 1 << 20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def unfinished_calls(streams):
    """gRPC calls whose messages do not end: as much as the windows of a connection allow."""
    head = b"".join(b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"localhost"), (b":path", b"/sluice.v1.RateLimiter/CheckBatch"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")))
    body = b"\0\0\x0f\xff\xff" + b"x" * 16000
    for stream in range(1, 2 * streams, 2):
        yield frame(1, 4, stream, head)
        yield frame(0, 0, stream, body)
        for _ in range(14):
            yield frame(0, 0, stream, body[:16000])


def flood(port, kind):
    """A connection that holds as much as it can. It may be closed at any time."""
    connection = RawConnection("127.0.0.1", port, timeout_s=5)
    try:
        if kind == "bodies":
            connection.send(b"POST /v1/ratelimit/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n" + b"x" * 1_000_000)
        elif kind == "calls":
            connection.send(PREFACE + b"".join(unfinished_calls(60)))
        elif kind == "answers":
            connection.send(b"GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        else:
            connection.send(b"*1\r\n$5\r\nMULTI\r\n" + (b"*6\r\n$11\r\nCL.THROTTLE\r\n$200\r\n" + b"k" * 200 + b"\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n") * 4000)
    except OSError:
        pass
    return connection


def metric(client, name):
    found = re.search(rf"^{re.escape(name)} (\d+)$", client.get("/metrics").body.decode(), re.M)
    return int(found[1])


@pytest.mark.parametrize("kind", ["bodies", "calls", "answers", "transactions"])
def test_what_connections_hold_is_bounded_and_given_back(server, kind):
    running = server(POLICIES, args=[*QUICK, "--buffer-mib", "16", "--resp-listen", "127.0.0.1:0", "--threads", "2"])
    port = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1]) if kind == "transactions" else running.port
    held = []
    for _ in range(60):
        held.append(flood(port, kind))
        with Http(running.host, running.port) as client:
            assert client.get("/healthz").status == 200
            assert metric(client, "rate_limiter_buffered_bytes") <= 18 * MIB
    with Http(running.host, running.port) as client:
        assert metric(client, 'rate_limiter_connections_shed_total{reason="memory"}') > 0
        for one in held:
            one.close()
        wait_until(lambda: metric(client, "rate_limiter_buffered_bytes") == 0, "the account to return to zero")
        assert client.check(policy_id="p", key="k")["allowed"] is True


def test_strangers_have_a_quarter_where_tokens_are_needed(server, tmp_path):
    running = server(POLICIES, args=[*QUICK, "--require-token", "--buffer-mib", "16", "--policy-db", f"sqlite:{tmp_path}/p.db"])
    token = running.wait_for_log(r"(sluice_\w{38})")[1]
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n".encode()
    known = RawConnection(running.host, running.port)
    known.send(b"POST /v1/ratelimit/check HTTP/1.1\r\n%bContent-Length: 27\r\n\r\n" % head + b'{"policy_id":"p","key":"k"}')
    assert known.read_answer()[0] == 200
    known.send(b"POST /v1/ratelimit/check HTTP/1.1\r\n%bContent-Length: 1048576\r\n\r\n" % head + b"x" * 1_000_000)
    strangers = [flood(running.port, "bodies") for _ in range(20)]
    known.send(b"x" * 48_576)
    assert known.read_answer()[0] == 400, "not JSON, but not shed either"
    for one in [known, *strangers]:
        one.close()


def limit_memory(running, more_mib):
    """So much more than it has, and no more. False: sanitizers need all the addresses there are."""
    used = int(re.search(r"VmSize:\s+(\d+) kB", pathlib.Path(f"/proc/{running.pid}/status").read_text())[1]) * 1024
    if used > 1 << 40:
        return False
    resource.prlimit(running.pid, resource.RLIMIT_AS, (used + more_mib * MIB, resource.RLIM_INFINITY))
    return True


def test_it_lives_within_a_limit_of_memory(server):
    """A sanitized server is flooded without a limit."""
    running = server(POLICIES, args=[*QUICK, "--memory-mib", "16", "--threads", "1", "--resp-listen", "127.0.0.1:0"])
    limit_memory(running, 48)
    resp = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    held = []
    for _ in range(40):
        for kind in ("bodies", "calls", "answers", "transactions"):
            held.append(flood(resp if kind == "transactions" else running.port, kind))
        assert running.running, running.log()
    for one in held:
        one.close()
    with Http(running.host, running.port) as client:
        assert client.get("/healthz").status == 200
        assert client.check(policy_id="p", key="k")["allowed"] is True


def test_what_memory_is_too_short_for_is_refused_and_counted(server, tmp_path):
    """A change that needs more than there is does not end the process, nor keep the next from being made."""
    running = server(args=[*QUICK, "--memory-mib", "16", "--threads", "1", "--policy-db", f"sqlite:{tmp_path}/p.db"])
    large = {"id": "large", "limits": [{"name": "one", "per": ["key"], "rate": "10/h"}], "costs": {f"/{i:0900}": 1 for i in range(1000)}}

    def put(body):
        try:
            with Http(running.host, running.port) as client:
                return client.request("PUT", f"/v1/policies/{body['id']}", body).status
        except OSError:
            return None  # who holds much is shed

    def given_up():
        with Http(running.host, running.port) as client:
            return metric(client, "rate_limiter_control_memory_failures_total")
    assert put({**large, "id": "small", "resource": "/small", "costs": {}}) == 201
    if limit_memory(running, 6):  # else it is only a large change
        wait_until(lambda: put(large) in (503, None) and given_up() > 0, "a change that there is no memory for")
        assert put({**large, "id": "small", "resource": "/small", "costs": {"/x": 1}}) == 200
    resource.prlimit(running.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_until(lambda: put(large) in (200, 201), "the same change, with memory")


def test_with_few_descriptors_health_checks_get_through(server):
    running = server(POLICIES, args=[*QUICK, "--threads", "1", "--resp-listen", "127.0.0.1:0"], wrap=["prlimit", "--nofile=128:128"])
    resp = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    silent = [socket.create_connection((running.host, resp)) for _ in range(200)]
    half = [RawConnection(running.host, running.port).send(b"GET /healthz HT") for _ in range(200)]
    for _ in range(5):
        with Http(running.host, running.port) as client:
            assert client.get("/healthz").status == 200
            assert client.check(policy_id="p", key="k")["allowed"] is True
    for one in [*silent, *half]:
        one.close()


def test_the_redis_port_wants_a_login_soon(server, tmp_path):
    running = server(POLICIES, args=[*QUICK, "--require-token", "--resp-listen", "127.0.0.1:0", "--policy-db", f"sqlite:{tmp_path}/p.db"])
    port = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    with RawConnection(running.host, port, timeout_s=60) as silent, RawConnection(running.host, port, timeout_s=60) as busy:
        busy.send(b"PING\r\n")
        assert busy.read_to_end().count(b"-NOAUTH") == 2
        assert silent.read_to_end() == b""
