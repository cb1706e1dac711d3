"""The dashboard in Chromium: each flow of flows.mjs against a real server with traffic."""

import json
import pathlib
import subprocess
import threading
import urllib.request

import pytest
from harness.admin import expect, sqlite
from harness.server import ROOT, Server

HERE = pathlib.Path(__file__).resolve().parent
WEB = ROOT / "web"
PICTURES = ROOT / "build/web"
POLICIES = """
policies:
  - {id: api.read, tenant: search-service, resource: /search, limits: [{name: burst, per: [tenant, user], rate: 20/s}]}
  - {id: login, resource: /login, limits: [{name: attempts, per: [ip], rate: 5/m, algorithm: fixed_window}]}
  - {id: shop.rule, tenant: shop, resource: /cart, limits: [{name: cart, per: [user], rate: 10/s}]}
  - {id: demo, resource: /demo, limits: [{name: hour, per: [user], rate: 15/h}]}
"""


class Traffic:
    """Checks without end, so that the page has something to show, until it is stopped."""

    def __init__(self, server):
        self.url = f"http://{server.address}/v1/ratelimit/check"
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number = 0
        while not self.stopping.wait(0.005):
            number += 1
            for tenant, resource, key in (("search-service", "/search", f"u{number % 3}"), ("shop", "/cart", f"c{number % 7}"),
                                          ("shop", "/demo", "whale")):
                self.check(tenant, resource, key)

    def check(self, tenant, resource, key):
        body = json.dumps({"tenant_id": tenant, "resource": resource, "key": key}).encode()
        try:
            urllib.request.urlopen(urllib.request.Request(self.url, body), timeout=60).close()
        except OSError:
            pass  # the server stops before we do

    def stop(self):
        self.stopping.set()
        self.thread.join()


def run_flow(name, server, token=""):
    done = subprocess.run(["node", str(HERE / "browser.mjs"), name, f"http://{server.address}", str(PICTURES), token],
                          capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def busy(server, tmp_path):
    one = server(POLICIES, args=sqlite(tmp_path))
    traffic = Traffic(one)
    yield one
    traffic.stop()


@pytest.mark.parametrize("flow", ["overview", "views", "hot_key", "policy", "red_switch"])
def test_flow_under_traffic(busy, flow):
    run_flow(flow, busy)


def test_the_page_of_one_node_shows_all(server, redis, tmp_path):
    idle, working = (server(POLICIES, args=[*sqlite(tmp_path), "--store", redis.url]) for _ in range(2))
    traffic = Traffic(working)
    try:
        run_flow("nodes", idle)
    finally:
        traffic.stop()


def test_100000_policies_fit_into_the_page(server, tmp_path):
    run_flow("huge", server(POLICIES, args=sqlite(tmp_path)))


def test_the_tester_sends_a_check(server, tmp_path):
    run_flow("tester", server(POLICIES, args=sqlite(tmp_path)))


def test_a_login_shows_what_the_token_may_see(server, http, tmp_path):
    first: Server = server(POLICIES, args=sqlite(tmp_path))
    secret = expect(http(first).request("POST", "/v1/tokens", {"name": "boss", "roles": ["admin"]}), 201)["token"]
    assert first.stop() == 0
    run_flow("token", server(POLICIES, args=[*sqlite(tmp_path), "--require-token"]), secret)


def test_long_lists_stay_short_in_the_page(server, tmp_path):
    many = "\n".join(f"  - {{id: p{i:04}, resource: /r/{i}, limits: [{{rate: 5/s}}]}}" for i in range(1000))
    run_flow("many", server(f"policies:\n{many}\n", args=sqlite(tmp_path)))


def test_the_committed_bundle_is_what_the_sources_give(tmp_path):
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=WEB, check=True, timeout=600)
    for built in (WEB / "dist").iterdir():
        assert built.read_bytes() == (tmp_path / built.name).read_bytes(), f"{built.name}: run `make web` and commit web/dist"
    assert {one.name for one in tmp_path.iterdir()} == {one.name for one in (WEB / "dist").iterdir()}


def test_types_are_right_and_the_lockfile_names_no_registry():
    subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit"], cwd=WEB, check=True, timeout=600)
    assert '"resolved"' not in (WEB / "package-lock.json").read_text()
