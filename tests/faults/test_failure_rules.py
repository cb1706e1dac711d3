"""What callers hear while the store is gone, and that nodes on one store count as one."""

import time

import grpc
import pytest
from harness.server import wait_until

from rig.failure_policies import FAILURE_POLICIES
from rig.patience import WAIT_S
from rig.trial import SCARCE_LIMIT


@pytest.fixture
def node(redis_server, sluice):
    """A node whose store is up, and the store."""
    store = redis_server()
    return sluice(store.url, "--nodes", "5", policies=FAILURE_POLICIES), store


def answers(client, policy, count):
    return [client.check(policy_id=policy, tenant_id="t", key="k") for _ in range(count)]


def test_answers_without_a_store(node, http):
    server, store = node
    client = http(server)
    assert [one["degraded"] for one in answers(client, "closed", 2)] == [False, False]
    store.kill()
    for policy, allowed in (("open", [True] * 12), ("closed", [False] * 12), ("local", [True] * 3 + [False] * 9),
                            ("share", [True] * 2 + [False] * 10)):
        heard = answers(client, policy, 12)
        assert [one["allowed"] for one in heard] == allowed, policy
        assert {(one["degraded"], one["reason"], one["policy_id"]) for one in heard} == {
            (True, "store_unavailable", policy)}
    store.start()
    wait_until(lambda: not answers(client, "closed", 1)[0]["degraded"], "the store")


def test_each_degraded_decision_is_counted(node, http):
    server, store = node
    client = http(server)
    store.kill()
    for policy in ("open", "closed", "local"):
        answers(client, policy, 7)
    page = client.get("/metrics").body.decode()
    for policy in ("open", "closed", "local"):
        assert f'rate_limiter_failed_total{{policy="{policy}",mode="{policy}"}} 7' in page


def test_proxies_hear_503_from_a_closed_failure(node, http):
    server, store = node
    client = http(server)
    store.kill()
    answer = client.get("/v1/authorize?policy_id=closed&tenant_id=t&key=k")
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert client.get("/v1/authorize?policy_id=open&tenant_id=t&key=k").status == 200


def test_grpc_hears_the_same(node, grpc_stub):
    server, store = node
    stub = grpc_stub(server)
    store.kill()
    for policy, allowed in (("open", True), ("closed", False)):
        answer = stub.CheckAndIncrement(policy_id=policy, dimensions={"key": "k"})
        assert (answer.allowed, answer.degraded, answer.reason) == (allowed, True, "store_unavailable")


def test_reads_and_resets_are_unavailable(node, grpc_stub):
    server, store = node
    stub = grpc_stub(server)
    question = {"policy_id": "open", "dimensions": {"key": "k"}}
    stub.CheckAndIncrement(**question, cost=4)
    assert stub.GetUsage(**question).usages[0].current == 4
    store.kill()
    for method in (stub.GetUsage, stub.ResetKey):
        with pytest.raises(grpc.RpcError) as failure:
            method(**question)
        assert failure.value.code() == grpc.StatusCode.UNAVAILABLE
    store.start()

    def reset():
        try:
            return stub.ResetKey(**question)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE
    wait_until(reset, "the store")
    assert stub.GetUsage(**question).usages[0].current == 0


def test_a_frozen_store_keeps_reads_and_resets_no_longer_than_checks(node, grpc_stub):
    server, store = node
    stub = grpc_stub(server)
    store.freeze()
    for method in (stub.GetUsage, stub.ResetKey):
        with pytest.raises(grpc.RpcError) as failure:
            method(policy_id="open", dimensions={"key": "k"}, timeout=WAIT_S)
        assert failure.value.code() == grpc.StatusCode.UNAVAILABLE
    store.thaw()


def test_degraded_answers_are_not_remembered(node, http):
    server, store = node
    client = http(server)
    question = {"policy_id": "closed", "tenant_id": "t", "key": "k", "request_id": "once"}
    store.kill()
    assert client.check(**question)["degraded"]
    store.start()
    wait_until(lambda: not answers(client, "open", 1)[0]["degraded"], "the store")
    decided = []

    def decide():
        decided.append(client.check(**question))
        return not decided[-1]["degraded"]
    wait_until(decide, "a decision")
    assert (decided[-1]["allowed"], decided[-1]["replayed"]) == (True, False)
    again = client.check(**question)
    assert (again["allowed"], again["replayed"], again["remaining"]) == (True, True, decided[-1]["remaining"])


def test_an_id_of_an_earlier_request_spoils_only_its_own_answer_of_a_batch(node, http, grpc_stub):
    server, _ = node
    client = http(server)
    client.check(policy_id="closed", tenant_id="t", key="b", tokens=2, request_id="z")
    batch = [{"policy_id": "closed", "tenant_id": "t", "key": "a"},
             {"policy_id": "closed", "tenant_id": "t", "key": "b", "request_id": "z"},
             {"policy_id": "closed", "tenant_id": "t", "key": "c"}]
    answer = client.post("/v1/ratelimit/check-batch", {"checks": batch})
    assert answer.status == 200
    results = answer.json["results"]
    assert [one["allowed"] for one in results] == [True, False, True]
    assert (results[1]["error"]["status"], results[1]["error"]["field"]) == (422, "checks[1].request_id")
    over_grpc = grpc_stub(server).CheckBatch(checks=[
        {"policy_id": one["policy_id"], "tenant_id": "t", "dimensions": {"key": one["key"]},
         "request_id": one.get("request_id", "")} for one in batch])
    assert [one.allowed for one in over_grpc.results] == [True, False, True]
    assert [one.error.code for one in over_grpc.results] == [0, grpc.StatusCode.FAILED_PRECONDITION.value[0], 0]
    assert client.check(policy_id="closed", tenant_id="t", key="b", tokens=0)["remaining"] == 8


def test_an_id_belongs_to_one_request_whatever_key_the_other_is_for(node, http):
    server, _ = node
    client = http(server)
    for tenant in ({}, {"tenant_id": "t"}):
        client.check(policy_id="closed", key="a", request_id="z", **tenant)
        answer = client.post("/v1/ratelimit/check", {"policy_id": "closed", "key": "b", "request_id": "z", **tenant})
        assert (answer.status, answer.json["field"]) == (422, "request_id")
    assert client.check(policy_id="closed", key="b", tokens=0)["remaining"] == 10


def test_an_id_on_two_different_checks_of_a_batch_charges_nothing(node, http):
    server, _ = node
    client = http(server)
    answer = client.post("/v1/ratelimit/check-batch", {"checks": [
        {"policy_id": "closed", "tenant_id": "t", "key": "a"},
        {"policy_id": "closed", "tenant_id": "t", "key": "b", "request_id": "z"},
        {"policy_id": "closed", "tenant_id": "t", "key": "c", "request_id": "z"}]})
    assert (answer.status, answer.json["field"]) == (422, "checks[2].request_id")
    for key in "abc":
        assert client.check(policy_id="closed", tenant_id="t", key=key, tokens=0)["remaining"] == 10


def test_changes_of_the_breaker_are_counted(node, http):
    server, store = node
    client = http(server)

    def transitions(state):
        name = f'rate_limiter_redis_breaker_transitions_total{{state="{state}"}} '
        [line] = [one for one in client.get("/metrics").body.decode().splitlines() if one.startswith(name)]
        return int(line.removeprefix(name))
    assert [transitions(state) for state in ("open", "half_open", "closed")] == [0, 0, 0]
    store.kill()
    wait_until(lambda: answers(client, "open", 1) and transitions("open") > 0, "an open breaker")
    store.start()
    wait_until(lambda: transitions("closed") > 0, "a closed breaker")
    assert transitions("half_open") >= transitions("closed")


def test_a_caller_with_less_time_than_the_policy_gets_its_answer(redis_server, sluice, grpc_stub):
    store = redis_server()
    server = sluice(store.url, policies=FAILURE_POLICIES.replace("deadline: 2s", "deadline: 50s"))
    stub = grpc_stub(server)
    assert stub.CheckAndIncrement(policy_id="open", dimensions={"key": "k"}).degraded is False
    store.freeze()
    answer = stub.CheckAndIncrement(policy_id="open", dimensions={"key": "k"}, timeout=10)
    assert (answer.allowed, answer.degraded) == (True, True)
    store.thaw()


def test_nodes_on_one_store_share_one_limit(redis_server, sluice, load):
    store = redis_server()
    nodes = [sluice(store.url) for _ in range(2)]
    running = load(nodes, policy_id="scarce", per_second=400, connections=32)
    wait_until(lambda: store.script_calls() > SCARCE_LIMIT, "enough checks")
    report = running.stop()
    report.assert_all_answered()
    assert report.counts()["denied"] > 0
    assert sum(report.granted().values()) == SCARCE_LIMIT


def test_two_nodes_through_a_fault_are_as_exact_as_one(redis_server, sluice, trial, http):
    store = redis_server(appendonly="yes", appendfsync="no")
    nodes = [sluice(store.url) for _ in range(2)]

    def fault():
        store.kill()
        store.start()
    outcome = trial(nodes, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(nodes[1]))


ENVOY = """
domain: d
descriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: b, rate_limit: { unit: day, requests_per_unit: 100 } }
"""


def test_a_denial_stands_while_the_store_is_silent(redis_server, server, http):
    """What is known to be used up is denied, alone and beside what nobody knows; the failure rule decides about the rest."""
    store = redis_server()
    node = server(ENVOY, args=["--store", store.url, "--threads", "1"])  # each loop remembers its own
    client = http(node)
    wait_until(lambda: client.get("/readyz").status == 200, "the store")

    def statuses(*keys):
        return client.post("/json", {"domain": "d", "descriptors": [{"entries": [{"key": k, "value": "x"}]} for k in keys]}).status

    def in_silence():
        """None: the machine was so busy that the store did not deny in time, or that the denial may be forgotten by now."""
        began = time.monotonic()
        if statuses("a") != 429:
            return None
        store.freeze()
        try:
            heard = statuses("a"), statuses("a", "b"), statuses("b", "a"), statuses("b")
        finally:
            store.thaw()
        return heard if time.monotonic() - began < 8 else None

    assert statuses("a") == 200
    heard = []
    wait_until(lambda: heard.append(in_silence()) or heard[-1], "a quick try")
    assert heard[-1] == (429, 429, 429, 200)
