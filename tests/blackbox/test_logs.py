"""The log of a server: one line per event, for people or as JSON."""

import json
import re
import signal

import pytest
from harness.admin import sqlite
from harness.server import wait_until

POLICIES = "policies: [{id: api.read, tenant: acme, limits: [{name: user, per: [key], rate: 3/h}]}]\n"
LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warning|error) .* event=[a-z_]+\.[a-z_]+( .*)?$")


def lines(node):
    """The lines of a JSON log. A server may be in the middle of the last one."""
    whole = node.log().rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def events(node, name):
    return [line for line in lines(node) if line["event"] == name]


def check(client, key):
    return client.post("/v1/ratelimit/check", {"tenant_id": "acme", "resource": "/x", "key": key, "request_id": f"r-{key}"})


def test_every_line_is_json_with_time_level_event_and_message(server, tmp_path):
    node = server(POLICIES, args=["--log-format", "json", *sqlite(tmp_path)])
    node.write_policies("policies: [{id: \"b\\\"ad\\u0007\", x: 1}]\n")
    wait_until(lambda: events(node, "policies.refused"), "the bad file is refused")
    node.write_policies(POLICIES.replace("3/h", "4/h"))
    wait_until(lambda: len(events(node, "policies.loaded")) == 2, "the good file is loaded")
    node.signal(signal.SIGHUP)
    wait_until(lambda: events(node, "settings.taken"), "the settings are read")
    assert node.stop() == 0
    log = lines(node)
    assert all({"time", "level", "event", "message"} <= line.keys() for line in log)
    levels = {line["event"]: line["level"] for line in log}
    assert levels["policies.refused"] == "error" and levels["policies.loaded"] == "info"
    assert [log[-2]["event"], log[-1]["event"]] == ["node.stopping", "node.stopped"]
    assert events(node, "node.started")[0]["message"].startswith("sluice ")


def test_the_console_is_for_people(server, tmp_path):
    node = server(POLICIES, args=sqlite(tmp_path))
    assert node.stop() == 0
    assert all(LINE.match(line) for line in node.log().splitlines()), node.log()


def test_format_and_level_come_from_the_environment_and_change_with_sighup(server, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("log-level: info\n")
    node = server(POLICIES, args=["--config", str(config), *sqlite(tmp_path)], env={"SLUICE_LOG_FORMAT": "json"})
    config.write_text("log-level: error\n")
    node.signal(signal.SIGHUP)
    wait_until(lambda: events(node, "policies.loaded")[1:], "the policies are read again")
    assert node.stop() == 0
    assert not events(node, "node.stopped"), "it is below the level"


def test_advice_about_redis_is_not_an_error(server, redis, tmp_path):
    redis.client.config_set("maxmemory", "64mb")
    redis.client.config_set("maxmemory-policy", "allkeys-random")
    node = server(POLICIES, args=["--store", redis.url, "--log-format", "json", *sqlite(tmp_path)])
    said = wait_until(lambda: [line for line in events(node, "redis.advice") if "allkeys-random" in line["message"]], "advice")
    assert said[0]["level"] == "warning" and said[0]["server"]


def test_metrics_count_lines(server, http, tmp_path):
    node = server(POLICIES, args=sqlite(tmp_path))
    page = http(node).get("/metrics").body.decode()
    assert 'rate_limiter_log_lines_total{event="node.started",level="info"} 1' in page
    assert 'rate_limiter_log_lines_dropped_total{event="node.started",level="info"} 0' in page
