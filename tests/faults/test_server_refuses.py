"""One Redis server that is there and answers, but not what we would like to hear."""

import signal
import time

import pytest
import redis
from harness.server import wait_until

from rig.load import now
from rig.patience import WAIT_S
from rig.trial import EXACT_DEADLINE_S, EXACT_LIMIT, OUTAGE_S, POLICIES, SCARCE_LIMIT

THREADS = 2  # loops of a node of these tests: each has its own connection


def problems(client):
    return " ".join(client.get("/readyz").json["problems"])


def test_scripts_flushed_all_the_time(redis_server, sluice, trial, http):
    store = redis_server()
    node = sluice(store.url)

    def fault():
        for _ in range(30):
            store.cli.script_flush()
            time.sleep(0.1)
    outcome = trial(node, fault, patient=True)
    outcome.assert_promises()
    outcome.assert_not_felt()
    outcome.assert_exact(http(node))


def test_everything_flushed(redis_server, sluice, trial):
    store = redis_server()
    node = sluice(store.url)

    def fault():
        time.sleep(1)
        store.cli.flushall()
    outcome = trial(node, fault, patient=True)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_not_felt()
    outcome.assert_admitted_at_most(SCARCE_LIMIT)  # one flush, one more limit


@pytest.mark.parametrize("name, bad, good, says", [("maxmemory", 1, 0, "memory"),
                                                   ("min-replicas-to-write", 5, 0, "replicas")])
def test_it_takes_no_writes(redis_server, sluice, trial, http, name, bad, good, says):
    store = redis_server()
    node = sluice(store.url)
    client = http(node)
    seen = []

    def fault():
        store.cli.config_set(name, bad)
        time.sleep(OUTAGE_S)
        seen.append(problems(client))
        store.cli.config_set(name, good)
    outcome = trial(node, fault)
    outcome.assert_promises()
    assert outcome.exact.degraded() and outcome.quick.degraded()
    outcome.assert_exact(client)
    assert says in seen[0]
    wait_until(lambda: problems(client) == "", WAIT_S, "the problem's end")


def test_it_became_the_replica_of_nobody(redis_server, sluice, trial, http):
    """Like the whole of a Sentinel set after a bad failover: all are there, none takes writes."""
    store = redis_server()
    node = sluice(store.url)
    client = http(node)
    seen = []

    def fault():
        store.cli.replicaof("127.0.0.1", 1)
        time.sleep(OUTAGE_S)
        seen.append(problems(client))
        store.cli.execute_command("REPLICAOF", "NO", "ONE")
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(client)
    assert "replica" in seen[0]


def test_an_evicting_server_is_warned_of_and_served(redis_server, sluice, load, http):
    store = redis_server(maxmemory="2mb", maxmemory_policy="allkeys-lru")
    node = sluice(store.url)
    node.wait_for_log(r"(?i)warn.*maxmemory-policy", WAIT_S)
    assert "allkeys-lru" in node.log()
    running = load(node, policy_id="exact", keys=1_000_000, per_second=2000, connections=32, ids="e")
    wait_until(lambda: store.cli.info("stats")["evicted_keys"] > 0, WAIT_S, "evictions")
    report = running.stop()
    report.assert_all_answered()
    report.assert_in_time(EXACT_DEADLINE_S)
    report.assert_not_felt(EXACT_DEADLINE_S)


def test_a_server_that_does_not_evict_is_not_warned_of(redis_server, sluice):
    node = sluice(redis_server(maxmemory="100mb", maxmemory_policy="noeviction").url)
    time.sleep(0.5)
    assert "maxmemory-policy" not in node.log()


def change_password(store, password):
    """Everybody must log in anew, and with another password."""
    store.cli.config_set("requirepass", password)
    store.password = password
    store.forget_client()
    store.cli.client_kill_filter(_type="normal", skipme=True)


def reconnects_per_second(count, seconds):
    """How fast count(), a number of attempts, grows."""
    before, began = count(), now()
    time.sleep(seconds)
    return (count() - before) / (now() - began)


def test_the_password_changed_and_changed_back(redis_server, sluice, trial, http):
    store = redis_server(password="old secret")
    node = sluice("redis://:old%20secret@" + store.address)
    client = http(node)
    seen = {}

    def fault():
        change_password(store, "new secret")
        time.sleep(0.5)
        seen["reconnects"] = reconnects_per_second(store.connections_received, 4)
        seen["problems"] = problems(client)
        change_password(store, "old secret")
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(client)
    assert seen["reconnects"] < THREADS
    assert "password" in seen["problems"]
    assert "secret" not in seen["problems"] + node.log()


def test_the_new_password_is_taken_over_without_a_restart(redis_server, server, http, tmp_path):
    store = redis_server(password="old")
    settings = tmp_path / "settings.yaml"
    write = f"store: redis://:%s@{store.address}\nkey-secret: fault tests\n"
    settings.write_text(write % "old")
    node = server(POLICIES, args=["--config", str(settings)])
    client = http(node)

    def decides():
        return not client.check(policy_id="exact", tenant_id="t", key="k")["degraded"]
    wait_until(decides, WAIT_S, "the store")
    change_password(store, "new")
    wait_until(lambda: not decides(), WAIT_S, "the store to refuse us")
    settings.write_text(write % "new")
    node.signal(signal.SIGHUP)
    wait_until(decides, WAIT_S, f"the store under its new password:\n{node.log()}")
    assert client.check(policy_id="exact", tenant_id="t", key="k", tokens=0)["remaining"] < EXACT_LIMIT - 1


def test_rights_taken_away(redis_server, sluice, trial, http):
    store = redis_server()
    store.cli.acl_setuser("limiter", enabled=True, passwords=["+pw"], keys=["*"], commands=["+@all"])
    node = sluice(f"redis://limiter:pw@{store.address}")
    client = http(node)
    seen = []

    def fault():
        store.cli.execute_command("ACL", "SETUSER", "limiter", "-evalsha", "-eval")
        time.sleep(OUTAGE_S)
        seen.append(problems(client))
        store.cli.execute_command("ACL", "SETUSER", "limiter", "+evalsha", "+eval")
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(client)
    assert "rights" in seen[0]


def test_no_room_for_another_client(redis_server, sluice, http):
    """The server takes nobody in: it is left alone for a while, not stormed."""
    store = redis_server(maxclients=12)
    kept = []
    ours = store.cli
    ours.ping()
    try:
        while True:
            one = store.connect()
            one.ping()
            kept.append(one)
    except redis.ConnectionError:
        pass
    node = sluice(store.url, ready=False)
    client = http(node)
    wait_until(lambda: "number of clients" in problems(client), WAIT_S, "the problem")
    assert client.check(policy_id="exact", tenant_id="t", key="k")["degraded"]
    assert reconnects_per_second(lambda: ours.info("stats")["rejected_connections"], 3) < THREADS
    for one in kept:
        one.connection_pool.disconnect()
    wait_until(lambda: not client.check(policy_id="exact", tenant_id="t", key="k")["degraded"], WAIT_S, "room")
