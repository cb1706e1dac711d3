"""A master with replicas and Sentinels that choose another one."""

import time

from harness.server import wait_until

from rig.sentinels import Sentinel
from rig.trial import RESIGN_S


def assert_left_alone(server, trial, node):
    """A former master gets no more writes, although it may not know yet that it is one; and nobody misses it."""
    time.sleep(RESIGN_S)
    before = server.script_calls()
    outcome = trial(node, lambda: wait_until(lambda: server.cli.role()[0] == "slave", "its end as a master"),
                    patient=True)
    assert server.script_calls() == before
    for report in outcome.reports:
        report.assert_all_answered()
    outcome.assert_not_felt()


def test_failover_by_command(sentinels, sluice, trial, http):
    stores = sentinels()
    node = sluice(stores.url)
    old = stores.master()
    outcome = trial(node, stores.failover)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_little_was_lost(http(node))
    assert_left_alone(old, trial, node)


def test_failover_because_the_master_died(sentinels, sluice, trial, http):
    stores = sentinels(replicas=2)
    node = sluice(stores.url)
    old = stores.master()

    def fault():
        old.kill()
        stores.wait_for_other_master(old)
    outcome = trial(node, fault)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_was_felt()
    outcome.assert_little_was_lost(http(node))
    # It comes back, empty, and holds itself for the master until the Sentinels tell it otherwise.
    old.start()
    assert_left_alone(old, trial, node)
    assert old.script_calls() == 0


def test_the_old_master_sleeps_through_its_end(sentinels, sluice, trial, http):
    stores = sentinels()
    node = sluice(stores.url)
    old = stores.master()

    def fault():
        old.freeze()
        stores.wait_for_other_master(old)
    outcome = trial(node, fault)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_was_felt()
    outcome.assert_little_was_lost(http(node))
    # It wakes up and does what was asked of it in its sleep; nobody listens, and nobody asks anything new.
    old.thaw()
    assert_left_alone(old, trial, node)


def test_few_sentinels_and_then_none(sentinels, sluice, trial, http):
    """One that answers is enough to find the master, and whoever has found it needs none until it is lost."""
    stores = sentinels()
    stores.sentinels[0].freeze()
    stores.sentinels[1].kill()
    node = sluice(stores.url)
    outcome = trial(node, stores.sentinels[2].kill, patient=True)
    outcome.assert_promises()
    outcome.assert_not_felt()
    outcome.assert_exact(http(node))


def test_none_is_the_master(sentinels, sluice, trial, http):
    """All servers are there, none takes writes, and the Sentinels are silent: the failure rule, then the way back."""
    stores = sentinels()
    node = sluice(stores.url)
    master = stores.master()
    client = http(node)
    seen = []

    def fault():
        for one in stores.sentinels:
            one.freeze()
        master.cli.replicaof(stores.servers[1].host, 1)
        trial.hold(1.5)
        seen.append(client.get("/readyz").json["problems"])
        master.cli.execute_command("REPLICAOF", "NO", "ONE")
        for one in stores.sentinels:
            one.thaw()
        wait_until(lambda: stores.master().cli.role()[0] == "master", "a master")
    outcome = trial(node, fault)
    outcome.assert_promises(counters_kept=False)
    outcome.assert_was_felt()
    assert seen[0]


def test_a_sentinel_left_over_from_another_group_is_outvoted(redis_server, directory, cleanup, sluice, http):
    def watching(master):
        one = Sentinel(directory("sentinel"), "mymaster", master)
        cleanup.callback(one.kill)
        return one.start()

    old, new = redis_server(), redis_server()
    left_over, *others = watching(old), watching(new), watching(new)
    # Both nodes ask the same Sentinels, each another one first.
    nodes = [sluice("redis+sentinel://" + ",".join(one.address for one in order) + "/mymaster")
             for order in ([left_over, *others], [*others, left_over])]

    def leaves_the_old_one_alone(node):
        before = old.script_calls()
        for number in range(20):
            http(node).check(policy_id="quick", tenant_id="t", key=f"user-{number}")
        return old.script_calls() == before

    for node in nodes:
        wait_until(lambda: any("Sentinels disagree" in one for one in http(node).get("/readyz").json["problems"]),
                   "a word about the disagreement")
        wait_until(lambda: leaves_the_old_one_alone(node), "the master that most name")
