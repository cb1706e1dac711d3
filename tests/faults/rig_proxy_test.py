"""The fault proxy itself: each fault does what its name says, and heals."""

import socket
import threading
import time

import pytest
from harness.server import wait_until

from rig.patience import WAIT_S
from harness.ports import free_port
from rig.proxy import FaultProxy

QUICK_S = 0.2


class Echo:
    """A server that sends back what it gets, and remembers it."""
    host = "127.0.0.1"

    def __init__(self):
        self.received = b""
        self.listener = socket.create_server((self.host, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    self.received += data
                    connection.sendall(data)
            except OSError:
                pass


@pytest.fixture
def echo():
    one = Echo()
    yield one
    one.listener.close()


@pytest.fixture
def connect(cleanup):
    def open_one(proxy):
        connection = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT_S)
        cleanup.callback(connection.close)
        return connection
    return open_one


def read(connection, count):
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data


def ask(connection, data):
    connection.sendall(data)
    return read(connection, len(data))


def silent(connection):
    connection.settimeout(QUICK_S)
    try:
        connection.recv(1)
        return False
    except TimeoutError:
        return True
    finally:
        connection.settimeout(WAIT_S)


def test_a_good_day(echo, proxy, connect):
    one = proxy(echo)
    connections = [connect(one) for _ in range(3)]
    payload = bytes(range(256)) * 4096
    assert [ask(connection, payload) == payload for connection in connections] == [True] * 3
    assert (one.accepted, one.open_connections) == (3, 3)


def test_latency_and_jitter_delay_but_keep_the_order(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    one.set(latency_s=0.1, jitter_s=0.1)
    began = time.monotonic()
    for i in range(20):
        connection.sendall(b"%02d" % i)
        time.sleep(0.002)
    assert read(connection, 40) == b"".join(b"%02d" % i for i in range(20))
    assert time.monotonic() - began >= 0.2  # there and back


def test_bandwidth(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    one.set(bytes_per_s=50_000)
    began = time.monotonic()
    assert ask(connection, bytes(10_000)) == bytes(10_000)
    assert time.monotonic() - began >= 0.15


def test_replies_in_slices(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    one.set(reply_slice=1, bytes_per_s=100)  # slow enough to see the pieces one by one
    connection.sendall(b"hello")
    pieces = [connection.recv(100)]
    while sum(map(len, pieces)) < 5:
        pieces.append(connection.recv(100))
    assert b"".join(pieces) == b"hello"
    assert len(pieces) > 1


def test_a_reply_is_cut_after_the_request_has_arrived(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    assert ask(connection, b"before") == b"before"
    one.cut_replies_after(lambda: 3)
    connection.sendall(b"request")
    assert read(connection, 3) == b"req"
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    assert echo.received == b"beforerequest"
    later = connect(one)
    later.sendall(b"again")
    assert read(later, 3) == b"aga"
    one.cut_replies_after(None)
    assert ask(connect(one), b"healed") == b"healed"


def test_a_reply_is_cut_before_its_first_byte(echo, proxy, connect):
    one = proxy(echo)
    one.cut_replies_after(lambda: 0)
    connection = connect(one)
    connection.sendall(b"request")
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    assert echo.received == b"request"


def test_silence_loses_what_was_sent(echo, proxy, connect):
    one = proxy(echo)
    old = connect(one)
    assert ask(old, b"a") == b"a"
    one.set(silent=True)
    fresh = connect(one)
    for connection in (old, fresh):
        connection.sendall(b"lost")
        assert silent(connection)
    one.heal()
    with pytest.raises(ConnectionResetError):
        old.recv(1)
    assert ask(connect(one), b"b") == b"b"
    assert echo.received == b"ab"


def test_a_deaf_network_delivers_later(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    assert ask(connection, b"a") == b"a"
    one.set(deaf=True)
    connection.sendall(b"later")
    assert silent(connection)
    one.heal()
    assert read(connection, 5) == b"later"


def test_a_deaf_network_pushes_back(echo, proxy, connect):
    one = proxy(echo)
    one.set(deaf=True)
    connection = connect(one)
    connection.settimeout(QUICK_S)
    with pytest.raises(TimeoutError):
        connection.sendall(bytes(64 << 20))


def test_half_closed(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    assert ask(connection, b"a") == b"a"
    one.half_close()
    assert connection.recv(1) == b""
    connection.sendall(b"still read")
    wait_until(lambda: echo.received == b"astill read", "what was sent after the goodbye")


def test_refusing_and_accepting_again(echo, proxy, connect):
    one = proxy(echo)
    connection = connect(one)
    assert ask(connection, b"a") == b"a"
    one.refuse()
    with pytest.raises(ConnectionResetError):
        connection.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(one)
    one.accept()
    assert ask(connect(one), b"b") == b"b"


def test_nobody_behind_it(proxy, connect):
    class Nobody:
        host, port = "127.0.0.1", free_port()
    try:
        assert connect(proxy(Nobody)).recv(1) == b""
    except ConnectionResetError:
        pass  # as good as an end


def test_stopping_twice(echo):
    one = FaultProxy(echo.host, echo.port).start()
    one.stop()
    one.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", one.port), timeout=WAIT_S)
