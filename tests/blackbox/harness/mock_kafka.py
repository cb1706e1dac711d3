"""librdkafka's stand-in for a Kafka broker, in this process: one topic with one partition."""

import ctypes
import time

from harness.server import WAIT_SECONDS

ERROR_BYTES = 512
PRODUCER, CONSUMER = 0, 1
FROM_THE_BEGINNING = -2


class Message(ctypes.Structure):
    _fields_ = [("err", ctypes.c_int), ("rkt", ctypes.c_void_p), ("partition", ctypes.c_int32),
                ("payload", ctypes.c_void_p), ("len", ctypes.c_size_t), ("key", ctypes.c_void_p),
                ("key_len", ctypes.c_size_t), ("offset", ctypes.c_int64), ("private", ctypes.c_void_p)]


def _library():
    library = ctypes.CDLL("librdkafka.so.1")
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new", "rd_kafka_topic_new",
                 "rd_kafka_topic_conf_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    library.rd_kafka_consume.restype = ctypes.POINTER(Message)
    return library


class MockKafka:
    def __init__(self, topic="usage.events"):
        self.library = _library()
        self.topic = topic.encode()
        self.owner = self._client(PRODUCER, {"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
        self.cluster = ctypes.c_void_p(self.library.rd_kafka_mock_cluster_new(self.owner, 1))
        self.library.rd_kafka_mock_topic_create(self.cluster, self.topic, 1, 1)
        self.brokers = self.library.rd_kafka_mock_cluster_bootstraps(self.cluster).decode()
        self.url = f"kafka://{self.brokers}/{topic}"
        self.consumer = self.reading = None
        self.events = []

    def _client(self, kind, settings):
        conf = ctypes.c_void_p(self.library.rd_kafka_conf_new())
        error = ctypes.create_string_buffer(ERROR_BYTES)
        for name, value in settings.items():
            assert self.library.rd_kafka_conf_set(conf, name.encode(), value.encode(), error, ERROR_BYTES) == 0, error.value
        made = self.library.rd_kafka_new(kind, conf, error, ERROR_BYTES)
        assert made, error.value
        return ctypes.c_void_p(made)

    def set_down(self):
        self.library.rd_kafka_mock_broker_set_down(self.cluster, 1)

    def set_up(self):
        self.library.rd_kafka_mock_broker_set_up(self.cluster, 1)

    def read(self, count):
        """(key, body) of the first events of the topic, at least so many."""
        if not self.consumer:
            self.consumer = self._client(CONSUMER, {"bootstrap.servers": self.brokers, "log_level": "0"})
            self.reading = ctypes.c_void_p(self.library.rd_kafka_topic_new(self.consumer, self.topic, None))
            self.library.rd_kafka_consume_start(self.reading, 0, ctypes.c_int64(FROM_THE_BEGINNING))
        end = time.monotonic() + WAIT_SECONDS
        while len(self.events) < count:
            assert time.monotonic() < end, f"{len(self.events)} of {count} events came"
            message = self.library.rd_kafka_consume(self.reading, 0, 100)
            if not message:
                continue
            one = message.contents
            if one.err == 0:
                self.events.append((ctypes.string_at(one.key, one.key_len).decode(),
                                    ctypes.string_at(one.payload, one.len).decode()))
            self.library.rd_kafka_message_destroy(message)
        return self.events

    def close(self):
        if self.consumer:
            self.library.rd_kafka_consume_stop(self.reading, 0)
            self.library.rd_kafka_topic_destroy(self.reading)
            self.library.rd_kafka_destroy(self.consumer)
        self.library.rd_kafka_mock_cluster_destroy(self.cluster)
        self.library.rd_kafka_destroy(self.owner)
