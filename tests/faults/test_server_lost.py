"""One Redis server that dies, freezes, is slow to come, or has no time for us."""

import os
import threading
import time

import redis
from harness.server import wait_until

from rig.load import now
from harness.ports import free_port
from rig.redis_server import RedisServer
from rig.trial import OUTAGE_S, SCARCE_LIMIT

# How long Redis stays frozen: longer than whatever waits, so that each of them ends. Less is for whoever is in a hurry.
FREEZE_S = float(os.environ.get("SLUICE_FREEZE_SECONDS", "30"))


def test_killed_and_back_with_its_data(redis_server, sluice, trial, http):
    # What was acknowledged is in the file: Redis writes it before it answers. A process can be killed, not the disk.
    store = redis_server(appendonly="yes", appendfsync="no")
    node = sluice(store.url)

    def fault():
        store.kill()
        trial.hold()
        store.start()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


def test_killed_and_back_with_nothing(redis_server, sluice, trial):
    store = redis_server()
    node = sluice(store.unix_url)  # the same, but for what the kernel says when nobody is there

    def fault():
        store.kill()
        trial.hold()
        store.start()
    outcome = trial(node, fault)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_was_felt()
    outcome.assert_admitted_at_most(SCARCE_LIMIT)  # what it has forgotten, once


def test_killed_again_and_again(redis_server, sluice, trial, http):
    store = redis_server(appendonly="yes", appendfsync="no")
    node = sluice(store.url)

    def fault():
        for _ in range(5):
            store.kill()
            store.start()
            time.sleep(0.3)
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))


def test_frozen_and_thawed(redis_server, sluice, trial, http):
    """No end of a connection, no error: silence. What Redis says when it wakes up belongs to nobody any more."""
    store = redis_server()
    node = sluice(store.url)

    def fault():
        store.freeze()
        trial.hold(FREEZE_S)
        store.thaw()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


def test_frozen_for_moments(redis_server, sluice, trial, http):
    """Shorter than a new connection takes: late replies come over the old one."""
    store = redis_server()
    node = sluice(store.url)

    def fault():
        for pause_s in (0.02, 0.05, 0.1, 0.2, 0.4):
            store.freeze()
            time.sleep(pause_s)
            store.thaw()
            time.sleep(0.2)
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_exact(http(node))


def test_absent_at_the_start(directory, cleanup, sluice, http, trial):
    store = RedisServer(directory("late"))
    cleanup.callback(store.kill)
    store.port = free_port()
    node = sluice(store.url, ready=False)
    client = http(node)
    assert client.get("/healthz").status == 200
    answer = client.get("/readyz")
    assert (answer.status, bool(answer.json["problems"])) == (503, True)
    decision = client.check(policy_id="exact", tenant_id="t", key="k")
    assert (decision["allowed"], decision["degraded"], decision["reason"]) == (False, True, "store_unavailable")

    def fault():
        trial.hold()
        assert client.get("/healthz").status == 200
        assert client.get("/readyz").status == 503
        store.start()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(client)
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert client.get("/readyz").json["problems"] == []
    assert client.get("/healthz").status == 200


def test_lost_later_it_stays_ready_and_says_what_is_wrong(redis_server, sluice, http):
    store = redis_server()
    node = sluice(store.url)
    client = http(node)
    assert client.get("/readyz").json["problems"] == []
    store.kill()
    wait_until(lambda: client.get("/readyz").json["problems"], "the problem")
    answer = client.get("/readyz")
    assert answer.status == 200
    assert store.address in str(answer.json["problems"])
    assert client.get("/healthz").status == 200
    store.start()
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "the problem's end")


def test_asleep(redis_server, sluice, trial, http):
    store = redis_server()
    node = sluice(store.url)

    def fault():  # until it is felt: a check that begins late in its sleep is not late itself
        wait_until(lambda: store.cli.execute_command("DEBUG", "SLEEP", OUTAGE_S) and trial.is_felt(), "its effect")
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


def test_busy_with_another_script(redis_server, sluice, trial, http):
    store = redis_server(busy_reply_threshold=100)
    node = sluice(store.url)

    def fault():
        endless = store.connect()
        thread = threading.Thread(target=run_endless_script, args=(endless,))
        thread.start()
        trial.hold()
        store.cli.script_kill()
        thread.join()
        endless.connection_pool.disconnect()
    outcome = trial(node, fault)
    outcome.assert_promises()
    outcome.assert_was_felt()
    outcome.assert_exact(http(node))


def run_endless_script(client):
    try:
        client.eval("while true do end", 0)
    except redis.ResponseError:
        pass  # it was killed


def test_failures_are_logged_but_not_each_of_them(redis_server, sluice, http, load):
    store = redis_server()
    node = sluice(store.url)
    store.kill()
    before = len(node.log().splitlines())
    began = now()
    running = load(node, policy_id="quick", per_second=500)
    time.sleep(3)
    wait_until(lambda: running.degraded_so_far() > 100, "checks without the store")
    report = running.stop()
    lines = node.log().splitlines()[before:]
    assert report.counts()["degraded denied"] > 100
    assert any(store.address in line for line in lines), lines
    assert len(lines) <= 10 + 4 * (now() - began), "\n".join(lines[:50])
