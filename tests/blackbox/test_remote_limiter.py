"""The library's limiter of a server: processes that lease units and spend them, while the server is killed and frozen."""

import itertools
import json
import signal
import subprocess

import pytest
from harness.admin import expect
from harness.server import DIE_WITH_PARENT, Server, binary, wait_until

POLICIES = """
policies:
  - id: api
    deadline: 5s  # however busy the machine is
    limits:
      - { name: day, per: [tenant, key], rate: %d/d, algorithm: fixed_window }
"""
PLENTY = 1_000_000_000


class Worker:
    """A process with a limiter; see tests/library/remote/worker.cc."""

    def __init__(self, url, *options):
        command = [*DIE_WITH_PARENT, str(binary().with_name("remote_worker")), url, *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def do(self, *words):
        self.send(*words)
        return self.answer()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def worker():
    """A factory: worker(server.url, "deny", …) is a Worker. At the end each must still end cleanly."""
    started = []

    def start(url, *options):
        started.append(Worker(url, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.stdin.closed:
            continue
        try:
            one.end()
        finally:
            one.process.kill()


def used(client, key):
    usages = expect(client.get(f"/v1/usage?tenant_id=shop&resource=/r&key={key}"), 200)["usages"]
    return usages[0]["current"]


def test_many_threads_of_many_processes_spend_what_the_limit_allows_and_return_the_rest(server, http, worker):
    node = server(POLICIES % 5000)
    client = http(node)
    names = (f"u{n}" for n in itertools.count())

    def trial():
        key = next(names)
        workers = [worker(node.url, "deny", "return", "timeout=60000") for _ in range(3)]
        for one in workers:
            one.send("spend", key, 4, 300)
        counts = [one.answer() for one in workers]
        assert sum(one["leased"] for one in counts) > 0
        assert sum(one["degraded"] for one in counts) == 0
        for one in workers:
            one.do("close")
            one.end()
        allowed = sum(one["allowed"] for one in counts)
        assert allowed <= used(client, key) <= 5000
        # A lease that has expired before it was returned stays charged; on a machine that is not too busy, none has.
        return allowed == used(client, key)

    wait_until(trial, "all units that were not spent to be returned")


def test_beyond_the_limit_nothing_is_admitted(server, http, worker):
    node = server(POLICIES % 1000)
    workers = [worker(node.url, "deny", "timeout=60000") for _ in range(3)]
    for one in workers:
        one.send("spend", "whale", 4, 500)
    counts = [one.answer() for one in workers]
    allowed = sum(one["allowed"] for one in counts)
    assert 0 < allowed <= 1000 and sum(one["degraded"] for one in counts) == 0
    assert allowed <= used(http(node), "whale") <= 1000


def test_a_server_that_is_killed_and_started_again_has_charged_what_was_spent(server, http, worker, redis, tmp_path):
    args = ["--store", redis.url]
    node = server(POLICIES % PLENTY, args=args)
    one = worker(node.url, "deny")
    one.do("start", "whale", 4)
    wait_until(lambda: one.do("counts")["leased"] > 1000, "leased checks")
    node.kill()
    wait_until(lambda: one.do("counts")["degraded"] > 0, "the failure rule")
    again = Server(tmp_path / "again", POLICIES % PLENTY, args=args, listen=node.address)
    try:
        client = http(again)
        before = used(client, "whale")
        wait_until(lambda: used(client, "whale") > before, "the limiter to find the server again")
        counts = one.do("stop")
        assert counts["allowed"] - counts["safe"] <= used(client, "whale")
        assert wait_until(lambda: one.do("spend", "other", 1, 10), "checks")["trouble"] == 0
    finally:
        assert again.stop() == 0


def test_a_frozen_server_is_left_alone_and_found_again(server, http, worker):
    node = server(POLICIES % PLENTY)
    client = http(node)
    one = worker(node.url, "deny", "timeout=300")
    one.do("start", "whale", 4)
    wait_until(lambda: one.do("counts")["leased"] > 1000, "leased checks")
    node.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: one.do("counts")["trouble"] > 0, "the failure rule, after the safe capacity")
        before = one.do("counts")["leased"]
    finally:
        node.signal(signal.SIGCONT)
    wait_until(lambda: one.do("counts")["leased"] - one.do("counts")["safe"] > before, "leases again")
    counts = one.do("stop")
    assert counts["safe"] > 0
    assert counts["allowed"] - counts["safe"] <= used(client, "whale")


def test_without_a_server_the_failure_rule_decides(worker, server):
    node = server(POLICIES % PLENTY)
    node.kill()
    allows, denies = worker(node.url).do("spend", "u", 1, 5), worker(node.url, "deny").do("spend", "u", 1, 5)
    assert (allows["allowed"], allows["degraded"], allows["trouble"]) == (5, 5, 5)
    assert (denies["denied"], denies["degraded"], denies["trouble"]) == (5, 5, 5)


def test_a_reset_is_for_units_here_as_well(server, worker):
    node = server(POLICIES % 100)
    one = worker(node.url, "deny", "timeout=60000")
    assert one.do("spend", "u", 2, 200)["denied"] > 0
    assert one.do("reset", "u")["counters"] == 1
    assert one.do("spend", "u", 1, 1)["allowed"] == 1


def test_over_tls(tls, worker, authority):
    node = tls(policies=POLICIES % PLENTY)
    one = worker(f"https://localhost:{node.port}", "deny", f"ca={authority.file}", "timeout=60000")
    counts = one.do("spend", "u", 2, 100)
    assert counts["allowed"] == 200 and counts["leased"] > 0
    stranger = worker(f"https://localhost:{node.port}", "deny")
    assert stranger.do("spend", "u", 1, 1)["trouble"] == 1
