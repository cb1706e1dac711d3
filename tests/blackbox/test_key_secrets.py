"""Names of counters that nobody can undo: HMACs with versioned secrets."""

import datetime
import signal

import pytest
from harness.server import binary, wait_until

POLICY = """
policies:
  - id: p
    deadline: 30s  # however busy the machine is
    limits: [{ name: day, per: [ip], rate: 100/d }]
"""
OLD, NEW = "the secret of last year, long enough", "the secret of this year, long enough"


class Secrets:
    def __init__(self, path):
        self.path = path / "secrets.yaml"
        self.write((1, OLD))

    def write(self, *versions):
        self.path.write_text("secrets:\n" + "".join(
            f"  - {{ version: {version}, secret: '{secret}'{''.join(', from: ' + moment for moment in more)} }}\n"
            for version, secret, *more in versions))


@pytest.fixture
def secrets(tmp_path):
    return Secrets(tmp_path)


def moment(seconds_from_now):
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now + datetime.timedelta(seconds=seconds_from_now)).strftime("%Y-%m-%dT%H:%M:%SZ")


def remaining(client, tokens=0):
    return client.check(policy_id="p", dimensions={"ip": "203.0.113.7"}, tokens=tokens)["remaining"]


def version(client):
    line = next(line for line in client.get("/metrics").body.decode().splitlines()
                if line.startswith("rate_limiter_key_secret_version "))
    return int(line.split()[1])


def test_two_nodes_with_one_file_count_together_and_one_without_counts_apart(server, http, redis, secrets):
    store = ["--store", redis.url]
    clients = [http(server(POLICY, [*store, *more])) for more in
               (["--key-secrets", secrets.path], ["--key-secrets", secrets.path], ["--key-secret", OLD])]
    for client in clients:
        wait_until(lambda client=client: client.get("/readyz").status == 200, "readiness")
    assert remaining(clients[0], 30) == 70
    assert remaining(clients[1]) == 70
    assert remaining(clients[2]) == 100
    assert redis.counters() == 1, "the third only looked"


def test_a_new_secret_begins_at_its_moment_and_can_be_taken_back(server, http, secrets):
    running = server(POLICY, ["--key-secrets", secrets.path])
    client = http(running)
    assert remaining(client, 30) == 70

    secrets.write((1, OLD), (2, NEW, moment(3600)))
    running.signal(signal.SIGHUP)
    assert (version(client), remaining(client)) == (1, 70), "its time has not come"
    secrets.write((1, OLD), (2, NEW, moment(1)))
    running.signal(signal.SIGHUP)
    wait_until(lambda: version(client) == 2, "the second secret")
    assert remaining(client) == 100, "counters begin anew"
    secrets.write((1, OLD))
    running.signal(signal.SIGHUP)
    wait_until(lambda: version(client) == 1, "the first secret")
    assert remaining(client) == 70


def test_a_bad_file_changes_nothing(server, http, secrets):
    running = server(POLICY, ["--key-secrets", secrets.path])
    client = http(running)
    assert remaining(client, 30) == 70
    for text, sentence in (("secrets: [{ version: 1 }]", "is missing"),
                           (f"secrets: [{{ version: 1, secret: '{NEW}' }}]", "version 1 had another secret"),
                           ("secrets: []", "no version is in force")):
        secrets.path.write_text(text)
        running.signal(signal.SIGHUP)
        running.wait_for_log(sentence)
    assert (version(client), remaining(client)) == (1, 70)
    assert OLD not in running.log() and NEW not in running.log()


@pytest.mark.parametrize("text, more, sentence", [
    (None, [], "--key-secrets: "),
    ("secrets: [{ version: 1, secret: short }]", [], "has 5 characters"),
    (f"secrets: [{{ version: 1, secret: '{OLD}', from: 2200-01-01T00:00:00Z }}]", [], "no version is in force"),
    (f"secrets: [{{ version: 1, secret: '{OLD}' }}]", ["--key-secret", "x"], "exclude each other"),
    ("secrets: [{ version: 1, secret: 12345678901234567890 }]", [], "put it in quotes"),
])
def test_it_does_not_start_without_a_good_file(tool, secrets, text, more, sentence):
    secrets.path.unlink() if text is None else secrets.path.write_text(text)
    done = tool(binary(), "serve", "--listen", "127.0.0.1:0", "--key-secrets", secrets.path, *more)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert OLD not in done.stderr and "12345678901234567890" not in done.stderr


def test_a_tenant_that_moves_takes_along_the_counters_of_every_version(server, http, two_redis, secrets, tmp_path):
    home, eu = two_redis
    cells = tmp_path / "cells.yaml"
    place = f"cells:\n  - {{ name: eu, store: '{eu.url}', when_moved: keep, tenants: [%s] }}\n"
    cells.write_text(place % "other")
    running = server(POLICY.replace("[ip]", "[tenant, ip]"), ["--store", home.url, "--cells", cells, "--key-secrets", secrets.path, "--threads", "1"])
    client = http(running)
    wait_until(lambda: client.get("/readyz").status == 200, "readiness")

    def left(tokens=0):
        return client.check(policy_id="p", tenant_id="acme", dimensions={"ip": "203.0.113.7"}, tokens=tokens)["remaining"]

    def use_versions(*versions):
        secrets.write(*versions)
        running.signal(signal.SIGHUP)
        wait_until(lambda: version(client) == versions[-1][0], f"version {versions[-1][0]}")

    assert left(30) == 70
    use_versions((1, OLD), (2, NEW))
    assert left(10) == 90
    cells.write_text(place % "other, acme")
    running.signal(signal.SIGHUP)
    running.wait_for_log("moved tenant acme from default to eu: ")
    wait_until(lambda: home.counters() == 0, "the old cell to be empty")
    assert left() == 90
    use_versions((1, OLD))
    assert left() == 70
