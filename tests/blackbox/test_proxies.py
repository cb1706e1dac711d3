"""Debian's nginx, Caddy and HAProxy with the files of examples/ in front of an application: what its clients see."""

import contextlib
import os
import signal

import pytest
import yaml

from harness.cli import works
from harness.proxies import EXAMPLES, Application, Client, Proxy
from harness.server import wait_until

POLICIES = """
policies:
  - id: shop
    tenant: shop
    limits:
      - { name: key,     per: [api_key], rate: 2/h }
      - { name: address, per: [ip],      rate: 1000/h }
  - id: login
    tenant: shop
    resource: /login
    limits: [{ name: attempts, per: [ip], rate: 2/h }]
    on_failure: closed
  - id: writes
    tenant: shop
    resource: /orders
    limits: [{ name: writes, per: [method], rate: 2/h }]
"""

RATE_LIMIT_HEADERS = {"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
                      "x-ratelimit-policy", "x-ratelimit-scope"}


class Site:
    """A Sluice, a proxy and an application in a row."""

    def __init__(self, sluice, proxy, application):
        self.sluice, self.proxy, self.application = sluice, proxy, application
        self.clients = []

    def client(self, address="127.0.0.1"):
        self.clients.append(Client(self.proxy.port, address))
        return self.clients[-1]

    def stop(self):
        for client in self.clients:
            client.close()
        alive = self.proxy.running
        self.proxy.stop()
        self.application.stop()
        assert alive, f"the proxy ended by itself:\n{self.proxy.log()}"


@pytest.fixture(params=["nginx", "caddy", "haproxy"])
def site(request, server, tmp_path):
    """A factory: site() is a running Site with the proxy of this round."""
    started = []

    def start(when_silent="open", patient=True, args=(), token_in_log=None):
        sluice = server(POLICIES, args=["--drain-notice-ms", "0", *args])
        token = sluice.wait_for_log(token_in_log)[0] if token_in_log else None
        with contextlib.closing(Client(sluice.port)) as probe:  # or HAProxy's first health check might be too early
            wait_until(lambda: probe.get("/readyz").status == 200, "a server that is ready")
        application = Application()
        try:
            proxy = Proxy(request.param, tmp_path / "proxy", sluice.port, application.port, when_silent, patient, token)
        except BaseException:
            application.stop()
            raise
        started.append(Site(sluice, proxy, application))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def statuses(client, count, path="/", headers=None):
    return [client.get(path, headers).status for _ in range(count)]


def test_a_request_passes_and_its_answer_tells_what_is_left(site):
    here = site()
    answer = here.client().request("POST", "/a/b?c=d", body="hello", headers={"X-Api-Key": "k"})
    assert answer.status == 200
    assert (answer.json["method"], answer.json["path"], answer.json["body"]) == ("POST", "/a/b?c=d", "hello")
    assert answer.json["headers"]["x-api-key"] == "k"
    assert RATE_LIMIT_HEADERS <= answer.headers.keys()
    assert answer.headers["x-ratelimit-remaining"] == "1"
    assert answer.headers["ratelimit"].startswith('"key";r=1;')
    assert "retry-after" not in answer.headers


def test_too_much_is_a_429_that_says_when_to_come_back(site):
    here = site()
    client = here.client()
    assert statuses(client, 2, headers={"X-Api-Key": "k"}) == [200, 200]
    denied = client.get(headers={"X-Api-Key": "k"})
    assert denied.status == 429
    assert int(denied.headers["retry-after"]) > 0
    assert denied.headers["ratelimit"].startswith('"key";r=0;')
    assert denied.headers["x-ratelimit-state"] == "throttled"
    assert RATE_LIMIT_HEADERS <= denied.headers.keys()
    assert denied.headers["content-type"] == "application/problem+json"
    assert denied.json["type"].endswith("#quota-exceeded")
    assert here.application.requests == 2, "the application has not seen it"


def test_each_user_has_a_limit_of_its_own(site):
    client = site().client()
    assert statuses(client, 3, headers={"X-Api-Key": "a"}) == [200, 200, 429]
    assert statuses(client, 3, headers={"X-Api-Key": "b & c=d"}) == [200, 200, 429]
    assert statuses(client, 3) == [200, 200, 200], "without a key only the address counts"


def test_the_clients_address_is_the_one_it_comes_from(site):
    here = site()
    assert statuses(here.client("127.0.0.2"), 3, "/login") == [200, 200, 429]
    assert statuses(here.client("127.0.0.3"), 1, "/login") == [200]
    spoofed = here.client("127.0.0.4")
    answers = [spoofed.get("/login", {"X-Forwarded-For": f"203.0.113.{i}"}).status for i in range(3)]
    assert answers == [200, 200, 429], "whatever it says of itself"


def test_a_client_cannot_choose_how_it_is_counted(site):
    here = site()
    claims = {"X-Sluice-Cost": "0", "X-Sluice-Policy": "shop", "X-Sluice-Resource": "/free", "X-Sluice-Ip": "203.0.113.9",
              "X-Sluice-Tenant": "nobody", "X-Sluice-Request-Id": "same", "X-Original-URI": "/free", "X-Forwarded-Uri": "/free"}
    for number, claim in enumerate(claims.items(), 10):
        client = here.client(f"127.0.0.{number}")
        assert statuses(client, 3, "/login", dict([claim])) == [200, 200, 429], claim


def test_the_path_is_the_resource_in_every_spelling(site):
    client = site().client()
    assert statuses(client, 2, "/login?user=me") == [200, 200]
    for spelling in ("/login", "/%6cogin", "//login", "/x/../login", "/./login"):
        assert client.get(spelling).status == 429, spelling
    assert client.get("/log").status == 200


def test_the_method_is_a_dimension(site):
    client = site().client()
    assert statuses(client, 3, "/orders") == [200, 200, 429]
    assert client.request("POST", "/orders", body="x").status == 200


def test_the_applications_own_refusals_stay_its_own(site):
    client = site().client()
    for status in (401, 403, 404, 429, 500, 503):
        answer = client.get(f"/status/{status}")
        assert answer.status == status
        assert answer.json["path"] == f"/status/{status}"
        assert "ratelimit" in answer.headers


def test_a_path_that_is_no_text_is_the_clients_fault(site):
    here = site()
    assert here.client().get("/%ff").status == 400
    assert here.application.requests == 0


def peers_of(port):
    """The other ends of all TCP connections of a port of this machine, those that were closed of late included."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split()[1:3] for line in list(table)[1:]]
    ends = [[int(address.split(":")[1], 16) for address in row] for row in rows]
    return {theirs for pair in ends for ours, theirs in (pair, pair[::-1]) if ours == port and theirs != 0}


def test_connections_to_sluice_are_kept(site):
    here = site()
    assert statuses(here.client(), 20) == [200] * 20
    assert len(peers_of(here.sluice.port)) < 5, "one or two, and health checks"


@contextlib.contextmanager
def frozen(sluice):
    """It accepts connections, and says nothing."""
    sluice.signal(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, sluice.pid, os.WSTOPPED)  # with its last thread
        yield
    finally:
        sluice.signal(signal.SIGCONT)


@contextlib.contextmanager
def dead(sluice):
    """Nobody is at its port."""
    sluice.kill()
    yield


@pytest.mark.parametrize("silent", [frozen, dead])
def test_while_sluice_is_silent_requests_pass(site, silent):
    here = site(patient=False)
    client = here.client()
    wait_until(lambda: "ratelimit" in client.get().headers, "an answer in time")
    with silent(here.sluice):
        for _ in range(3):
            answer = client.get(headers={"X-Api-Key": "k"})
            assert answer.status == 200
            assert not RATE_LIMIT_HEADERS & answer.headers.keys()
    if here.sluice.running:
        wait_until(lambda: "ratelimit" in client.get().headers, "limits again")


@pytest.mark.parametrize("silent", [frozen, dead])
def test_or_are_turned_away_if_the_proxy_says_closed(site, silent):
    here = site("closed", patient=False)
    client = here.client()
    wait_until(lambda: client.get().status == 200, "an answer in time")
    seen = here.application.requests
    with silent(here.sluice):
        for _ in range(3):
            answer = client.get()
            assert answer.status == 503 and answer.headers["retry-after"] in ("1", "2")
    assert here.application.requests == seen
    if here.sluice.running:
        wait_until(lambda: client.get().status == 200, "limits again")


def test_without_the_store_each_policy_decides(site, redis):
    here = site(args=["--store", redis.url])
    client = here.client()
    wait_until(lambda: client.get("/login").headers.get("ratelimit"), "the store")
    redis.stop()
    closed = client.get("/login")
    assert closed.status == 503 and closed.headers["retry-after"] in ("1", "2")
    assert client.get("/").status == 200


def test_a_proxy_without_a_good_token_is_an_error_of_the_proxy(site):
    here = site(args=["--require-token"])
    answer = here.client().get()
    assert answer.status == 500
    assert "www-authenticate" not in answer.headers, "the client is asked for nothing"
    assert here.application.requests == 0


def test_a_proxy_with_a_token_is_let_in_and_its_client_needs_none(site):
    client = site(args=["--require-token"], token_in_log=r"sluice_\S+").client()
    assert statuses(client, 3, headers={"X-Api-Key": "k", "Authorization": "Bearer mine"}) == [200, 200, 429]
    assert client.get(headers={"Authorization": "Bearer mine"}).json["headers"]["authorization"] == "Bearer mine"


def test_the_policies_of_the_examples_are_valid():
    assert works("policy", "validate", EXAMPLES / "proxies.yaml").endswith(": valid\n")


def test_the_parts_of_envoys_example_fit_together():
    resources = yaml.safe_load((EXAMPLES / "envoy/proxy/envoy.yaml").read_text())["static_resources"]
    manager = resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    rate_limit = manager["http_filters"][0]["typed_config"]
    assert rate_limit["domain"] == yaml.safe_load((EXAMPLES / "envoy/shop.yaml").read_text())["domain"]
    asked = rate_limit["rate_limit_service"]["grpc_service"]["envoy_grpc"]["cluster_name"]
    sluice = {cluster["name"]: cluster for cluster in resources["clusters"]}[asked]
    assert "http2_protocol_options" in str(sluice["typed_extension_protocol_options"])


def test_traefiks_example_passes_on_only_what_traefik_sets():
    http = yaml.safe_load((EXAMPLES / "traefik/dynamic.yaml").read_text())["http"]
    users, sluice = (http["middlewares"][name] for name in http["routers"]["shop"]["middlewares"])
    assert sluice["forwardAuth"]["authRequestHeaders"] == [users["basicAuth"]["headerField"]]
    assert sluice["forwardAuth"]["trustForwardHeader"] is False
