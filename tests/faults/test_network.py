"""A network between Sluice and Redis that is slow, cuts connections inside a reply, or swallows everything."""

import concurrent.futures
import json
import random
import re
import time

import pytest
from harness.server import wait_until

from rig.load import now
from rig.patience import HANG_S
from rig.trial import EXACT_DEADLINE_S, OUTAGE_S, QUICK_DEADLINE_S, charged

MIB = 1 << 20


@pytest.fixture
def through(redis_server, proxy, sluice):
    """(the proxy, a node that reaches its store through it)"""
    network = proxy(redis_server())
    return network, sluice(network.url)


def cut_replies(network, rounds):
    """Connections end before a reply, after its first bytes, or in its middle, again and again."""
    lengths = random.Random(4)
    for _ in range(rounds):
        network.cut_replies_after(lambda: lengths.choice([0, 1, 2, 5, 20, 100, 300]))
        time.sleep(0.15)
        network.cut_replies_after(None)
        time.sleep(0.1)


def test_replies_cut_in_the_middle(through, trial, http):
    """The check was charged, the answer got lost: asked again under its id, it is charged once."""
    network, node = through
    outcome = trial(node, lambda: cut_replies(network, rounds=12))
    outcome.assert_promises()
    outcome.assert_exact(http(node))


def test_under_another_id_the_same_would_be_charged_twice(through, load, http):
    """What the ids are good for, and that the test above can fail."""
    network, node = through
    running = load(node, policy_id="exact", ids="e", fresh_ids=True, per_second=300)
    time.sleep(0.5)
    cut_replies(network, rounds=8)
    # Of so many, some were charged.
    wait_until(lambda: cut_replies(network, rounds=1) or running.degraded_so_far() > 20, "replies that are cut off")
    report = running.stop()
    assert charged(http(node), "exact", "k0", "t0") > sum(report.granted().values())


def test_connections_reset(through, trial, http):
    network, node = through

    def fault():
        for _ in range(10):
            network.reset_connections()
            time.sleep(0.15)
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))


def test_connections_half_closed(through, trial, http):
    network, node = through

    def fault():
        for _ in range(5):
            network.half_close()
            time.sleep(0.3)
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))


@pytest.mark.parametrize("weather", [{"silent": True}, {"deaf": True}], ids=["swallowed", "stuck"])
def test_a_black_hole(through, trial, http, weather):
    network, node = through

    def fault():
        network.set(**weather)
        trial.hold()
        network.heal()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


def test_nobody_listens(through, trial, http):
    network, node = through

    def fault():
        network.refuse()
        trial.hold()
        network.accept()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


@pytest.mark.parametrize("weather", [{"latency_s": 0.004, "jitter_s": 0.004}, {"reply_slice": 1}],
                         ids=["latency and jitter", "one byte at a time"])
def test_slow_but_within_the_deadline(through, trial, http, weather):
    network, node = through

    def fault():
        network.set(**weather)
        time.sleep(OUTAGE_S)
        network.heal()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))


@pytest.mark.parametrize("weather", [{"latency_s": 0.3, "jitter_s": 0.1}, {"bytes_per_s": 300}],
                         ids=["latency", "bandwidth"])
def test_slower_than_the_deadline(through, trial, http, weather):
    network, node = through
    window = []

    def fault():
        network.set(**weather)
        window.append(now())
        trial.hold(quick_only=True)
        window.append(now())
        network.heal()
        network.reset_connections()  # what still lies on the slow road is not waited for
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))
    assert outcome.quick.between(*window).degraded()


def test_the_operator_hears_of_answers_that_come_too_late(through, load, http):
    """The server is well, but the network takes longer than the policy allows: the breaker opens, and nobody waits."""
    network, node = through
    client = http(node)
    network.set(latency_s=0.018)
    running = load(node, policy_id="quick", per_second=100)
    wait_until(lambda: "longer than the deadlines" in " ".join(client.get("/readyz").json["problems"]), "the problem")
    node.wait_for_log("is failing: .*longer than the deadlines of checks")
    network.heal()
    wait_until(lambda: not client.get("/readyz").json["problems"], "a probe that is quick enough")
    running.stop()


PATIENT = """
policies:
  - id: patient
    limits: [{ name: units, per: [key], rate: 1000000/d }]
    on_failure: closed
    deadline: 2s
"""


SERVING, NOT_SERVING = 1, 2


@pytest.mark.parametrize("policy_id, latency_s", [("quick", 0.018), ("patient", 0.4)],
                         ids=["slower than the deadline", "slow, and nobody minds"])
def test_a_slow_store_is_told_as_degraded(redis_server, proxy, sluice, http, grpc_stub, policy_id, latency_s):
    """Whether checks miss their deadlines or are patient enough for --degraded-latency-ms to tell; and the end of it."""
    network = proxy(redis_server())
    node = sluice(network.url, "--degraded-latency-ms", "300", policies=PATIENT + """
  - id: quick
    resource: /quick
    limits: [{ name: units, per: [key], rate: 1000000/d }]
    deadline: 10ms
""")
    client, health = http(node), grpc_stub(node, "grpc.health.v1.Health")

    def states():
        client.check(policy_id=policy_id, tenant_id="t", key="k")
        metric = re.search(r"^rate_limiter_store_degraded (\d)$", client.get("/metrics").body.decode(), re.M)[1]
        return client.get("/readyz").json["degraded"], metric == "1", health.Check(service="sluice.store").status == NOT_SERVING
    assert states() == (False, False, False)
    watch = health.Watch(service="sluice.store")
    assert next(watch).status == SERVING
    network.set(latency_s=latency_s)
    wait_until(lambda: states() == (True, True, True), "all to say degraded")
    ready = client.get("/readyz")
    assert ready.status == 200 and ready.json["problems"], "worth its traffic, and it says what is wrong"
    assert health.Check(service="").status == SERVING
    assert next(watch).status == NOT_SERVING
    network.heal()
    wait_until(lambda: states() == (False, False, False), "all to say that it is over")
    assert next(watch).status == SERVING
    watch.cancel()


FAR = """
policies:
  - { id: hurried, resource: /hurried, deadline: 10ms, limits: [{ name: units, per: [key], rate: 1000000/d }] }
  - { id: patient, tenant: patient, deadline: 30s, limits: [{ name: units, per: [key], rate: 1/d }] }
  - { id: cap, tenant: capped, deadline: 30s, limits: [{ name: units, per: [tenant], rate: 10/d }] }
  - { id: own, tenant: capped, always: true, deadline: 1ms, limits: [{ name: units, per: [key], rate: 1000000/d }] }
  - { id: trial, tenant: capped, always: true, shadow: true, deadline: 1ms, limits: [{ name: units, rate: 1/d }] }
"""


def test_a_policy_with_little_time_lifts_nobody_elses_limits(redis_server, proxy, sluice, http, load):
    """The server is healthy but far away: too far for some policies, and not for others."""
    network = proxy(redis_server())
    node = sluice(network.url, policies=FAR)
    client = http(node)
    network.set(latency_s=0.008)
    running = load(node, policy_id="hurried", per_second=300)
    wait_until(lambda: "longer than the deadlines" in " ".join(client.get("/readyz").json["problems"]), "the problem")
    node.wait_for_log("is failing: .*longer than the deadlines of checks")
    for i in range(100):
        first, second = (client.check(tenant_id="patient", resource="/", key=f"k{i}") for _ in range(2))
        assert (first["allowed"], second["allowed"]) == (True, False), (i, first, second)
    running.stop()
    allowed = [client.check(tenant_id="capped", resource="/", key=f"k{i}")["allowed"] for i in range(30)]
    assert allowed == [True] * 10 + [False] * 20, "not by a policy of its own, nor by one on trial"


def resident_bytes(node):
    with open(f"/proc/{node.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) * 1024


BATCHES = 40  # of a thousand each: several times what may wait in a queue


def test_memory_stays_flat_while_nothing_comes_back(redis_server, proxy, sluice, http):
    network = proxy(redis_server())
    # Freed memory must not be kept for the sanitizer's own purposes.
    node = sluice(network.url, policies=PATIENT, env={"ASAN_OPTIONS": "quarantine_size_mb=1"})
    checks = json.dumps({"checks": [{"policy_id": "patient", "tenant_id": "t", "key": f"k{i}"} for i in range(1000)]})
    connections = [http(node, timeout_s=HANG_S) for _ in range(BATCHES)]

    def ask(connection):
        began = now()
        answer = connection.post("/v1/ratelimit/check-batch", checks)
        # Decided without the store, or shed because too much waits for it already.
        results = answer.json["results"] if answer.status == 200 else [{"error": answer.json}]
        undecided = [one["error"]["code"] == "overloaded" if "error" in one else one["degraded"] for one in results]
        return answer.status, now() - began, undecided

    def flood():
        with concurrent.futures.ThreadPoolExecutor(BATCHES) as pool:
            return list(pool.map(ask, connections))

    flood()
    network.set(deaf=True)
    resident = []
    for _ in range(4):
        for status, seconds, undecided in flood():
            assert status in (200, 503)
            assert all(undecided)
            assert seconds < HANG_S
        resident.append(resident_bytes(node))
    assert resident[-1] - resident[0] < 24 * MIB, [one // MIB for one in resident]
    network.heal()


def test_a_short_deadline_is_kept_while_others_wait_long(through, load):
    network, node = through
    running = load(node, policy_id="quick", per_second=300)
    patient = load(node, policy_id="exact", per_second=50)
    time.sleep(1)
    network.set(silent=True)
    time.sleep(OUTAGE_S)
    network.heal()
    running.stop().assert_in_time(QUICK_DEADLINE_S)
    patient.stop().assert_in_time(EXACT_DEADLINE_S)
