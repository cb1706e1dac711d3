"""Fixtures of the black-box tests. Whatever a test starts is stopped when it ends, however it ends."""

import pathlib
import shutil
import subprocess
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness.server import ROOT, Server  # noqa: E402
from harness.web import Http, RawConnection  # noqa: E402


@pytest.fixture
def server(tmp_path):
    """A factory: server(policies="policies: …", args=["--threads", "2"]) is a running Server.

    At the end of the test every server must still stop cleanly, with status 0 and no sanitizer report.
    A test that kills its server itself is not asked twice.
    """
    started = []

    def start(policies=None, args=(), env=None, **more):
        one = Server(tmp_path / f"server{len(started)}", policies, args, env, **more)
        started.append(one)
        return one

    yield start
    try:
        for one in started:
            if one.running:
                assert one.stop() == 0, f"the server ended with {one.process.returncode}:\n{one.log()}"
            else:
                one.stop()
    finally:
        for one in started:
            one.kill()


@pytest.fixture
def http():
    """A factory: http(server) is an Http connection to it."""
    yield from _connections(Http)


@pytest.fixture
def raw():
    """A factory: raw(server) is a RawConnection to it."""
    yield from _connections(RawConnection)


def _connections(kind):
    opened = []

    def connect(server, **options):
        opened.append(kind(server.host, server.port, **options))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    """The messages and services of api/, compiled once per session: an rpc.Api."""
    from harness.rpc import Api
    return Api(ROOT / "api", tmp_path_factory.mktemp("api"))


@pytest.fixture
def grpc_stub(api):
    """A factory: grpc_stub(server, "sluice.v1.RateLimiter") is a client over its own connection."""
    from harness.rpc import open_channel
    opened = []

    def connect(server, service="sluice.v1.RateLimiter", **options):
        opened.append(open_channel(server.address, **options))
        return api.stub(opened[-1], service)

    yield connect
    for one in opened:
        one.close()


@pytest.fixture
def tool():
    """tool("curl", "-s", url) runs a program to its end: .returncode, .stdout, .stderr (text)."""
    def run(name, *arguments, timeout_s=60, **options):
        assert shutil.which(name), f"{name} is not installed; run `make deps`"
        command = [name, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, **options)
    return run


@pytest.fixture
def admin(server, http, tmp_path):
    """A connection to a server of its own, with an empty policy database: admin(policies=…, args=…)."""
    from harness.admin import sqlite

    def start(policies=None, args=()):
        return http(server(policies, args=[*sqlite(tmp_path), *args]))

    return start


@pytest.fixture
def authority(tmp_path):
    """Signs certificates of servers and clients: a certificates.Authority."""
    from harness.certificates import Authority
    return Authority(tmp_path)


@pytest.fixture
def tls(server, authority, tmp_path):
    """A factory: tls("--tls-client-ca", …, policies=…) is a Server that speaks TLS, with the certificate `identity`."""
    from harness.admin import sqlite

    def start(*args, policies=None, identity=None, **more):
        own = identity or authority.for_servers()
        return server(policies, args=["--tls-cert", str(own.certificate), "--tls-key", str(own.key), *sqlite(tmp_path),
                                      *map(str, args)], **more)
    return start


@pytest.fixture
def https(authority):
    """A factory: https(server, own) is an Http connection to it over TLS, with the client's certificate `own`."""
    opened = []

    def connect(server, own=None, context=None):
        opened.append(Http(server.host, server.port, tls=context or authority.trusting(own)))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


@pytest.fixture
def postgres():
    """A running PostgreSQL of its own: a postgres.Postgres."""
    from harness.postgres import Postgres
    one = Postgres()
    try:
        yield one.start()
    finally:
        one.remove()


@pytest.fixture
def redis_server(tmp_path):
    """A factory: redis_server() is a running Redis of its own, a redis_server.Redis; with durable=True it forgets nothing."""
    from harness.redis_server import Redis
    started = []

    def start(**options):
        started.append(Redis(tmp_path / f"redis{len(started)}", **options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def redis(redis_server):
    return redis_server()


@pytest.fixture
def two_redis(redis_server):
    return redis_server(), redis_server()


@pytest.fixture
def durable_redis(redis_server):
    return redis_server(durable=True)


@pytest.fixture
def database(request, tmp_path):
    """The policy database of the test's parameter `kind`: .args for a server; .stop() and .start() if it is a server itself."""
    kind = request.getfixturevalue("kind")
    from harness.admin import QUICK_END, sqlite
    if kind == "sqlite":
        return types.SimpleNamespace(args=sqlite(tmp_path))
    one = request.getfixturevalue({"postgres": "postgres", "redis": "durable_redis"}[kind])
    return types.SimpleNamespace(args=["--policy-db", one.url, *QUICK_END], stop=one.stop, start=one.start)


@pytest.fixture
def write(tmp_path):
    """write(text) is the path of a file with that text."""
    def one(text, name="wanted.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return one
