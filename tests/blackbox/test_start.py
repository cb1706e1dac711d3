"""A start without good policies: files that are missing or wrong, a database that is gone."""

import re
import sqlite3
import stat

import pytest
from harness.admin import QUICK_END, bearer, expect, expect_problem, sqlite
from harness.server import wait_until

GOOD = "policies: [{ id: p, resource: /p, limits: [{ name: one, per: [key], rate: 3/h }] }]"
QUESTION = {"tenant_id": "t", "resource": "/q", "key": "k"}


def kept(tmp_path):
    return ["--state-dir", str(tmp_path / "state")]


def metric(client, name):
    return float(re.search(rf"^{name} (\S+)$", client.get("/metrics").body.decode(), re.MULTILINE)[1])


def put(client, rate):
    body = {"id": "q", "resource": "/q", "limits": [{"name": "one", "per": ["key"], "rate": rate}]}
    return client.request("PUT", "/v1/policies/q", body)


BAD = {
    "not there": (None, r"policies.yaml: can't be read"),
    "not YAML": ("policies: [", r"policies.yaml:\d+: "),
    "a wrong rate": ("policies:\n  - id: p\n    limits:\n      - { rate: 10/fortnight }\n",
                     r'policies.yaml:4: policies\[0\].limits\[0\].rate: "10/fortnight" is not a rate'),
    "denies everyone": ("policies: [{ id: p, limits: [{ rate: 0/s }] }]", "would deny every request from every caller"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_missing_or_wrong_end_the_start_with_1(server, tmp_path, name):
    text, says = BAD[name]
    path = tmp_path / "policies.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RuntimeError, match=r"ended with 1 ") as refused:
        server(path, kept(tmp_path))
    assert re.search(rf"^sluice: .*{says}.*cannot serve without the policies", str(refused.value), re.MULTILINE), refused.value
    assert "listening" not in str(refused.value).partition("\n")[2]


def test_the_files_of_mr_policies_are_asked_for_too(server, tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with 1 "):
        server(env={"RATE_LIMIT_CONFIG": str(tmp_path / "no.json")}, args=kept(tmp_path))


@pytest.mark.parametrize("name", BAD)
def test_the_last_good_copy_serves_instead_and_says_so(server, http, tmp_path, name):
    text, _ = BAD[name]
    path = tmp_path / "policies.yaml"
    path.write_text(GOOD)
    assert server(path, kept(tmp_path)).stop() == 0
    path.unlink() if text is None else path.write_text(text)
    running = server(path, kept(tmp_path))
    client = http(running)
    decision = client.check(tenant_id="t", resource="/p", key="k", tokens=3)
    assert (decision["allowed"], decision["reason"], decision["remaining"]) == (True, "ok", 0)
    assert client.check(tenant_id="t", resource="/p", key="k")["allowed"] is False, "it is enforced"
    ready = client.get("/readyz")
    assert ready.status == 503 and any("last good copy" in problem for problem in ready.json["problems"]), ready
    assert "last good copy" in running.log()
    path.write_text(GOOD.replace("3/h", "9/h"))
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert client.get("/readyz").json["problems"] == []
    assert client.check(tenant_id="t", resource="/p", key="k", tokens=0)["limit"] == 9


def test_a_copy_belongs_to_its_paths(server, tmp_path):
    path = tmp_path / "policies.yaml"
    path.write_text(GOOD)
    assert server(path, kept(tmp_path)).stop() == 0
    with pytest.raises(RuntimeError, match=r"ended with 1 "):
        server(tmp_path / "other.yaml", kept(tmp_path))


def test_a_copy_is_private_and_a_damaged_one_is_no_policy(server, tmp_path):
    path = tmp_path / "policies.yaml"
    path.write_text(GOOD)
    assert server(path, kept(tmp_path)).stop() == 0
    (copy,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    copy.write_bytes(copy.read_bytes().replace(b"3/h", b"9/h"))
    path.unlink()
    with pytest.raises(RuntimeError, match=r"ended with 1 ") as refused:
        server(path, kept(tmp_path))
    assert "it is corrupt" in str(refused.value)


def test_a_folder_that_takes_no_copy_is_told_and_no_reason_not_to_start(server, http):
    running = server(GOOD, ["--state-dir", "/proc/no"])
    assert http(running).get("/readyz").status == 200
    running.wait_for_log("cannot save a copy of the policy files.*--state-dir")


class Gone:
    """The database of the test's parameter `kind`, taken away and given back."""

    def __init__(self, database, kind, tmp_path):
        self.args, self.database, self.kind, self.file = database.args, database, kind, tmp_path / "policies.db"
        self.lock = None

    def stop(self):
        if self.kind != "sqlite":
            return self.database.stop()
        with sqlite3.connect(self.file) as tables:  # a lock keeps readers out only without a write-ahead log
            tables.execute("PRAGMA journal_mode=DELETE")
        tables.close()
        self.lock = sqlite3.connect(self.file, isolation_level=None)
        self.lock.execute("BEGIN EXCLUSIVE")

    def start(self):
        if self.kind != "sqlite":
            return self.database.start()
        self.lock.close()


@pytest.fixture
def gone(database, kind, tmp_path):
    one = Gone(database, kind, tmp_path)
    yield one
    if one.lock:
        one.lock.close()


KINDS = pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])


@KINDS
def test_without_its_database_a_node_enforces_what_it_knew(server, http, gone, kind, tmp_path):
    args = [*gone.args, *kept(tmp_path)]
    running = server(args=args)
    client = http(running)
    expect(put(client, "3/h"), 201)
    token = expect(client.post("/v1/tokens", {"name": "ops", "roles": ["admin"]}), 201)["token"]
    copy = tmp_path / "state"
    wait_until(lambda: copy.exists() and any(b"ops" in one.read_bytes() for one in copy.iterdir()), "the copy")
    assert not any(token.encode() in one.read_bytes() for one in copy.iterdir()), "only its hash is kept"
    assert running.stop() == 0
    gone.stop()

    running = server(args=[*args, "--require-token"])
    client = http(running)
    assert client.post("/v1/ratelimit/check", QUESTION).status == 401, "nothing is opened"
    assert client.get("/v1/policies", bearer("sluice_" + "a" * 40)).status == 401
    for remaining in (2, 1, 0):
        answer = expect(client.post("/v1/ratelimit/check", QUESTION, bearer(token)), 200)
        assert (answer["allowed"], answer["remaining"], answer["degraded"]) == (True, remaining, False)
    assert expect(client.post("/v1/ratelimit/check", QUESTION, bearer(token)), 200)["allowed"] is False
    assert [one["id"] for one in expect(client.get("/v1/policies", bearer(token)), 200)["policies"]] == ["q"]
    ready = client.get("/readyz", bearer(token))
    assert ready.status == 503 and any("from the copy" in problem for problem in ready.json["problems"]), ready
    body = {"id": "q", "limits": [{"rate": "9/h"}]}
    expect_problem(client.request("PUT", "/v1/policies/q", body, bearer(token)), 503)

    gone.start()
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert client.get("/readyz").json["problems"] == []


@KINDS
@pytest.mark.parametrize("rule", ["open", "closed"])
def test_without_any_policies_the_rule_decides_and_tells(server, http, gone, kind, tmp_path, rule):
    running = server(args=gone.args)
    expect(put(http(running), "3/h"), 201)
    assert running.stop() == 0
    gone.stop()
    args = [*gone.args, *kept(tmp_path), *(["--before-policies", "closed"] if rule == "closed" else [])]
    client = http(server(args=args))
    for question in (QUESTION, {"policy_id": "q", "key": "k"}):
        decision = client.check(**question)
        assert (decision["allowed"], decision["degraded"], decision["reason"]) == (rule == "open", True, "policies_unavailable")
    batch = client.post("/v1/ratelimit/check-batch", {"checks": [{"policy_id": "q", "key": "k"}]}).json["results"]
    assert [one["reason"] for one in batch] == ["policies_unavailable"]
    assert client.get("/v1/authorize?tenant_id=t&resource=/q&key=k").status == (200 if rule == "open" else 503)
    assert metric(client, "rate_limiter_no_policy_total") == 0
    assert metric(client, "rate_limiter_policies_unavailable_total") == 4
    assert metric(client, f'rate_limiter_failed_total{{policy="",mode="{rule}"}}') == 4
    assert client.get("/readyz").status == 503
    gone.start()
    wait_until(lambda: client.check(tenant_id="t", resource="/q", key="k", tokens=0)["limit"] == 3, "the policy")
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert client.check(tenant_id="t", resource="/elsewhere", key="k")["reason"] == "no_policy"


def test_policies_of_files_are_enforced_meanwhile(server, http, durable_redis):
    durable_redis.stop()
    client = http(server(GOOD, ["--policy-db", durable_redis.url, *QUICK_END]))
    assert client.check(tenant_id="t", resource="/p", key="k")["reason"] == "ok"
    assert client.check(tenant_id="t", resource="/elsewhere", key="k")["reason"] == "policies_unavailable"
    durable_redis.start()
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")


def test_an_empty_database_is_known(server, http, tmp_path):
    client = http(server(args=[*sqlite(tmp_path), *kept(tmp_path)]))
    assert client.check(tenant_id="t", resource="/x", key="k")["reason"] == "no_policy"
    assert not (tmp_path / "state").exists(), "nothing to keep"
