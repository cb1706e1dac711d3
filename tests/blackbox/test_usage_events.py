"""Usage events: what is sent to Redis and Kafka, and that nothing that happens there reaches a check."""

import json
import os
import signal

import jsonschema
import pytest
from harness.mock_kafka import MockKafka
from harness.server import ROOT, wait_until

POLICIES = """
policies:
  - id: api
    deadline: 30s  # however busy the machine is
    limits: [{ name: day, per: [tenant, key], rate: 10/d }]
"""
SCHEMA = json.loads((ROOT / "docs/usage-event.schema.json").read_text())


def check(client, key="alice", **more):
    return client.check(tenant_id="shop", resource="/r", key=key, **more)


def metric(client, name):
    page = client.get("/metrics").body.decode()
    return next(int(line.split()[1]) for line in page.splitlines() if line.startswith(name + " "))


def sent(client):
    return metric(client, 'rate_limiter_usage_events_total{result="sent"}')


def stream(redis, name="usage.events"):
    return [json.loads(fields[b"event"]) for _, fields in redis.client.xrange(name)]


def problems(client):
    return [problem for problem in client.get("/readyz").json["problems"] if "usage events" in problem]


@pytest.fixture
def kafka():
    one = MockKafka()
    yield one
    one.close()


def test_each_decision_is_an_event_of_the_stream(server, http, redis):
    client = http(server(POLICIES, ["--usage-events", f"{redis.url}?stream=bills", "--threads", "1"]))
    check(client, tokens=8, request_id="r-1", dimensions={"ip": "192.0.2.7"})
    check(client, tokens=8)
    check(client, tokens=0)
    check(client, key="bob")
    events = wait_until(lambda: len(found := stream(redis, "bills")) == 3 and found, "three events")
    for event in events:
        jsonschema.validate(event, SCHEMA)
    first = events[0]
    assert {name: first[name] for name in ("tenant", "policy", "resource", "key", "cost", "allowed", "request_id")} == {
        "tenant": "shop", "policy": "api", "resource": "/r", "key": "alice", "cost": 8, "allowed": True, "request_id": "r-1"}
    assert first["dimensions"] == {"ip": "192.0.2.7"}
    assert [(e["key"], e["cost"], e["allowed"]) for e in events] == [("alice", 8, True), ("alice", 8, False), ("bob", 1, True)]
    assert [int(e["event_id"].rsplit("-", 1)[1]) for e in events] == [0, 1, 2]
    wait_until(lambda: sent(client) == 3, "three acknowledgements")


def test_each_decision_is_an_event_of_the_topic(server, http, kafka):
    client = http(server(POLICIES, ["--usage-events", kafka.url, "--threads", "1"]))
    for _ in range(12):
        check(client)
    events = kafka.read(12)
    assert {key for key, _ in events} == {"shop/alice"}
    bodies = [json.loads(body) for _, body in events]
    for event in bodies:
        jsonschema.validate(event, SCHEMA)
    assert [event["allowed"] for event in bodies] == [True] * 10 + [False] * 2
    wait_until(lambda: sent(client) == 12, "the acknowledgements")


def test_plan_replays_what_was_sent(server, http, redis, tool, tmp_path):
    from harness.server import binary
    one = server(POLICIES, ["--usage-events", redis.url, "--threads", "1"])
    client = http(one)
    for _ in range(12):
        check(client)
    client.check(policy_id="api", tenant_id="shop", key="carol")  # no resource
    wait_until(lambda: len(stream(redis)) == 13, "the events")
    log = tmp_path / "events.jsonl"
    log.write_text("".join(fields[b"event"].decode() + "\n" for _, fields in redis.client.xrange("usage.events")))
    result = tool(binary(), "plan", log, "--policies", one.policy_file, "--output", "json", "--max-bad-lines", "0")
    assert result.returncode == 0, result.stderr
    totals = json.loads(result.stdout)["totals"]
    assert (totals["requests"], totals["denied"]) == (13, 2)
    assert (totals["newly_denied"], totals["newly_allowed"]) == (0, 0), "as the server decided"


def test_nothing_is_lost_while_the_server_is_away(server, http, redis):
    client = http(server(POLICIES, ["--usage-events", redis.url, "--threads", "1"]))
    check(client)
    wait_until(lambda: sent(client) == 1, "the first event")
    redis.stop()
    for i in range(250):
        assert check(client, key=f"k{i}")["allowed"]
    wait_until(lambda: problems(client), "a word about it")
    assert client.get("/readyz").status == 200
    assert metric(client, "rate_limiter_usage_events_waiting") == 250
    redis.start()
    wait_until(lambda: sent(client) == 251, "the events")
    assert [event["key"] for event in stream(redis)] == [f"k{i}" for i in range(250)]
    assert metric(client, 'rate_limiter_usage_events_total{result="dropped"}') == 0
    wait_until(lambda: not problems(client), "all is well")


def test_a_frozen_server_delays_no_check_and_no_stop(server, http, redis):
    one = server(POLICIES, ["--usage-events", redis.url, "--drain-seconds", "1", "--drain-notice-ms", "0"])
    client = http(one)
    check(client)
    wait_until(lambda: sent(client) == 1, "the first event")
    os.kill(redis.process.pid, signal.SIGSTOP)
    try:
        for i in range(100):
            assert check(client, key=f"k{i}")["allowed"]
        assert one.stop() == 0
        assert "100 usage events were not acknowledged" in one.log()
    finally:
        os.kill(redis.process.pid, signal.SIGCONT)


def test_what_waits_is_sent_before_the_end(server, http, redis):
    one = server(POLICIES, ["--usage-events", redis.url, "--threads", "2"])
    client = http(one)
    for i in range(50):
        check(client, key=f"k{i}")
    assert one.stop() == 0
    assert sorted(event["key"] for event in stream(redis)) == sorted(f"k{i}" for i in range(50))


def test_the_topic_gets_everything_when_its_broker_is_back(server, http, kafka):
    client = http(server(POLICIES, ["--usage-events", kafka.url, "--threads", "1"]))
    check(client)
    kafka.read(1)
    kafka.set_down()
    for i in range(150):
        assert check(client, key=f"k{i}")["allowed"]
    wait_until(lambda: problems(client), "a word about it")
    kafka.set_up()
    keys = [json.loads(body)["key"] for _, body in kafka.read(151)]
    assert keys == ["alice", *(f"k{i}" for i in range(150))]


def test_with_key_secrets_nobody_is_named(server, http, redis, tmp_path):
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("secrets: [{ version: 1, secret: 0123456789abcdef0123456789abcdef }]\n")
    client = http(server(POLICIES, ["--usage-events", redis.url, "--key-secrets", secrets]))
    check(client, dimensions={"ip": "192.0.2.7"})
    check(client, dimensions={"ip": "192.0.2.7"})
    events = wait_until(lambda: len(found := stream(redis)) == 2 and found, "the events")
    assert "alice" not in str(events) and "192.0.2.7" not in str(events)
    assert events[0]["key"].startswith("~") and events[0]["key"] == events[1]["key"]
    jsonschema.validate(events[0], SCHEMA)


@pytest.mark.parametrize("url, says", [
    ("kafak://127.0.0.1/x", "did you mean kafka://?"),
    ("redis://u:hunter2@127.0.0.1?steam=x", "did you mean stream?"),
    ("kafka://u:hunter2@127.0.0.1/x?sasl=PLIAN", "did you mean PLAIN?"),
    ("kafkas://u:hunter2@127.0.0.1/x?ca=/no/such.pem", "ssl.ca.location"),
])
def test_a_wrong_url_is_refused_at_the_start(tool, tmp_path, url, says):
    from harness.server import binary
    result = tool(binary(), "serve", "--listen", "127.0.0.1:0", "--usage-events", url, cwd=tmp_path)
    assert result.returncode != 0
    assert says in result.stderr
    assert "hunter2" not in result.stderr + result.stdout
