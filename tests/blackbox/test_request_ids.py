"""What a request_id promises: a request is charged once, and nothing else is remembered; in memory and in Redis."""

import json
import types

import grpc
import pytest
from harness.server import wait_until

WHO = {"tenant_id": "a", "resource": "/x", "key": "ann"}
PATIENT = "deadline: 30s"  # however busy the machine is


@pytest.fixture(params=["memory", "redis"])
def start(request, server, http, redis_server):
    """start(policies) is a client of a server of that kind: .server, .http, .records() tells how many ids are remembered."""
    redis = redis_server() if request.param == "redis" else None

    def make(policies):
        one = server(policies, args=["--store", redis.url if redis else "memory"])
        client = http(one)

        def in_memory():
            lines = client.get("/metrics").body.decode().splitlines()
            return sum(int(line.split()[-1]) for line in lines if line.startswith("rate_limiter_request_ids "))

        def in_redis():
            return sum(redis.client.strlen(key) > 16 for key in redis.keys())  # a counter is shorter
        return types.SimpleNamespace(server=one, http=client, records=in_redis if redis else in_memory)
    return make


def refused(client, **fields):
    answer = client.post("/v1/ratelimit/check", fields)
    return answer.status, answer.json.get("field")


def test_an_id_of_one_tenant_is_nothing_to_another(start, grpc_stub):
    one = start(f"""
policies:
  - {{ id: p, tenant: a, resource: /x, {PATIENT}, limits: [{{ per: [user], rate: 10/h }}] }}
  - {{ id: sh, tenant: b, resource: /sh, shadow: true, {PATIENT}, limits: [{{ per: [user], rate: 10/h }}] }}
""")
    one.http.check(**WHO, tokens=4, request_id="r1")
    for _ in range(5):
        assert refused(one.http, **WHO, tokens=5, request_id="r1") == (422, "request_id")
        answer = one.http.check(tenant_id="b", resource="/sh", key="bob")
        assert (answer["allowed"], answer["replayed"]) == (True, False)
        assert one.http.check(**WHO, tokens=4, request_id="r1")["replayed"]
        assert not one.http.check(tenant_id="b", resource="/sh", key="bob")["replayed"]
    stub = grpc_stub(one.server)
    with pytest.raises(grpc.RpcError):
        stub.CheckAndIncrement(tenant_id="a", resource="/x", dimensions={"user": "ann"}, cost=5, request_id="r1")
    assert stub.CheckAndIncrement(tenant_id="b", resource="/sh", dimensions={"user": "bob"}).allowed


def test_a_policy_in_shadow_alone_has_ids_too(start):
    one = start(f"policies: [{{ id: sh, shadow: true, {PATIENT}, limits: [{{ per: [user], rate: 10/h }}] }}]")
    first = one.http.check(**WHO, tokens=4, request_id="s1")
    again = one.http.check(**WHO, tokens=4, request_id="s1")
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert again == {**first, "replayed": True}
    assert refused(one.http, **WHO, tokens=5, request_id="s1") == (422, "request_id")
    checks = [{**WHO, "tokens": tokens, "request_id": "s2"} for tokens in (1, 2)]
    answer = one.http.post("/v1/ratelimit/check-batch", {"checks": checks})
    assert (answer.status, answer.json["field"]) == (422, "checks[1].request_id")


def test_looks_and_denials_are_not_remembered(start):
    one = start(f"policies: [{{ id: p, {PATIENT}, limits: [{{ per: [tenant, key], rate: 10/h }}] }}]")
    assert one.http.check(**WHO, tokens=10, request_id="all")["allowed"]
    for tokens, allowed in ((0, True), (1, False)):
        checks = [{**WHO, "tokens": tokens, "request_id": f"{tokens}.{i}"} for i in range(200)]
        for _ in range(2):
            results = one.http.post("/v1/ratelimit/check-batch", {"checks": checks}).json["results"]
            assert {(one["allowed"], one["replayed"]) for one in results} == {(allowed, False)}
    assert one.records() == 1, "what was charged"
    assert one.http.check(**WHO, tokens=10, request_id="all")["replayed"]


def test_who_waits_as_told_is_admitted_with_the_same_id(start):
    one = start(f"policies: [{{ id: p, {PATIENT}, limits: [{{ per: [key], rate: 1/2s }}] }}]")
    both = {"checks": [WHO, {**WHO, "request_id": "again"}]}  # at once, however busy the machine is
    _, first = one.http.post("/v1/ratelimit/check-batch", both).json["results"]
    assert not first["allowed"] and 0 < first["retry_after_ms"] <= 2000
    answers = []

    def is_admitted():
        answers.append(one.http.check(**WHO, request_id="again"))
        return answers[-1]["allowed"]
    wait_until(is_admitted, "an admission")
    waits = [answer["retry_after_ms"] for answer in answers]
    assert waits == sorted(waits, reverse=True) and waits[-1] == 0, "each tells the wait that is left"
    assert not any(answer["replayed"] for answer in answers)
    assert one.http.check(**WHO, request_id="again")["replayed"]


def test_a_denial_that_is_charged_is_remembered(start):
    one = start(f"policies: [{{ id: p, {PATIENT}, limits: [{{ per: [key], rate: 1/h, count_denied: true, algorithm: fixed_window }}] }}]")
    one.http.check(**WHO)
    first = one.http.check(**WHO, request_id="again")
    assert (first["allowed"], first["replayed"]) == (False, False)
    assert one.http.check(**WHO, request_id="again") == {**first, "replayed": True}


@pytest.mark.parametrize("limits", ["{ name: other, per: [tenant], rate: 1000/h, algorithm: sliding_log }",
                                    "{ name: one, per: [user], rate: 10/h }, { name: two, per: [user], rate: 5/h }"])
def test_after_a_change_a_replay_tells_only_what_it_knows(start, limits):
    def policy(limits):
        return f"policies: [{{ id: p, {PATIENT}, limits: [{limits}] }}]"
    one = start(policy("{ name: one, per: [user], rate: 10/h }"))
    first = one.http.check(**WHO, tokens=4, request_id="r")
    assert (first["limit"], first["remaining"], first["policy_id"], first["policy_version"]) == (10, 6, "p", 1)
    one.server.write_policies(policy(limits))
    wait_until(lambda: one.http.check(**WHO, tokens=0)["policy_version"] == 2, "the change")
    again = one.http.check(**WHO, tokens=4, request_id="r")
    assert again == {**first, "replayed": True, "limit": -1, "remaining": -1, "policy_id": "", "policy_version": 0, "limiting": "",
                     "reset_unix_ms": 0}


def test_two_keys_are_refused(start, grpc_stub, raw):
    one = start(f"policies: [{{ id: p, {PATIENT}, limits: [{{ per: [user], rate: 10/h }}] }}]")
    body = json.dumps(WHO)
    status, _, problem = raw(one.server).send(
        "POST /v1/ratelimit/check HTTP/1.1\r\nHost: x\r\nX-Idempotency-Key: one\r\nX-Idempotency-Key: two\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}").read_answer()
    assert (status, json.loads(problem)["field"]) == (400, "x-idempotency-key")
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub(one.server).CheckAndIncrement(tenant_id="a", resource="/x", dimensions={"user": "ann"},
                                                metadata=[("x-idempotency-key", "one"), ("x-idempotency-key", "two")])
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.details().startswith("x-idempotency-key: ")
    assert one.http.check(**WHO, tokens=0)["remaining"] == 10
