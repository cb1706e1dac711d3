"""SIGTERM: not ready first, what is in flight finishes, then the process ends with status 0."""

import signal
import threading

import grpc
import pytest
from harness.server import wait_until

POLICIES = """
policies:
  - id: p
    limits: [{ name: ten, per: [key], rate: 10/h }]
"""
BODY = b'{"policy_id":"p","key":"k"}'


@pytest.fixture
def running(server):
    return server(POLICIES, args=["--drain-notice-ms", "3000"])


def test_not_ready_but_serving_while_load_balancers_look(server, http):
    running = server(POLICIES, args=["--drain-notice-ms", "600000"])  # the second signal ends it
    client = http(running)
    running.signal(signal.SIGTERM)
    wait_until(lambda: client.get("/readyz").status == 503, "readyz to turn")
    assert client.get("/readyz").json["draining"] is True
    assert client.get("/healthz").status == 200
    assert client.check(policy_id="p", key="k")["allowed"] is True
    assert running.stop() == 0


def test_a_request_in_flight_finishes(server, raw):
    running = server(POLICIES, args=["--drain-notice-ms", "0", "--drain-seconds", "600"])
    connection = raw(running)
    connection.send(b"POST /v1/ratelimit/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(BODY))
    connection.send(BODY[:10])
    running.signal(signal.SIGTERM)
    wait_until(lambda: not accepts(running), "the listener to close while the body is still coming")
    connection.send(BODY[10:])
    status, headers, body = connection.read_answer()
    assert status == 200
    assert b'"allowed":true' in body
    assert running.process.wait(30) == 0


def test_a_storm_of_reloads_does_not_hold_it_up(server, http):
    running = server(POLICIES, args=["--drain-notice-ms", "0"])
    client = http(running)
    over = threading.Event()

    def storm():
        while not over.is_set():
            running.signal(signal.SIGHUP)

    storms = [threading.Thread(target=storm) for _ in range(4)]
    try:
        for each in storms:
            each.start()
        running.signal(signal.SIGUSR1)
        wait_until(lambda: client.get("/v1/switch").json["mode"] == "open", "the switch, in a storm")
        running.signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
    finally:
        over.set()
        for each in storms:
            each.join()


def accepts(running):
    import socket
    try:
        socket.create_connection((running.host, running.port), timeout=5).close()
        return True
    except OSError:
        return False


def test_http2_clients_are_told_to_go_away(running, tool, grpc_stub):
    stub = grpc_stub(running)
    assert stub.CheckAndIncrement(policy_id="p", dimensions={"key": "k"}).allowed
    assert running.stop() == 0
    with pytest.raises(grpc.RpcError) as error:
        stub.CheckAndIncrement(policy_id="p", dimensions={"key": "k"}, timeout=60)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_goaway_is_on_the_wire(running, raw):
    connection = raw(running)
    connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0")  # preface and empty SETTINGS
    assert running.stop() == 0
    received, kinds = connection.read_to_end(), []
    while len(received) >= 9:
        length = int.from_bytes(received[:3], "big")
        kinds.append(received[3])
        received = received[9 + length:]
    assert 7 in kinds, f"no GOAWAY among frames of type {kinds}"


def test_idle_connections_do_not_hold_it_up(running, http, raw):
    client = http(running)
    client.get("/healthz")
    raw(running)
    assert running.stop() == 0


def test_a_watch_is_told_and_ended_and_does_not_hold_it_up(server, grpc_stub):
    # A drain that waited for the watch would take far longer than stop() has patience.
    running = server(POLICIES, args=["--drain-notice-ms", "100", "--drain-seconds", "600"])
    watch = grpc_stub(running, "grpc.health.v1.Health").Watch(service="")
    assert next(watch).status == 1
    assert running.stop() == 0
    assert next(watch).status == 2
    with pytest.raises(grpc.RpcError) as error:
        next(watch)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
