"""Real Redis servers for the tests: each its own process, directory and port, stopped by its process id."""

import contextlib
import pathlib
import subprocess
import sys
import time

import pytest
import redis
from script import Script

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "blackbox"))

from harness.ports import free_port  # noqa: E402


@contextlib.contextmanager
def running_server(folder, *options):
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", str(port),
                                    "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder,
                                    *options], stdout=log, stderr=log)
    try:
        client = redis.Redis(port=port)
        for _ in range(400):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
        yield client
        client.close()
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("redis")) as client:
        yield client


@pytest.fixture
def client(server):
    server.flushall()
    return server


@pytest.fixture
def script(client):
    return Script(client)


@pytest.fixture
def cluster_node(tmp_path):
    """The only node of a cluster: it insists on declared keys and on one slot per call."""
    with running_server(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        for _ in range(400):
            if client.execute_command("CLUSTER INFO")["cluster_state"] == "ok":
                break
            time.sleep(0.05)
        else:
            raise AssertionError("the cluster is not ready")
        yield client


@pytest.fixture
def migrating_node(cluster_node, tmp_path_factory):
    """migrating_node(key): the same node, while it gives the key's slot away to another."""
    bus = free_port()
    with running_server(tmp_path_factory.mktemp("target"), "--cluster-enabled", "yes", "--cluster-port", str(bus)) as target:
        name = target.execute_command("CLUSTER MYID")
        cluster_node.execute_command("CLUSTER MEET", "127.0.0.1", target.connection_pool.connection_kwargs["port"], bus)

        def give_away(key):
            slot = cluster_node.execute_command("CLUSTER KEYSLOT", key)
            for _ in range(400):
                try:
                    cluster_node.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", name)
                    return cluster_node
                except redis.ResponseError:  # they do not know each other yet
                    time.sleep(0.05)
            raise AssertionError("the nodes do not meet")

        yield give_away
