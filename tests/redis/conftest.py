"""A real Redis for the tests: its own process, directory and port, stopped by its process id."""

import socket
import subprocess
import time

import pytest
import redis
from script import Script


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    log = (folder / "log").open("w")
    process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                "--appendonly", "no", "--dir", folder], stdout=log, stderr=log)
    try:
        client = redis.Redis(port=port)
        for _ in range(200):
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.05)
        yield client
    finally:
        process.terminate()
        process.wait(30)
        log.close()


@pytest.fixture
def client(server):
    server.flushall()
    return server


@pytest.fixture
def script(client):
    return Script(client)
