"""A tenant moves while everybody checks: what was used stays used, whichever node has heard of it and whoever dies."""

import collections
import http.client
import signal
import threading

import pytest
from harness.server import wait_until
from harness.web import Http

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


def state(redis, tenant="acme"):
    """The first letter of the tenant's record."""
    records = [record for record in redis.client.hvals("rl:moves") if record.endswith(b"\n" + tenant.encode())]
    return records[0][:1].decode() if records else "-"


def ready(node):
    """The node, when it has met its stores and knows where its tenants are."""
    with Http(node.host, node.port) as connection:
        wait_until(lambda: connection.get("/readyz").status == 200, f"readiness:\n{node.log()}")
    return node


class Load:
    """Threads that check one user after the other on the nodes that there are, and count what was admitted."""

    def __init__(self, reasons=("ok", "limited", "tenant_moving")):
        self.reasons = reasons
        self.admitted = collections.Counter()
        self.answers = collections.Counter()
        self.unexpected = []  # with another reason
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.threads = []

    def note(self, answer, which):
        with self.lock:
            self.admitted[which] += answer["allowed"]
            self.answers[answer["reason"]] += 1
            if answer["reason"] not in self.reasons:
                self.unexpected.append(answer)

    def on(self, server):
        """Begins. A server that has not met its stores yet would decide by the failure rule: see ready()."""
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
        assert not self.unexpected, (len(self.unexpected), self.unexpected[0])


@pytest.mark.parametrize("dies", [False, True], ids=["all live", "the mover is killed"])
def test_no_unit_is_had_twice(server, two_redis, tmp_path, dies):
    home, eu = two_redis
    file = tmp_path / "cells.yaml"
    file.write_text(f"cells:\n  - {{ name: eu, store: '{eu.url}', tenants: [other] }}\n")
    home.client.eval("for i = 1, ARGV[1] do redis.call('SET', 'filler:' .. i, 'x') end", 0, FILLER_KEYS)
    args = ["--store", home.url, "--cells", str(file), "--threads", "2"]
    nodes = [ready(server(POLICY, args)), ready(server(POLICY, args))]
    load = Load()
    try:
        with Http(nodes[0].host, nodes[0].port) as connection:
            for name in ALGORITHMS:
                answer = connection.check(policy_id=name, tenant_id="acme", tokens=LIMIT, dimensions={"user": "u0"})
                load.admitted[name, 0] += LIMIT * answer["allowed"]
        for node in nodes:
            load.on(node)
        file.write_text(f"cells:\n  - {{ name: eu, store: '{eu.url}', tenants: [other, acme] }}\n")
        nodes[0].signal(signal.SIGHUP)
        nodes[0].wait_for_log("moving tenant acme from default to eu")
        if dies:
            # In the middle of the copy; on a busy machine we may look too late, and kill it just after its end.
            wait_until(lambda: state(eu) in ("a", "o"), "the beginning of the copy")
            nodes[0].kill()
            nodes[0] = ready(server(POLICY, args))  # with the new file
            load.on(nodes[0])
        # The other has not heard of it, and must not count anew.
        wait_until(lambda: state(home) == "x", "the end of the move")
        wait_until(lambda: load.answers["tenant_moving"] > 10, "refusals")
        with Http(nodes[1].host, nodes[1].port) as connection:
            def is_told():
                return any("--cells of this server" in problem for problem in connection.get("/readyz").json["problems"])
            wait_until(is_told, "a problem that is told")
            nodes[1].signal(signal.SIGHUP)
            # Not by its log: a node that has read the records of the move by now follows without a line.
            wait_until(lambda: not is_told(), "its end")
        answers = [load.answers["limited"]]
        wait_until(lambda: load.answers["limited"] > answers[0] + 200, "answers after it")
    finally:
        load.stop()
    assert {which: count for which, count in load.admitted.items() if count > LIMIT} == {}
    assert len(load.admitted) == len(ALGORITHMS) * USERS
    with Http(nodes[1].host, nodes[1].port) as connection:
        for name in ALGORITHMS:
            answer = connection.check(policy_id=name, tenant_id="acme", dimensions={"user": "u0"})
            assert (answer["allowed"], answer["reason"]) == (False, "limited")


class Restarts:
    """A lone node that is killed and started again, with another file each time, while somebody keeps checking."""

    def __init__(self, server, two_redis, tmp_path, keeps_state=True):
        self.start_server, (self.home, self.eu), self.path = server, two_redis, tmp_path
        self.keeps_state, self.runs = keeps_state, 0
        # Who is asked while it starts may not have met its store yet: then the failure rule decides, here "closed".
        self.file, self.load, self.node = tmp_path / "cells.yaml", Load(("ok", "limited", "tenant_moving", "store_unavailable")), None

    def write(self, *tenants):
        self.file.write_text(f"cells:\n  - {{ name: eu, store: '{self.eu.url}', tenants: [{', '.join(tenants)}] }}\n")

    def start(self, *tenants, cells=True):
        if self.node:
            self.node.kill()
        self.runs += 1
        folder = self.path / ("state" if self.keeps_state else f"state-{self.runs}")
        if cells:
            self.write(*tenants)
        args = ["--store", self.home.url, "--threads", "2", "--state-dir", str(folder), "--policy-db", f"sqlite:{self.path}/p.db"]
        self.node = self.start_server(POLICY.replace("on_failure: open", "on_failure: closed"), [*args, *(["--cells", str(self.file)] if cells else [])])
        self.load.on(self.node)

    def use_up(self):
        """Every user has had all that there is; more is denied."""
        expected = len(ALGORITHMS) * USERS * LIMIT
        wait_until(lambda: sum(self.load.admitted.values()) == expected, "all limits to be used up")

    def goes_on(self, reason="limited", answers=200):
        before = self.load.answers[reason]
        wait_until(lambda: self.load.answers[reason] > before + answers, f"answers: {reason}")

    def expect_nothing_had_twice(self):
        self.load.stop()
        assert {which: count for which, count in self.load.admitted.items() if count != LIMIT} == {}


@pytest.fixture(params=[True, False], ids=["state is kept", "state is lost"])
def restarts(server, two_redis, tmp_path, request):
    rig = Restarts(server, two_redis, tmp_path, request.param)
    yield rig
    rig.load.stop()


def test_a_file_that_changes_while_no_node_runs_moves_the_tenant_at_the_start(restarts):
    restarts.start("other")
    restarts.use_up()
    restarts.start("other", "acme")
    restarts.node.wait_for_log("moved tenant acme from default to eu")
    restarts.goes_on()
    assert (state(restarts.home), state(restarts.eu)) == ("x", "o")
    restarts.expect_nothing_had_twice()


def test_the_first_file_of_cells_is_such_a_change(restarts):
    restarts.start(cells=False)
    restarts.use_up()
    restarts.start("acme")
    restarts.node.wait_for_log("moved tenant acme from default to eu")
    restarts.goes_on()
    restarts.expect_nothing_had_twice()


def test_a_lone_mover_killed_before_its_first_record_begins_again_when_it_starts(restarts):
    restarts.start("other")
    restarts.use_up()
    wait_until(lambda: state(restarts.eu, "other") == "o", "the other to have settled")
    restarts.eu.client.client_pause(2000)  # so that the move cannot begin
    restarts.write("other", "acme")
    restarts.node.signal(signal.SIGHUP)
    wait_until(lambda: "moving tenant acme" in restarts.node.log() or "cannot be used" in restarts.node.log(), "the mover")
    restarts.node.kill()
    assert state(restarts.home) == "-"
    restarts.start("other", "acme")
    restarts.node.wait_for_log("moved tenant acme from default to eu")
    restarts.goes_on()
    restarts.expect_nothing_had_twice()


def test_a_tenant_that_comes_back_by_a_restart_is_carried_or_denied(restarts):
    """Without its state a node cannot tell a file of before from a new wish: then nobody is let through, and that is told."""
    restarts.start("acme")
    restarts.use_up()
    wait_until(lambda: state(restarts.eu) == "o", "acme in eu")
    restarts.goes_on()
    if restarts.keeps_state:  # a node writes once a second where its tenants are
        wait_until(lambda: b"eu" in next((restarts.path / "state").glob("cells-*")).read_bytes(), "it to be remembered")
    restarts.start("other")
    if restarts.keeps_state:
        restarts.node.wait_for_log("moved tenant acme from eu to default")
        restarts.goes_on()
    else:
        restarts.goes_on("tenant_moving")
        with Http(restarts.node.host, restarts.node.port) as connection:
            wait_until(lambda: any("--cells of this server" in problem for problem in connection.get("/readyz").json["problems"]),
                       "a problem that is told")
    restarts.expect_nothing_had_twice()


def test_while_the_new_cell_is_silent_at_the_start_the_failure_rule_decides(server, http, two_redis, tmp_path):
    home, eu = two_redis
    file = tmp_path / "cells.yaml"
    file.write_text(f"cells:\n  - {{ name: eu, store: '{eu.url}', tenants: [acme] }}\n")
    eu.stop()
    policy = "policies:\n" + "".join(f"  - {{ id: {rule}, resource: /{rule}, on_failure: {rule}, limits: [{{ per: [tenant], rate: 5/d }}] }}\n"
                                     for rule in ("open", "closed"))
    node = server(policy, ["--store", home.url, "--cells", str(file)])
    client = http(node)

    def answers(reason):
        told = {rule: client.check(policy_id=rule, tenant_id="acme") for rule in ("open", "closed")}
        assert all(answer["degraded"] for answer in told.values()), told
        return {answer["reason"] for answer in told.values()} == {reason} and told
    told = wait_until(lambda: answers("store_unavailable"), "the failure rule")
    assert (told["open"]["allowed"], told["closed"]["allowed"]) == (True, False)
    assert client.get("/readyz").status == 503
    eu.start()
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    wait_until(lambda: client.check(policy_id="open", tenant_id="acme")["reason"] in ("ok", "limited"), "answers")
