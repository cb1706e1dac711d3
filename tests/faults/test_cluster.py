"""A cluster whose nodes die and whose slots move."""

import concurrent.futures
import json
import time

from harness.server import wait_until
from redis.crc import key_slot

from rig.load import now
from rig.trial import EXACT_DEADLINE_S

TENANTS = 12  # spread over the masters: a tenant's counters live together


def homes(cluster, client):
    """{tenant: the master that holds its counters}"""
    found = {}
    for tenant in (f"t{i}" for i in range(TENANTS)):
        before = {node.port: len(node.counters()) for node in cluster.masters}
        client.check(policy_id="exact", tenant_id=tenant, key="where", tokens=1)
        found[tenant] = next(node for node in cluster.masters if len(node.counters()) > before[node.port])
    assert len(set(found.values())) > 1, "all tenants live on one node"
    return found


def move_slots(stores, seconds):
    """Moves every slot that is in use to the next master, again and again; says how many moves that were."""
    moves, end = 0, now() + seconds
    while now() < end:
        for slot in sorted(slot for master in stores.masters for slot in master.used_slots()):
            source = stores.owner(slot)
            to = stores.masters[(stores.masters.index(source) + 1) % len(stores.masters)]
            stores.begin_move(slot, to)
            stores.move_keys(slot, source, to, at_most=1)
            time.sleep(0.01)  # neither here nor there
            stores.move_keys(slot, source, to)
            stores.end_move(slot, source, to)
            moves += 1
    return moves


def test_slots_moved_in_a_loop(cluster, sluice, trial, http):
    stores = cluster()
    node = sluice(stores.url)
    moves = []
    outcome = trial(node, lambda: moves.append(move_slots(stores, seconds=4)), tenants=TENANTS,
                    patient=True)
    outcome.assert_promises()
    outcome.assert_not_felt()
    outcome.assert_exact(http(node))
    assert moves[0] > TENANTS


SPREAD = """
policies:
  - id: spread
    limits:
      - { name: mine, per: [tenant], rate: 40000/366d }
      - { name: shared, per: [key], rate: 100/366d }
    on_failure: closed
    deadline: 1s
"""


def test_checks_on_several_slots_are_exact_while_these_move(cluster, sluice, load, grpc_stub):
    """A tenant's counter and one that tenants share live apart. What one slot denies, the other gives back."""
    stores = cluster()
    node = sluice(stores.url, policies=SPREAD)
    running = load(node, policy_id="spread", ids="s", tenants=3, keys=4, costs=2, per_second=200)
    time.sleep(0.5)
    moves = move_slots(stores, seconds=3)
    report = running.stop()
    report.assert_all_answered()
    report.assert_one_answer_each()
    report.assert_not_felt(EXACT_DEADLINE_S)
    assert report.counts()["denied"] > 0 and moves > 0
    stub = grpc_stub(node)

    def used(name, tenant, key):
        usages = stub.GetUsage(policy_id="spread", tenant_id=tenant, dimensions={"key": key}).usages
        return next(one.current for one in usages if one.quota.name == name)

    def granted(**where):
        return sum(one.cost for one in report.granted_answers()
                   if all(getattr(one, name) == value for name, value in where.items()))
    for tenant in ("t0", "t1", "t2"):
        assert used("mine", tenant, "k0") == granted(tenant=tenant)
    for key in ("k0", "k1", "k2", "k3"):
        assert used("shared", "t0", key) == granted(key=key) <= 100


def test_deny_counts_are_exact(cluster, sluice, grpc_stub):
    """The rates of an entry lie on one slot, so whatever one of them denies counts in all of them, also while many ask."""
    stores = cluster()
    rates = {"narrow": 5, "wide": 8}
    shops = [f"shop{i}" for i in range(8)]
    # What entries of `domains` would be, but with a deadline that a busy machine meets.
    limits = [{"name": name, "per": ["key"], "algorithm": "leaky_bucket", "rate": "1/10000s", "burst": burst}
              for name, burst in rates.items()]
    policies = json.dumps({"policies": [{"id": shop, "tenant": shop, "deadline": "30s", "limits": limits} for shop in shops]})
    mr = grpc_stub(sluice(stores.url, policies=policies), "ratelimiter.v1.RateLimiterService")

    def consume(shop, cost):
        answer = mr.ConsumeAndCheckLimit(domain=shop, limit_key="user", cost=cost)
        return "yes" if answer.allowed else answer.deny_count

    def denied(shop):
        return mr.GetBucketStatus(domain=shop, limit_key="user").deny_count
    for shop in shops:
        assert [consume(shop, cost) for cost in (6, 4, 3, 9, 1, 2)] == [6, "yes", 3, 12, "yes", 2]
        assert denied(shop) == 2
    keys = [key for master in stores.masters for key in master.counters()]
    assert len(keys) == len(shops) * len(rates) and len({key_slot(key.encode()) for key in keys}) <= len(shops)
    assert sum(bool(master.counters()) for master in stores.masters) > 1, "all live on one node"
    asked = [(shop, cost) for cost in (2, 3, 7, 11) * 20 for shop in shops[:3]]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda one: consume(*one), asked))
    for shop in shops[:3]:
        counts = [count for (asker, _), count in zip(asked, told) if asker == shop]
        total = 2 + sum(cost for asker, cost in asked if asker == shop)
        assert len(set(counts)) == len(counts) and max(counts) == total == denied(shop), "each has added its own"


def test_a_slot_that_stays_half_moved(cluster, sluice, http, load):
    """Keys that are at the old owner are served there, all others at the new one, for as long as it takes."""
    stores = cluster()
    node = sluice(stores.url)
    client = http(node)

    def use(key):
        decision = client.check(policy_id="exact", tenant_id="t0", key=key)
        assert (decision["allowed"], decision["degraded"]) == (True, False), decision
        return decision["remaining"]
    first = {f"old{i}": use(f"old{i}") for i in range(20)}
    source = next(one for one in stores.masters if one.counters())
    slot, = source.used_slots()
    to = next(one for one in stores.masters if one is not source)
    stores.begin_move(slot, to)
    stores.move_keys(slot, source, to, at_most=10)
    assert {key: use(key) for key in first} == {key: left - 1 for key, left in first.items()}
    running = load(node, policy_id="exact", key="more", keys=40, per_second=300)
    time.sleep(1)
    report = running.stop()
    report.assert_all_answered()
    report.assert_not_felt(EXACT_DEADLINE_S)
    fresh = {f"new{i}": use(f"new{i}") for i in range(20)}
    assert {key: use(key) for key in fresh} == {key: left - 1 for key, left in fresh.items()}
    stores.move_keys(slot, source, to)
    stores.end_move(slot, source, to)
    assert {key: use(key) for key in first} == {key: left - 2 for key, left in first.items()}


def test_a_master_lost_for_good(cluster, sluice, trial, http):
    """Only what lived there is degraded; the rest of the cluster does not notice."""
    stores = cluster()
    node = sluice(stores.url)
    client = http(node)
    home = homes(stores, client)
    lost = home["t0"]

    def fault():
        lost.kill()
        trial.hold(2)
        fault.seen = client.get("/readyz").json["problems"]
        lost.start()
        wait_until(lambda: lost.state()["cluster_state"] == "ok", "the node to join again")
    outcome = trial(node, fault, tenants=TENANTS, patient=True)
    here = {tenant for tenant, where in home.items() if where is lost}
    for report in (outcome.exact, outcome.quick):
        assert report.of_tenants(here).degraded()
        report.of_tenants(home.keys() - here).assert_not_felt(EXACT_DEADLINE_S)
        report.assert_all_answered()
        report.assert_in_time(EXACT_DEADLINE_S)
        report.assert_recovered(outcome.returned)
    assert fault.seen


def test_a_master_lost_and_replaced_by_its_replica(cluster, sluice, trial, http):
    stores = cluster(with_replicas=True)
    node = sluice(stores.url)
    client = http(node)
    lost = homes(stores, client)["t0"]
    slot = next(iter(lost.used_slots()))

    def fault():
        lost.kill()
        stores.wait_for_other_owner(slot, lost)
    outcome = trial(node, fault, tenants=TENANTS)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_was_felt()
    outcome.assert_little_was_lost(client)


def times_asked(node):
    """For what it knows of the slots."""
    return node.cli.info("commandstats").get("cmdstat_cluster|slots", {"calls": 0})["calls"]


def test_a_master_that_does_not_know_that_it_was_replaced_is_left(cluster, sluice, http):
    """Its links to the other nodes are cut, and it still serves whoever asks it: a limit would hold at either side."""
    stores = cluster(masters=1, with_replicas=True, has_proxy=True)
    old, new = *stores.masters, *stores.replicas
    node = sluice(stores.url)

    def deciders():
        """Who decides checks on both loops."""
        before = {one: one.script_calls() for one in (old, new)}
        for i in range(20):
            http(node).check(policy_id="exact", tenant_id="t0", key=f"k{i}")  # a connection each
        return {one for one in (old, new) if one.script_calls() > before[one]}
    wait_until(lambda: deciders() == {old}, "checks at the master")
    stores.cut_links()
    new.cluster("FAILOVER", "TAKEOVER")
    wait_until(lambda: new.slot_ranges() == [(0, 16383, new.port)], "the replica to take over")
    assert old.slot_ranges() == [(0, 16383, old.port)] and old.state()["cluster_state"] == "ok", "it knows nothing"
    wait_until(lambda: deciders() == {new}, "checks at the new master")
    asked = times_asked(old)
    wait_until(lambda: times_asked(old) >= asked + 4, "the old one to tell what it believes")  # a seed of both loops
    assert deciders() == {new}
    assert http(node).get("/readyz").json["problems"] == []


def test_a_master_frozen_and_thawed(cluster, sluice, trial, http):
    """Shorter than the cluster takes to notice: nothing is lost, late replies belong to nobody."""
    stores = cluster()
    node = sluice(stores.url)
    client = http(node)
    frozen = homes(stores, client)["t0"]

    def fault():
        frozen.freeze()
        trial.hold(0.8, quick_only=True)
        frozen.thaw()
    outcome = trial(node, fault, tenants=TENANTS)
    outcome.assert_promises()
    assert outcome.quick.degraded()
    outcome.assert_exact(client)
