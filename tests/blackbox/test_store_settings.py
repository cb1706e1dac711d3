"""Where the store is, as operators say it: a new place that is not there, a server that is no Cluster, one that never was there."""

import re
import signal

from harness.server import wait_until

POLICY = """
policies:
  - id: p
    deadline: 30s  # however busy the machine is
    limits: [{ name: day, per: [ip], rate: 100/d }, { name: minute, per: [ip, route], rate: 50/d }]
"""


def remaining(client, tokens=0):
    answer = client.check(policy_id="p", resource="/x", tokens=tokens, dimensions={"ip": "10.0.0.1"})
    assert answer["allowed"] and not answer.get("degraded"), answer
    return answer["remaining"]


def reloads(client, result):
    page = client.get("/metrics").body.decode()
    return int(re.search(rf'^rate_limiter_settings_reloads_total{{result="{result}"}} (\d+)$', page, re.MULTILINE)[1])


def test_a_new_store_that_is_not_there_changes_nothing(server, http, two_redis, tmp_path):
    one, two = two_redis
    config = tmp_path / "sluice.yaml"
    config.write_text(f"store: {one.url}\n")
    running = server(POLICY, ["--config", str(config), "--threads", "1"])
    client = http(running)
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert remaining(client, tokens=10) == 40
    two.stop()
    config.write_text(f"store: {two.url}\n")
    running.signal(signal.SIGHUP)
    running.wait_for_log(rf"\[?error\]?.*the new store of the cell default, {two.url}, cannot be used: .*keeping the current settings")
    assert remaining(client, tokens=1) == 39, "it counts where it did"
    assert any("the last reload of the settings was refused" in problem for problem in client.get("/readyz").json["problems"])
    assert client.get("/readyz").status == 200
    assert (reloads(client, "taken"), reloads(client, "refused")) == (0, 1)

    two.start()
    running.signal(signal.SIGHUP)
    running.wait_for_log("the store default is now ")
    wait_until(lambda: two.counters() > 0 or remaining(client, tokens=1) is None, "a check at the new store")
    wait_until(lambda: not client.get("/readyz").json["problems"], "no problems")
    assert (reloads(client, "taken"), reloads(client, "refused")) == (1, 1)


def test_a_refused_reload_takes_none_of_the_settings(server, http, redis, tmp_path):
    config, secrets = tmp_path / "sluice.yaml", tmp_path / "secrets.yaml"
    first = "secrets:\n  - { version: 1, secret: 'the secret of last year, long enough' }\n"
    second = "  - { version: 2, secret: 'the secret of this year, long enough' }\n"
    settings = f"key-secrets: {secrets}\n"
    secrets.write_text(first)
    config.write_text(settings + f"store: {redis.url}\n")
    running = server(POLICY, ["--config", str(config), "--threads", "1"])
    client = http(running)
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert remaining(client, tokens=10) == 40

    secrets.write_text(first + second)
    config.write_text(settings + f"store: redis://127.0.0.1:1\nlog-level: error\nidentities: {tmp_path}/missing.yaml\n")
    running.signal(signal.SIGHUP)
    running.wait_for_log("cannot be used: .*keeping the current settings")
    assert remaining(client) == 40, "version 2 would start from zero"
    assert "rate_limiter_key_secret_version 1\n" in client.get("/metrics").body.decode()
    problems = client.get("/readyz").json["problems"]
    assert len(problems) == 1 and "the previous settings stay in force" in problems[0], "the identities were not read"

    config.write_text(settings + f"store: {redis.url}\n")
    running.signal(signal.SIGHUP)
    wait_until(lambda: "rate_limiter_key_secret_version 2\n" in client.get("/metrics").body.decode(), "the second secret")
    assert remaining(client) == 50


def test_the_url_of_a_cluster_may_be_that_of_one_server(server, http, two_redis):
    one, _ = two_redis
    client = http(server(POLICY, ["--threads", "1"], env={"REDIS_CLUSTER_URL": one.url}))
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")
    assert client.get("/readyz").json["problems"] == []
    assert remaining(client, tokens=10) == 40
    assert remaining(client, tokens=1) == 39
    assert one.counters() == 2


def test_a_store_that_was_never_there_is_an_error(server, two_redis):
    one, _ = two_redis
    one.stop()
    running = server(POLICY, ["--store", one.url, "--threads", "2"])
    running.wait_for_log(r"(?i)error.*the store has been unreachable since the start; failure rules decide: Redis at")
    assert len(re.findall("has been unreachable since the start", running.log())) == 1
