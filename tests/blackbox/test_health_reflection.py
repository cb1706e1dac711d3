"""The standard services: grpc.health.v1 and grpc.reflection, as load balancers and grpcurl use them."""

import queue
import signal

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

POLICIES = "policies: []\n"
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3


@pytest.mark.parametrize("service", ["", "sluice.v1.RateLimiter"])
def test_health_check(server, grpc_stub, service):
    assert grpc_stub(server(POLICIES), "grpc.health.v1.Health").Check(service=service).status == SERVING


def test_an_unknown_service(server, grpc_stub):
    stub = grpc_stub(server(POLICIES), "grpc.health.v1.Health")
    with pytest.raises(grpc.RpcError) as error:
        stub.Check(service="nobody")
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(service="nobody")
    assert next(watch).status == SERVICE_UNKNOWN
    watch.cancel()


def test_watch_hears_of_the_drain(server, grpc_stub):
    running = server(POLICIES, args=["--drain-notice-ms", "3000"])
    watch = grpc_stub(running, "grpc.health.v1.Health").Watch(service="")
    assert next(watch).status == SERVING
    running.signal(signal.SIGTERM)
    assert next(watch).status == NOT_SERVING
    watch.cancel()


class Reflection:
    """Asks one question at a time over one stream."""

    def __init__(self, api, stub, version):
        self.request = api.message(f"grpc.reflection.{version}.ServerReflectionRequest")
        self.questions = queue.Queue()
        self.answers = stub.ServerReflectionInfo(iter(self.questions.get, None))

    def ask(self, **question):
        self.questions.put(self.request(**question))
        return next(self.answers)

    def close(self):
        self.questions.put(None)
        assert list(self.answers) == []


@pytest.fixture(params=["v1", "v1alpha"])
def reflection(server, grpc_stub, api, request):
    stub = grpc_stub(server(POLICIES), f"grpc.reflection.{request.param}.ServerReflection")
    conversation = Reflection(api, stub, request.param)
    yield conversation
    conversation.close()


def test_reflection_lists_the_services(reflection):
    answer = reflection.ask(list_services="")
    assert [service.name for service in answer.list_services_response.service] == [
        "envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection", "ratelimiter.v1.RateLimiterService", "sluice.compat.v1.Allow",
        "sluice.compat.v1.Quota", "sluice.v1.RateLimiter"]


def test_reflection_is_enough_to_build_a_client(reflection):
    answer = reflection.ask(file_containing_symbol="sluice.v1.RateLimiter")
    pool = descriptor_pool.DescriptorPool()
    for file in reversed(answer.file_descriptor_response.file_descriptor_proto):
        pool.AddSerializedFile(file)
    service = pool.FindServiceByName("sluice.v1.RateLimiter")
    assert [method.name for method in service.methods] == ["CheckAndIncrement", "CheckBatch", "Lease", "ReturnLease",
                                                            "GetUsage", "ResetKey", "ConfigurePolicy", "ListPolicies"]
    assert service.FindMethodByName("CheckAndIncrement").input_type.fields_by_name["cost"].number == 3


def test_reflection_finds_files_by_name(reflection):
    answer = reflection.ask(file_by_filename="grpc/health/v1/health.proto")
    file = descriptor_pb2.FileDescriptorProto.FromString(answer.file_descriptor_response.file_descriptor_proto[0])
    assert file.package == "grpc.health.v1"


def test_reflection_says_what_it_does_not_know(reflection):
    assert reflection.ask(file_containing_symbol="no.Such").error_response.error_code == 5
    assert reflection.ask(file_by_filename="no.proto").error_response.error_code == 5
    extensions = reflection.ask(all_extension_numbers_of_type="sluice.v1.CheckRequest").all_extension_numbers_response
    assert (extensions.base_type_name, list(extensions.extension_number)) == ("sluice.v1.CheckRequest", [])
