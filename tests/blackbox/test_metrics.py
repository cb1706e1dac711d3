"""/metrics for Prometheus: promtool accepts it, a real Prometheus scrapes it, and board, alerts and page agree with it."""

import itertools
import json
import pathlib
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest
from harness.ports import free_port
from harness.server import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOARD = ROOT / "deploy/grafana/sluice.json"
POLICIES = """
policies:
  - id: api
    owner: search-team
    deadline: 5s  # however busy the machine is
    limits:
      - { name: second, per: [tenant, key], rate: 1000000/s }
      - { name: hour, per: [tenant, key], rate: 5/h }
  - id: log
    resource: /log
    deadline: 5s
    limits:
      - { name: day, per: [tenant, key], rate: 10/d, algorithm: sliding_log }
"""
SECRET_KEY = "ann@example.org"


def page_of(client, accept=None):
    return client.get("/metrics", {"Accept": accept} if accept else None)


def sample(page, name, **labels):
    """The value of one sample; the labels in the order of the page."""
    text = name + ("{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else "")
    found = re.search("^" + re.escape(text) + r" (\S+)$", page, re.M)
    assert found, f"no {text} in\n{page}"
    return float(found[1])


def families(page):
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M))


def drive(client):
    for _ in range(8):
        client.check(tenant_id="shop", resource="/r", key=SECRET_KEY)
    client.check(tenant_id="shop", resource="/log", key=SECRET_KEY)


@pytest.fixture(params=["memory", "redis"])
def node(request, server, redis_server):
    return server(POLICIES, args=["--store", redis_server().url] if request.param == "redis" else [])


def test_which_limit_decided_on_allowed_and_denied_checks(node, http):
    client = http(node)
    drive(client)
    client.post("/v1/ratelimit/check", {"tenant_id": "shop", "policy_id": "absent", "key": "x"})
    page = page_of(client).body.decode()
    of = dict(policy="api", version="1")
    assert sample(page, "rate_limiter_limit_checks_total", **of, limit="hour", result="allowed") == 5
    assert sample(page, "rate_limiter_limit_checks_total", **of, limit="hour", result="denied") == 3
    assert sample(page, "rate_limiter_limit_checks_total", **of, limit="second", result="allowed") == 5
    assert sample(page, "rate_limiter_limit_checks_total", **of, limit="second", result="denied") == 0
    assert sample(page, "rate_limiter_owner_requests_total", owner="search-team", result="denied") == 3
    assert sample(page, "rate_limiter_owner_requests_total", owner="", result="allowed") == 1
    assert sample(page, "rate_limiter_requests_total", algorithm="gcra", result="denied", error="none") == 3
    assert sample(page, "rate_limiter_requests_total", algorithm="sliding_log", result="allowed", error="none") == 1
    assert sample(page, "rate_limiter_requests_total", algorithm="none", result="error", error="not_found") == 1
    assert sample(page, "rate_limiter_latency_seconds_count", algorithm="gcra") == 8
    assert sample(page, "rate_limiter_bucket_limiting_rate_index_bucket", le="0") == 0
    assert sample(page, "rate_limiter_bucket_limiting_rate_index_bucket", le="1") == 3
    assert sample(page, "rate_limiter_deny_count_total", policy="api") == 3
    assert sample(page, "process_open_fds") > 3
    assert SECRET_KEY not in page


def test_promtool_accepts_both_forms(node, http):
    client = http(node)
    drive(client)
    plain = page_of(client)
    checked = subprocess.run(["promtool", "check", "metrics"], input=plain.body.decode(), capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stderr == "", checked.stderr
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    opened = page_of(client, "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;q=0.5")
    assert opened.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert opened.body.decode().endswith("\n# EOF\n")
    assert families(opened.body.decode())["rate_limiter_requests"] == "counter"


def test_a_new_version_and_a_new_owner_begin_at_zero(server, http):
    node = server(POLICIES)
    client = http(node)
    drive(client)
    node.write_policies(POLICIES.replace("search-team", "shop-team").replace("5/h", "9/h"))
    keys = (f"key {i}" for i in itertools.count())
    wait_until(lambda: client.check(tenant_id="shop", resource="/r", key=next(keys))["limit"] == 9, "the new version")
    page = page_of(client).body.decode()
    versions = {found for found in re.findall(
        r'^rate_limiter_limit_checks_total\{policy="api",version="(\d+)",limit="hour",result="denied"\} 3$', page, re.M)}
    assert versions == {"1"}
    assert sample(page, "rate_limiter_owner_requests_total", owner="search-team", result="denied") == 3
    assert sample(page, "rate_limiter_owner_requests_total", owner="shop-team", result="denied") == 0
    assert sample(page, "rate_limiter_owner_requests_total", owner="shop-team", result="allowed") >= 1


def test_the_documentation_lists_every_metric(server, redis_server, http):
    """Those of both stores; what appears only with other flags is marked with an asterisk."""
    documented = set(re.findall(r"^\| `([a-z_]+)(?:\{[a-z_,]*\})?`", (ROOT / "docs/metrics.md").read_text(), re.M))
    conditional = set(re.findall(r"^\| `([a-z_]+)(?:\{[a-z_,]*\})?`\*", (ROOT / "docs/metrics.md").read_text(), re.M))
    shown = set()
    for args in [[], ["--store", redis_server().url]]:
        client = http(server(POLICIES, args=args))
        drive(client)
        shown |= set(families(page_of(client).body.decode()))
    assert shown - documented == set(), "on the page, but not in docs/metrics.md"
    assert documented - shown - conditional == set(), "in docs/metrics.md, but not on the page"


def test_alert_rules():
    for check in (["check", "rules", "sluice.rules.yml"], ["test", "rules", "sluice.rules.test.yml"]):
        done = subprocess.run(["promtool", *check], cwd=ROOT / "deploy/prometheus", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    rules = (ROOT / "deploy/prometheus/sluice.rules.yml").read_text()
    tested = (ROOT / "deploy/prometheus/sluice.rules.test.yml").read_text()
    for alert in re.findall(r"alert: (\S+)", rules):
        assert re.search(rf"alertname: {alert}\n\s+eval_time: \S+\n\s+exp_alerts:\n", tested), f"{alert} fires in no test"


class Prometheus:
    """A real one, which scrapes some servers every 200 ms."""

    def __init__(self, directory, servers):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = directory / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "1s"},
            "rule_files": [str(ROOT / "deploy/prometheus/sluice.rules.yml")],
            "scrape_configs": [{"job_name": "sluice", "static_configs": [{"targets": [one.address for one in servers]}]}]}))
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory / 'data'}",
             f"--web.listen-address={self.url.removeprefix('http://')}"],
            stdout=(directory / "prometheus.log").open("w"), stderr=subprocess.STDOUT)

    def query(self, expression):
        url = f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []  # it reads its files
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except OSError:
            return []  # it has just been started

    def stop(self):
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture
def prometheus(tmp_path):
    started = []

    def start(servers):
        started.append(Prometheus(tmp_path, servers))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_every_expression_of_the_board_has_data_under_load(server, redis_server, http, prometheus):
    on_redis = server(POLICIES, args=["--store", redis_server().url])
    in_memory = server(POLICIES)
    asked = prometheus([on_redis, in_memory])
    stop = threading.Event()

    def load(node):
        client = http(node)
        while not stop.wait(0.01):
            drive(client)

    threads = [threading.Thread(target=load, args=[node]) for node in (on_redis, in_memory)]
    for thread in threads:
        thread.start()
    try:
        expressions = [target["expr"] for panel in json.loads(BOARD.read_text())["panels"] for target in panel["targets"]]
        assert len(expressions) > 15
        for expression in expressions:
            real = expression.replace("$job", "sluice").replace("$__rate_interval", "30s")
            wait_until(lambda: asked.query(real), f"data for {real}")
        assert len(asked.query("rate_limiter_build_info")) == 2
        assert asked.query('topk(1, rate_limiter_limit_checks_total{result="denied"})')[0]["metric"]["limit"] == "hour"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
