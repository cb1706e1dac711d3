"""--node-leases: a node leases units of a hot key from Redis for itself. Game day: a whale doubles its load."""

import threading

import pytest
from harness.admin import expect
from harness.server import wait_until

LIMIT = 4000
POLICIES = f"""
policies:
  - id: whale
    tenant: whale
    deadline: 60s  # however busy the machine is
    limits:
      - {{ name: day, per: [tenant], rate: {LIMIT}/d, algorithm: fixed_window }}
  - id: others
    deadline: 60s
    limits:
      - {{ name: day, per: [tenant], rate: 1000000/d, algorithm: fixed_window }}
"""
ARGS = ["--node-leases", "--hot-key-rate", "20", "--threads", "2"]


class Callers:
    """Threads that check for one tenant until they are told to stop; .allowed and .denied add up."""

    def __init__(self, http, nodes):
        self.http, self.nodes = http, nodes
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.threads, self.allowed, self.denied = [], {}, {}

    def add(self, tenant, count):
        for number in range(count):
            client = self.http(self.nodes[number % len(self.nodes)])
            thread = threading.Thread(target=self.work, args=(client, tenant))
            self.threads.append(thread)
            thread.start()

    def work(self, client, tenant):
        while not self.stopping.is_set():
            answer = client.check(tenant_id=tenant, resource="/r")
            assert not answer["degraded"], answer
            with self.lock:
                tally = self.allowed if answer["allowed"] else self.denied
                tally[tenant] = tally.get(tenant, 0) + 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def nodes(server, redis):
    return [server(POLICIES, args=["--store", redis.url, *ARGS]) for _ in range(2)]


@pytest.fixture
def callers(http, nodes):
    one = Callers(http, nodes)
    yield one
    one.stop()


def used(client, tenant):
    return expect(client.get(f"/v1/usage?tenant_id={tenant}&resource=/r"), 200)["usages"][0]["current"]


def leased(client, tenant):
    keys = expect(client.get(f"/v1/hotkeys?tenant_id={tenant}"), 200)["hotkeys"]
    return any(key["leased"] for key in keys)


def test_game_day_a_whale_doubles_its_load(http, nodes, callers):
    client = http(nodes[0])
    callers.add("whale", 2)
    for number in range(4):
        callers.add(f"other{number}", 1)
    wait_until(lambda: leased(client, "whale"), "the whale's units")
    callers.add("whale", 2)
    wait_until(lambda: callers.denied.get("whale", 0) > 100, "the end of the whale's day")
    wait_until(lambda: callers.allowed["whale"] >= LIMIT, "the last of its units")
    callers.stop()
    assert callers.allowed["whale"] == LIMIT, "never more than Redis has charged"
    assert used(client, "whale") == LIMIT
    assert not any(callers.denied.get(f"other{number}") for number in range(4)), "nobody else is denied"
    # What a node has leased and not spent comes back.
    for number in range(4):
        wait_until(lambda: used(client, f"other{number}") == callers.allowed[f"other{number}"], "unused units")


def test_a_node_that_stops_returns_its_units(http, nodes, callers):
    client = http(nodes[0])
    callers.add("whale", 2)
    wait_until(lambda: leased(client, "whale"), "the whale's units")
    callers.stop()
    assert nodes[1].stop() == 0
    wait_until(lambda: used(client, "whale") == callers.allowed["whale"], "unused units")


def test_off_by_default(server, redis, http):
    client = http(server(POLICIES, args=["--store", redis.url, "--hot-key-rate", "20"]))
    wait_until(lambda: client.check(tenant_id="whale", resource="/r").get("lease_advised"), "the promotion")
    for _ in range(50):
        checked = client.check(tenant_id="whale", resource="/r")
    assert checked["limit"] - checked["remaining"] == used(client, "whale")
    assert not leased(client, "whale")
