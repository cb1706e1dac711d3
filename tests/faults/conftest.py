"""Fixtures of the fault tests. Whatever a test starts ends with it, however it ends; the last fixture proves it."""

import contextlib
import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BLACKBOX = HERE.parent / "blackbox"
sys.path[:0] = [str(HERE), str(BLACKBOX)]

from harness.server import wait_until  # noqa: E402
from rig.cluster import RedisCluster  # noqa: E402
from rig.load import Load, Plan  # noqa: E402
from rig.process import children  # noqa: E402
from rig.proxy import FaultProxy  # noqa: E402
from rig.redis_server import RedisServer  # noqa: E402
from rig.sentinels import SentinelSet  # noqa: E402
from rig.trial import POLICIES, Trial  # noqa: E402

SUMMARIES = pytest.StashKey()  # a line per trial, shown at the end

_spec = importlib.util.spec_from_file_location("blackbox_fixtures", BLACKBOX / "conftest.py")
_blackbox = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_blackbox)
server, http, raw, api, grpc_stub = (_blackbox.server, _blackbox.http, _blackbox.raw, _blackbox.api,
                                     _blackbox.grpc_stub)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running():
    yield
    assert children() == {}


@pytest.fixture
def cleanup():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def directory(tmp_path):
    """directory("redis") is a fresh one for each call."""
    made = []

    def make(name):
        made.append(name)
        return tmp_path / f"{name}{len(made)}"
    return make


@pytest.fixture
def redis_server(directory, cleanup):
    """A factory: redis_server(maxmemory="2mb") is a running RedisServer."""
    def start(**config):
        one = RedisServer(directory("redis"), **config)
        cleanup.callback(one.kill)
        return one.start()
    return start


@pytest.fixture
def sentinels(directory, cleanup):
    """A factory: sentinels(replicas=2) is a running SentinelSet."""
    def start(**options):
        one = SentinelSet(directory("sentinels"), **options)
        cleanup.callback(one.kill)
        return one.start()
    return start


@pytest.fixture
def cluster(directory, cleanup):
    """A factory: cluster(with_replicas=True) is a running RedisCluster."""
    def start(**options):
        one = RedisCluster(directory("cluster"), **options)
        cleanup.callback(one.kill)
        return one.start()
    return start


@pytest.fixture
def proxy(cleanup):
    """A factory: proxy(redis) is a FaultProxy in front of a RedisServer."""
    def start(target):
        one = FaultProxy(target.host, target.port)
        cleanup.callback(one.stop)
        return one.start()
    return start


@pytest.fixture
def load(directory, cleanup):
    """A factory: load(server, policy_id="p", ids="a") is running Load; several servers: a list."""
    def start(servers, **plan):
        targets = [(one.host, one.port) for one in (servers if isinstance(servers, list) else [servers])]
        one = Load(directory("load"), Plan(targets=targets, **plan))
        cleanup.callback(one.kill)
        return one.start()
    return start


@pytest.fixture
def sluice(server, http):
    """A factory: sluice(url) is a server on the store at this URL, with the policies of rig/trial.py and two loops; it
    has met its store, unless ready=False."""
    def start(url, *args, policies=POLICIES, ready=True, **more):
        node = server(policies, args=["--store", url, "--key-secret", "fault tests", "--threads", "2",
                                        "--drain-notice-ms", "0", *args], **more)
        if ready:
            client = http(node)
            wait_until(lambda: client.get("/readyz").status == 200, f"the store:\n{node.log()}")
        return node
    return start


@pytest.fixture
def trial(load, http, request):
    """A function: trial(node, fault) is the Outcome of a fault under load. A fault calls trial.hold() to last until it
    is felt; see rig/trial.py."""
    trials = Trial(load)

    def run(node, fault, **options):
        client = http(node[0] if isinstance(node, list) else node)
        outcome = trials.run(node, client, fault, **options)
        request.config.stash.setdefault(SUMMARIES, []).append(f"{request.node.name:55} {outcome.summary()}")
        return outcome
    run.hold, run.is_felt = trials.hold, trials.is_felt
    return run


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(SUMMARIES, []):
        terminalreporter.write_line(line)
