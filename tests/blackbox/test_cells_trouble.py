"""A tenant moves, and its servers are silent, or go back in time, or it has moved on: no limit is lifted by that."""

import signal

import pytest
from harness.redis_server import Redis
from harness.server import wait_until
from harness.web import Http
from test_cells_move import ALGORITHMS, LIMIT, POLICY, USERS, Load, ready, state

CLOSED = POLICY.replace("on_failure: open", "on_failure: closed")
ALL = len(ALGORITHMS) * USERS * LIMIT


class Rig:
    """Nodes, each with its own file of cells, over three servers whose dumps can be put back; and who keeps checking."""

    def __init__(self, server, path):
        self.start_server, self.path = server, path
        self.redis = {name: Redis(path / f"redis-{name}") for name in ("default", "eu", "us")}
        self.load, self.nodes = Load(("ok", "limited", "tenant_moving", "store_unavailable")), []

    def write(self, number, start_anew=(), **tenants):
        cells = "".join(f"  - {{ name: {cell}, store: '{self.redis[cell].url}', tenants: [{tenants.get(cell, '')}] }}\n" for cell in ("eu", "us"))
        (self.path / f"cells-{number}.yaml").write_text(f"cells:\n{cells}" + (f"start_anew: [{', '.join(start_anew)}]\n" if start_anew else ""))

    def launch(self, number):
        args = ["--store", self.redis["default"].url, "--threads", "2", "--cells", str(self.path / f"cells-{number}.yaml"),
                "--state-dir", str(self.path / f"state-{number}"), "--policy-db", f"sqlite:{self.path}/p-{number}.db"]
        return self.start_server(CLOSED, args)

    def start(self, number, **tenants):
        self.write(number, **tenants)
        return ready(self.launch(number))

    def change(self, node, number, **wanted):
        self.write(number, **wanted)
        node.signal(signal.SIGHUP)

    def use_up(self):
        wait_until(lambda: sum(self.load.admitted.values()) == ALL, "all limits to be used up")

    def goes_on(self, reason, answers=100):
        before = self.load.answers[reason]
        wait_until(lambda: self.load.answers[reason] > before + answers, f"answers: {reason}")

    def wait_for_problem(self, node, text):
        with Http(node.host, node.port) as connection:
            wait_until(lambda: any(text in problem for problem in connection.get("/readyz").json["problems"]), f"a problem: {text}")

    def expect_nothing_had_twice(self):
        self.load.stop()
        assert {which: count for which, count in self.load.admitted.items() if count != LIMIT} == {}

    def stop(self):
        self.load.stop()
        for redis in self.redis.values():
            redis.stop()


@pytest.fixture
def rig(server, tmp_path):
    made = Rig(server, tmp_path)
    try:
        yield made
    finally:
        made.stop()


def audit_of(node):
    with Http(node.host, node.port) as connection:
        # Who asks too often is told so, without entries.
        return [one["after"] for one in connection.get("/v1/audit?action=move&name=acme").json.get("entries", [])]


@pytest.mark.parametrize("restarts", [False, True], ids=["SIGHUP", "restart"])
def test_a_silent_old_cell_lifts_no_limit(rig, restarts):
    node = rig.start(1)
    rig.load.on(node)
    rig.use_up()
    home = rig.redis["default"]
    home.client.save()
    home.stop()
    if restarts:
        node.kill()
        rig.write(1, eu="acme")
        node = rig.launch(1)
        rig.load.on(node)
        rig.wait_for_problem(node, "the cell default does not answer")
    else:
        rig.change(node, 1, eu="acme")
        node.wait_for_log("tenant acme, and 0 others, cannot move to eu yet; they stay where they are")
    rig.goes_on("store_unavailable")
    assert state(rig.redis["eu"]) == "-"
    home.start()
    node.wait_for_log("moved tenant acme from default to eu: .* counters moved")
    rig.goes_on("limited")
    rig.expect_nothing_had_twice()


def test_a_tenant_goes_without_its_counters_when_the_operator_says_so(rig):
    node = rig.start(1)
    rig.load.on(node)
    rig.use_up()
    rig.redis["default"].stop()
    rig.change(node, 1, eu="acme")
    node.wait_for_log("cannot move to eu yet")
    rig.change(node, 1, eu="acme", start_anew=["acme"])
    node.wait_for_log("moved tenant acme from default to eu: its counters start from zero, as configured")
    wait_until(lambda: sum(rig.load.admitted.values()) == 2 * ALL, "all limits to be used up once more")
    wait_until(lambda: audit_of(node) == [{"from": "default", "to": "eu", "counters": "reset"}], "the entry")
    rig.redis["default"].start()
    wait_until(lambda: state(rig.redis["default"]) == "x", "the old cell to be told")


def test_an_old_cell_that_goes_back_in_time_does_not_count_again(rig):
    """For the node that moved it, for one that has not heard of the move, and for the latter when it is started again."""
    first, second = rig.start(1), rig.start(2)
    home = rig.redis["default"]
    home.client.save()  # nothing is used yet
    for node in (first, second):
        rig.load.on(node)
    rig.use_up()
    rig.change(first, 1, eu="acme")
    first.wait_for_log("moved tenant acme from default to eu: .* leftover counters deleted")
    rig.wait_for_problem(second, "--cells of this server differs from the other servers': tenant acme")
    home.stop()
    home.start()
    assert state(home) == "-"
    with Http(second.host, second.port) as connection:
        wait_until(lambda: connection.check(policy_id="gcra", tenant_id="other", dimensions={"user": "u0"})["reason"] in ("ok", "limited"),
                   "the old cell to be used again")
    rig.goes_on("tenant_moving")
    rig.goes_on("limited")
    second.kill()
    second = rig.start(2)
    rig.load.on(second)
    rig.goes_on("tenant_moving")
    rig.change(second, 2, eu="acme")
    wait_until(lambda: "differs from the other servers" not in str(problems(second)), "the end of it")
    rig.goes_on("limited")
    rig.expect_nothing_had_twice()


def problems(node):
    with Http(node.host, node.port) as connection:
        return connection.get("/readyz").json["problems"]


def test_a_new_cell_that_goes_back_to_the_arrival_is_told_and_comes_to_an_end(rig):
    node = rig.start(1)
    rig.load.on(node)
    rig.use_up()
    rig.change(node, 1, eu="acme")
    node.wait_for_log("moved tenant acme from default to eu: .* leftover counters deleted")
    eu = rig.redis["eu"]
    field, record = next((field, record) for field, record in eu.client.hgetall("rl:moves").items() if record.endswith(b"\nacme"))
    eu.client.flushall()
    eu.client.hset("rl:moves", field, b"a" + record[1:])
    eu.client.save()  # as a dump of the middle of the arrival is
    eu.stop()
    eu.start()
    node.wait_for_log("has lost writes made during the move of this tenant")
    rig.goes_on("tenant_moving")
    node.kill()
    node = rig.launch(1)
    rig.load.on(node)
    rig.wait_for_problem(node, "list the tenant in start_anew")
    rig.change(node, 1, eu="acme", start_anew=["acme"])
    wait_until(lambda: state(eu) == "o", "the end of it")
    wait_until(lambda: sum(rig.load.admitted.values()) == 2 * ALL, "all limits to be used up once more, and not thrice")
    wait_until(lambda: {"from": "eu", "to": "eu", "counters": "reset"} in audit_of(node), "the entry")
    rig.goes_on("limited")
    rig.load.stop()
    assert {which: count for which, count in rig.load.admitted.items() if count != 2 * LIMIT} == {}


@pytest.mark.parametrize("last", ["us", "default"])
def test_who_missed_a_move_finds_the_counters_by_their_records(rig, last):
    first, second = rig.start(1), rig.start(2)
    for node in (first, second):
        rig.load.on(node)
    rig.use_up()
    rig.change(first, 1, eu="acme")
    first.wait_for_log("moved tenant acme from default to eu: .* leftover counters deleted")
    rig.change(first, 1, **{last: "acme"})
    if last == "us":
        rig.change(second, 2, us="acme")  # whoever of the two carries it
    wait_until(lambda: state(rig.redis[last]) == "o", "the second move")
    wait_until(lambda: not any("acme" in one or "--cells" in one for one in problems(first) + problems(second)), "the end of it")
    assert state(rig.redis["eu"]) == "x"
    before = rig.load.answers["limited"]
    wait_until(lambda: rig.load.answers["limited"] > before + 200, "answers")
    for node in (first, second):
        with Http(node.host, node.port) as connection:
            answer = wait_until(lambda: (told := connection.check(policy_id="gcra", tenant_id="acme", dimensions={"user": "u0"}))["reason"] == "limited" and told,
                                "an answer from where the counters are")
            assert not answer["allowed"]
    rig.expect_nothing_had_twice()
