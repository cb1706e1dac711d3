"""The rig itself: servers that can be killed, frozen and brought back, and that end with the test."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import redis
from harness.server import wait_until
from redis.crc import key_slot

from harness.ports import free_port
from rig.process import children
from rig.redis_server import RedisServer

HERE = pathlib.Path(__file__).resolve().parent
QUICK_S = 0.2


def test_a_killed_server_comes_back_on_its_port_without_its_data(redis_server):
    one = redis_server()
    port, pid = one.port, one.pid
    one.cli.set("a", 1)
    one.kill()
    with pytest.raises(redis.ConnectionError):
        one.connect().ping()
    one.start()
    assert (one.port, one.cli.get("a")) == (port, None)
    assert one.pid != pid


def test_a_killed_server_keeps_what_it_wrote_until_it_is_told_to_forget(redis_server):
    one = redis_server(appendonly="yes", appendfsync="always")
    one.cli.set("a", 1)
    one.kill()
    one.start()
    assert one.cli.get("a") == "1"
    one.kill()
    one.forget_data()
    one.start()
    assert one.cli.get("a") is None


def test_a_frozen_server_is_silent_but_there(redis_server):
    one = redis_server()
    one.freeze()
    with pytest.raises(redis.TimeoutError):
        one.connect(socket_timeout=QUICK_S).ping()
    one.thaw()
    assert one.cli.ping()


def test_a_frozen_server_can_be_killed(redis_server):
    one = redis_server()
    one.freeze()
    one.kill()
    assert not one.running


def test_passwords_unix_sockets_and_settings(redis_server):
    one = redis_server(password="se cret", maxmemory_policy="allkeys-lru")
    assert one.cli.config_get("maxmemory-policy") == {"maxmemory-policy": "allkeys-lru"}
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=one.port).ping()
    assert redis.Redis(unix_socket_path=str(one.unix_path), password="se cret").ping()


def test_the_client_survives_that_its_connection_is_cut(redis_server):
    one = redis_server()
    one.cli.set("a", 1)
    other = one.connect()
    other.client_kill_filter(_type="normal", skipme=True)
    assert one.cli.get("a") == "1"


def test_a_server_that_cannot_start_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="no-such-setting"):
        RedisServer(tmp_path, no_such_setting=1).start()


def test_ports_are_free_and_out_of_the_way_of_outgoing_connections():
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        lowest = int(file.read().split()[0])
    assert all(port < lowest for port in (free_port() for _ in range(100)))


def test_sentinels_promote_a_replica_when_the_master_dies(sentinels):
    one = sentinels()
    before = one.master()
    before.cli.set("a", 1)
    assert before.cli.wait(1, 5000) == 1
    before.kill()
    after = one.wait_for_other_master(before)
    assert after is not before
    assert after.cli.get("a") == "1"
    after.cli.set("b", 2)
    before.start()
    wait_until(lambda: before.cli.role()[0] == "slave", "the old master to follow the new one")


def test_a_cluster_moves_slots_with_their_keys(cluster):
    one = cluster()
    slot = key_slot(b"{x}a")
    source = one.owner(slot)
    to = next(node for node in one.masters if node is not source)
    source.cli.mset({f"{{x}}{i}": i for i in range(250)})
    assert source.used_slots() == {slot}
    one.begin_move(slot, to)
    one.move_keys(slot, source, to, at_most=10)
    assert (source.cli.dbsize(), to.cli.dbsize()) == (240, 10)
    with pytest.raises(redis.ResponseError, match="ASK"):
        source.cli.execute_command("GET", "{x}missing")
    one.move_keys(slot, source, to)
    one.end_move(slot, source, to)
    assert (source.cli.dbsize(), to.cli.dbsize()) == (0, 250)
    with pytest.raises(redis.ResponseError, match="MOVED"):
        source.cli.execute_command("GET", "{x}1")
    assert one.owner(slot) is to


def test_a_cluster_promotes_the_replica_of_a_lost_master(cluster):
    one = cluster(with_replicas=True)
    before = one.owner(0)
    before.kill()
    after = one.wait_for_other_owner(0, before)
    assert after is one.replicas[one.masters.index(before)]
    assert one.owner(16_383) is one.masters[2]


def test_children_are_seen_and_dead_ones_are_not(redis_server):
    before = children()
    one = redis_server()
    assert set(children()) - set(before) == {one.pid}
    assert "redis-server" in children()[one.pid]
    one.kill()
    assert children() == before


PLANTED = """
import subprocess
from harness.server import DIE_WITH_PARENT

def test_that_fails(redis_server):
    print("PID", redis_server().pid)
    assert False

def test_that_leaks(request):
    request.config.kept = subprocess.Popen([*DIE_WITH_PARENT, "sleep", "60"])
"""


def test_what_a_failing_test_started_ends_and_what_it_hides_is_reported(tmp_path):
    (tmp_path / "test_planted.py").write_text(PLANTED)
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", tmp_path],
                         capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(HERE)})
    assert "1 failed, 1 passed, 1 error" in run.stdout
    assert "sleep 60'" in run.stdout  # perhaps still behind the command that starts it
    assert not pathlib.Path("/proc", re.search(r"PID (\d+)", run.stdout)[1]).exists()
