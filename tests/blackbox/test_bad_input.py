"""Bad input of every kind: a clear error that names the field, nothing charged, the process alive."""

import json

import grpc
import pytest

POLICIES = """
policies:
  - id: p
    limits: [{ name: ten, per: [key], rate: 10/h }]
  - id: strict
    resource: /strict
    limits: [{ name: needs-user, per: [user], rate: 10/h, required: true }]
"""
GOOD = {"policy_id": "p", "key": "k"}


@pytest.fixture
def running(server):
    return server(POLICIES, args=["--drain-notice-ms", "0"])


@pytest.fixture
def client(running, http):
    return http(running)


def left(client):
    return client.check(**GOOD, tokens=0)["remaining"]


BAD_CHECKS = {
    "empty": (b"", None),
    "text": (b"hello", None),
    "array": (b"[]", None),
    "cut short": (b'{"policy_id":"p","key":"k"', None),
    "two values": (b'{"policy_id":"p","key":"k"}{}', None),
    "single quotes": (b"{'policy_id':'p'}", None),
    "trailing comma": (b'{"policy_id":"p","key":"k",}', None),
    "comment": (b'{"policy_id":"p","key":"k"} // hi', None),
    "not UTF-8": (b'{"policy_id":"p","key":"\xff"}', None),
    "lone surrogate": (b'{"policy_id":"p","key":"\\ud800"}', None),
    "nested deeply": (b'{"policy_id":"p","key":"k","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", None),
    "nothing given": ({}, "tenant_id"),
    "no resource": ({"tenant_id": "t", "key": "k"}, "resource"),
    "no key": ({"tenant_id": "t", "resource": "/r"}, "key"),
    "tenant a number": ({"tenant_id": 1, "resource": "/r", "key": "k"}, "tenant_id"),
    "resource null": ({"tenant_id": "t", "resource": None, "key": "k"}, "resource"),
    "key an array": ({**GOOD, "key": ["k"]}, "key"),
    "key too long": ({**GOOD, "key": "k" * 257}, "key"),
    "key too long in bytes": ({**GOOD, "key": "é" * 129}, "key"),
    "tenant too long": ({**GOOD, "tenant_id": "t" * 257}, "tenant_id"),
    "resource too long": ({**GOOD, "resource": "r" * 2049}, "resource"),
    "request_id too long": ({**GOOD, "request_id": "r" * 129}, "request_id"),
    "tokens negative": ({**GOOD, "tokens": -1}, "tokens"),
    "tokens too many": ({**GOOD, "tokens": 10**9 + 1}, "tokens"),
    "tokens beyond 64 bits": ({**GOOD, "tokens": 10**30}, "tokens"),
    "tokens a string": ({**GOOD, "tokens": "1"}, "tokens"),
    "tokens a fraction": ({**GOOD, "tokens": 1.5}, "tokens"),
    "tokens a float": (b'{"policy_id":"p","key":"k","tokens":1.0}', "tokens"),
    "tokens true": ({**GOOD, "tokens": True}, "tokens"),
    "tokens null": ({**GOOD, "tokens": None}, "tokens"),
    "key twice": (b'{"policy_id":"p","key":"k","key":"k"}', "key"),
    "dimensions an array": ({**GOOD, "dimensions": ["a"]}, "dimensions"),
    "dimension a number": ({**GOOD, "dimensions": {"a": 1}}, "dimensions.a"),
    "dimension too long": ({**GOOD, "dimensions": {"a": "v" * 257}}, "dimensions.a"),
    "too many dimensions": ({**GOOD, "dimensions": {f"d{i}": "v" for i in range(17)}}, "dimensions"),
    "unknown policy": ({"policy_id": "nobody", "key": "k"}, "policy_id"),
    "required dimension": ({"policy_id": "strict"}, "dimensions"),
}


@pytest.mark.parametrize("name", BAD_CHECKS)
def test_a_bad_check(client, name):
    body, field = BAD_CHECKS[name]
    answer = client.post("/v1/ratelimit/check", body)
    assert answer.status == 400, answer
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json.get("field") == field, answer
    assert answer.json["detail"]
    assert left(client) == 10


@pytest.mark.parametrize("name", [name for name, (body, _) in BAD_CHECKS.items() if isinstance(body, dict)])
def test_one_bad_check_refuses_the_batch(client, name):
    body, field = BAD_CHECKS[name]
    answer = client.post("/v1/ratelimit/check-batch", {"checks": [GOOD, GOOD, body]})
    assert answer.status == 400
    assert answer.json["field"] == f"checks[2].{field}", answer
    assert left(client) == 10


@pytest.mark.parametrize("body", [{}, {"checks": {}}, {"checks": [1]}, {"checks": [GOOD] * 1001}])
def test_a_bad_batch(client, body):
    assert client.post("/v1/ratelimit/check-batch", body).status == 400
    assert left(client) == 10


def test_a_body_over_one_mebibyte(client, running, http):
    padding = " " * (1 << 20)
    answer = http(running).post("/v1/ratelimit/check", json.dumps(GOOD) + padding)
    assert answer.status == 413
    assert left(client) == 10


@pytest.mark.parametrize("path", [b"/a\xff", b"/caf\xc3", b'/"\\'])
def test_a_path_of_any_bytes_is_answered_in_json(running, client, raw, path):
    status, _, body = raw(running).send(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n").read_answer()
    assert status == 404
    assert json.loads(body.decode())["detail"].startswith("no such path: /")


BAD_CALLS = {
    "cost negative": (dict(policy_id="p", dimensions={"key": "k"}, cost=-1), "INVALID_ARGUMENT", "cost"),
    "cost too large": (dict(policy_id="p", dimensions={"key": "k"}, cost=10**9 + 1), "INVALID_ARGUMENT", "cost"),
    "key too long": (dict(policy_id="p", dimensions={"key": "k" * 257}), "INVALID_ARGUMENT", "dimensions.key"),
    "too many": (dict(policy_id="p", dimensions={f"d{i}": "v" for i in range(17)}), "INVALID_ARGUMENT", "dimensions"),
    "tenant too long": (dict(tenant_id="t" * 257), "INVALID_ARGUMENT", "tenant_id"),
    "request_id": (dict(policy_id="p", request_id="r" * 129), "INVALID_ARGUMENT", "request_id"),
    "unknown policy": (dict(policy_id="nobody"), "NOT_FOUND", "policy_id"),
    "required": (dict(policy_id="strict"), "INVALID_ARGUMENT", "dimensions"),
}


def test_the_reason_of_a_reset_is_bounded(running, grpc_stub):
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub(running).ResetKey(policy_id="p", dimensions={"key": "k"}, reason="r" * 257)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.details().startswith("reason: ")


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call(running, client, grpc_stub, api, name):
    fields, code, field = BAD_CALLS[name]
    stub = grpc_stub(running)
    with pytest.raises(grpc.RpcError) as error:
        stub.CheckAndIncrement(**fields)
    assert error.value.code().name == code
    assert error.value.details().startswith(f"{field}: "), error.value.details()

    request = api.message("sluice.v1.CheckRequest")
    with pytest.raises(grpc.RpcError) as error:
        stub.CheckBatch(checks=[request(policy_id="p", dimensions={"key": "k"}), request(**fields)])
    assert error.value.code().name == code
    assert error.value.details().startswith(f"checks[1].{field}: "), error.value.details()
    assert left(client) == 10


@pytest.mark.parametrize("message", [b"\xff", b"\x0a\x05ab", b"\x0a\x01\xff", b"\x08\x01", b"\x12\x02\x0a\x05", b"\x0b"])
def test_bytes_that_are_no_message(running, client, message):
    with grpc.insecure_channel(running.address) as channel:
        call = channel.unary_unary("/sluice.v1.RateLimiter/CheckAndIncrement", request_serializer=bytes,
                                   response_deserializer=bytes)
        with pytest.raises(grpc.RpcError) as error:
            call(message, timeout=30)
    assert error.value.code() == grpc.StatusCode.INTERNAL, "as grpcio's own servers say it"
    assert left(client) == 10


def test_a_message_over_one_mebibyte(running, client, grpc_stub):
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub(running).CheckAndIncrement(policy_id="p", request_id="r" * (1 << 20))
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert left(client) == 10
