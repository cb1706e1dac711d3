"""A tenant moves while everybody checks: what was used stays used, whichever node has heard of it and whoever dies."""

import collections
import http.client
import signal
import threading

import pytest
from harness.redis_server import Redis
from harness.server import wait_until
from harness.web import Http

WAIT_SECONDS = 120
LIMIT = 50
ALGORITHMS = ["gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"]
POLICY = "policies:\n" + "".join(f"""
  - id: {name}
    resource: /{name}
    on_failure: open
    deadline: 30s
    limits:
      - {{ name: each, per: [tenant, user], algorithm: {name}, rate: {LIMIT}/d }}
      - {{ name: all, per: [tenant], algorithm: {name}, rate: 1000/d }}
""" for name in ALGORITHMS)
USERS = 4
FILLER_KEYS = 200_000


@pytest.fixture
def two_redis(tmp_path):
    started = []
    try:
        for name in ("redis-home", "redis-eu"):
            started.append(Redis(tmp_path / name))
        yield started
    finally:
        for one in started:
            one.stop()


class Load:
    """Threads that check one user after the other on the nodes that there are, and count what was admitted."""

    def __init__(self):
        self.admitted = collections.Counter()
        self.answers = collections.Counter()
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = []

    def note(self, answer, which):
        with self.lock:
            self.admitted[which] += answer["allowed"]
            self.answers[answer["reason"]] += 1
            assert answer["reason"] in ("ok", "limited", "tenant_moving"), answer

    def on(self, server):
        self.threads.append(threading.Thread(target=self._run, args=(server,)))
        self.threads[-1].start()

    def _run(self, server):
        try:
            with Http(server.host, server.port) as connection:
                while not self.stopping.is_set():
                    for which in [(name, user) for name in ALGORITHMS for user in range(USERS)]:
                        self.note(connection.check(policy_id=which[0], tenant_id="acme", dimensions={"user": f"u{which[1]}"}), which)
        except (OSError, http.client.HTTPException):
            pass  # the server was killed

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize("dies", [False, True], ids=["all live", "the mover is killed"])
def test_no_unit_is_had_twice(server, two_redis, tmp_path, dies):
    home, eu = two_redis
    file = tmp_path / "cells.yaml"
    file.write_text(f"cells:\n  - {{ name: eu, store: '{eu.url}', tenants: [other] }}\n")
    home.client.eval("for i = 1, ARGV[1] do redis.call('SET', 'filler:' .. i, 'x') end", 0, FILLER_KEYS)
    args = ["--store", home.url, "--cells", str(file), "--threads", "2"]
    nodes = [server(POLICY, args), server(POLICY, args)]
    load = Load()
    try:
        with Http(nodes[0].host, nodes[0].port) as connection:
            wait_until(lambda: connection.get("/readyz").status == 200, WAIT_SECONDS, "readiness")
            for name in ALGORITHMS:
                answer = connection.check(policy_id=name, tenant_id="acme", tokens=LIMIT, dimensions={"user": "u0"})
                load.admitted[name, 0] += LIMIT * answer["allowed"]
        for node in nodes:
            load.on(node)
        file.write_text(f"cells:\n  - {{ name: eu, store: '{eu.url}', tenants: [other, acme] }}\n")
        nodes[0].signal(signal.SIGHUP)
        nodes[0].wait_for_log("moving tenant acme from default to eu", WAIT_SECONDS)
        if dies:
            wait_until(lambda: eu.client.hvals("rl:moves"), WAIT_SECONDS, "the beginning of the copy")
            nodes[0].kill()
            nodes[0] = server(POLICY, args)  # with the new file
            load.on(nodes[0])
        # The other has not heard of it, and must not count anew.
        wait_until(lambda: home.client.hvals("rl:moves") and home.client.hvals("rl:moves")[0][:1] == b"x", WAIT_SECONDS,
                   "the end of the move")
        wait_until(lambda: load.answers["tenant_moving"] > 10, WAIT_SECONDS, "refusals")
        with Http(nodes[1].host, nodes[1].port) as connection:
            wait_until(lambda: any("--cells of this server" in problem for problem in connection.get("/readyz").json["problems"]),
                       WAIT_SECONDS, "a problem that is told")
        nodes[1].signal(signal.SIGHUP)
        nodes[1].wait_for_log("moved tenant acme from default to eu: another server has carried its counters", WAIT_SECONDS)
        answers = [load.answers["limited"]]
        wait_until(lambda: load.answers["limited"] > answers[0] + 200, WAIT_SECONDS, "answers after it")
    finally:
        load.stop()
    assert {which: count for which, count in load.admitted.items() if count > LIMIT} == {}
    assert len(load.admitted) == len(ALGORITHMS) * USERS
    with Http(nodes[1].host, nodes[1].port) as connection:
        for name in ALGORITHMS:
            answer = connection.check(policy_id=name, tenant_id="acme", dimensions={"user": "u0"})
            assert (answer["allowed"], answer["reason"]) == (False, "limited")
