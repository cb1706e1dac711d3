"""docs/openapi.yaml: served as it is, well-formed, and each of its operations exists and takes its own example.

That every other exchange of these tests keeps to it is seen to by the harness (harness/contract.py), and that the
server has no path besides by src/admin/routes_test.cc.
"""

import re
import urllib.parse

import jsonschema
import pytest

from harness.contract import DOCUMENT, METHODS, Breach, Contract, resolved, target_of
from harness.web import Http

CONTRACT = Contract.load()


def nodes(node, path="#"):
    """Every object of a document with the place where it stands."""
    if isinstance(node, dict):
        yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, child in children:
        yield from nodes(child, f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}")


def test_it_is_served_as_it_is_and_cacheable(server, http):
    client = http(server())
    answer = client.get("/openapi.yaml")
    assert answer.status == 200 and answer.headers["content-type"] == "application/yaml"
    assert answer.body == DOCUMENT.read_bytes()
    tag = answer.headers["etag"]
    again = client.get("/openapi.yaml", {"If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    head = client.request("HEAD", "/openapi.yaml")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", tag)


# The shape of the document itself.

def test_every_reference_leads_somewhere_and_every_component_is_used():
    used = set()
    for place, node in nodes(CONTRACT.raw):
        if "$ref" in node:
            assert set(node) == {"$ref"}, f"{place}: a reference has no neighbours"
            target_of(node["$ref"], CONTRACT.raw)
            used.add(node["$ref"])
    there = {f"#/components/{kind}/{name}" for kind, names in CONTRACT.raw["components"].items()
             for name in names if kind != "securitySchemes"}
    assert there - used == set()


def test_every_operation_is_whole():
    assert re.fullmatch(r"3\.1\.\d+", CONTRACT.document["openapi"])
    tags = {tag["name"] for tag in CONTRACT.document["tags"]}
    ids = [operation.node["operationId"] for operation in CONTRACT.operations]
    assert len(set(ids)) == len(ids)
    for operation in CONTRACT.operations:
        node, name = operation.node, operation.name
        assert node["summary"] and set(node["tags"]) <= tags, name
        named = set(re.findall(r"{(\w+)}", operation.path))
        assert set(operation.parameters_in("path")) == named, name
        assert all(one["required"] for one in operation.parameters_in("path").values()), name
        assert len({(one["in"], one["name"]) for one in operation.parameters}) == len(operation.parameters), name
        for status, response in node["responses"].items():
            assert status == "default" or re.fullmatch(r"[1-5]\d\d", status), name
            assert response["description"], name
            is_error = status != "default" and int(status) >= 400
            for kind in response.get("content", {}) if is_error and operation.path not in ("/readyz", "/healthcheck", "/json") else ():
                assert kind == "application/problem+json", f"{name} {status}"


def test_paths_hold_nothing_but_operations():
    for path, item in CONTRACT.document["paths"].items():
        assert path.startswith("/")
        assert set(item) <= METHODS | {"parameters", "description", "x-any-method", "x-port"}, path
        assert item.get("x-port", "checks") in ("checks", "admin", "both"), path


def test_every_schema_is_one_and_every_example_fits_its_schema():
    for place, node in nodes(CONTRACT.document):
        schema = node.get("schema")
        if not isinstance(schema, dict):
            continue
        jsonschema.Draft202012Validator.check_schema(schema)
        if "example" in node:
            jsonschema.validate(node["example"], schema, jsonschema.Draft202012Validator)


def test_objects_of_answers_are_closed():
    """Where a schema does not say which properties there are, the harness could not see one too many."""
    anything = {"dimensions", "before", "after", "costs", "tiers", "metadata"}  # documents of any kind, and maps by name
    for operation in CONTRACT.operations:
        for status, response in operation.responses.items():
            for kind, content in response.get("content", {}).items():
                for place, node in nodes(content["schema"]):
                    is_open = node.get("type") in ("object", ["object", "null"]) and \
                        node.get("additionalProperties") is not False
                    assert not is_open or anything & set(place.split("/")), f"{operation.name} {status} {place}"


# The story that the examples tell together: everything that is made is used, and deleted at the end.

def in_order_of_the_story():
    deletions = [operation for operation in CONTRACT.operations if operation.method == "delete"]
    return [one for one in CONTRACT.operations if one.method != "delete"] + deletions[::-1]


def example_call(operation):
    """Path with query, and body, as the examples of the document have them."""
    path = operation.path
    for name, parameter in operation.parameters_in("path").items():
        path = path.replace(f"{{{name}}}", urllib.parse.quote(parameter["example"], safe=""))
    query = {name: one["example"] for name, one in operation.parameters_in("query").items() if "example" in one}
    body = operation.request_content().get("application/json", {}).get("example")
    assert body is not None or not operation.request_content(), f"{operation.name} needs an example"
    return path + ("?" + urllib.parse.urlencode(query) if query else ""), body


LEASABLE = "policies: [{id: search, resource: /search, limits: [{per: [key], rate: 10/h}]}]"


def test_every_operation_takes_its_example(admin):
    client = admin(LEASABLE)
    answers = {}
    for operation in in_order_of_the_story():
        target, body = example_call(operation)
        if operation.node["operationId"] == "returnLease":  # the id of a lease cannot stand in a document
            body["lease_id"] = leased
        answer = client.request(operation.method.upper(), target, body)
        answers[operation.name] = answer.status
        assert 200 <= answer.status < 300, f"{operation.name}: {answer}"
        if operation.node["operationId"] == "lease":
            leased = answer.json["lease_id"]
    assert len(answers) == len(CONTRACT.operations)


# A judge that lets everything pass proves nothing.

class FakeAnswer:
    def __init__(self, status, body, **headers):
        self.status, self.body = status, body
        self.headers = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}


PROBLEM = b'{"type":"about:blank","title":"x","status":404,"detail":"x"}'
READY = b'{"ready":true,"draining":false,"degraded":false,"problems":[]}'


@pytest.mark.parametrize("method, target, body, answer, why", [
    ("GET", "/nothing", None, FakeAnswer(200, b"{}"), "path is not documented"),
    ("GET", "/v1/policies/", None, FakeAnswer(200, b"{}"), "path is not documented"),
    ("PATCH", "/v1/policies/a", None, FakeAnswer(200, b"{}"), "method is not documented"),
    ("PATCH", "/v1/policies/a", None, FakeAnswer(405, PROBLEM, allow="GET, PUT"), "Allow names"),
    ("GET", "/readyz", None, FakeAnswer(201, READY), "status 201"),
    ("GET", "/readyz", None, FakeAnswer(200, READY, x_new="1"), "header x-new is not documented"),
    ("GET", "/readyz", None, FakeAnswer(200, READY[:-1] + b',"more":1}'), "'more' was unexpected"),
    ("GET", "/readyz", None, FakeAnswer(200, b'{"ready":true}'), "'draining' is a required property"),
    ("GET", "/readyz", None, FakeAnswer(200, READY, content_type="text/plain"), "content type text/plain"),
    ("DELETE", "/v1/policies/a", None, FakeAnswer(204, b"{}"), "has a body"),
    ("GET", "/v1/policies/a", None, FakeAnswer(404, PROBLEM), "content type application/json"),
    ("GET", "/v1/audit?odd=1", None, FakeAnswer(200, b'{"entries":[],"next":null}'), "query parameter odd"),
    ("GET", "/v1/audit?limit=0", None, FakeAnswer(200, b'{"entries":[],"next":null}'), "less than the minimum"),
    ("PUT", "/api/v1/users/u/tier", '{"tier":"a","odd":1}',
     FakeAnswer(200, b'{"user_id":"u","agreed":{"tier":"a"}}', etag='"1"'), "accepted request"),
    ("PUT", "/api/v1/users/u/tier", '{"tier":"a"}', FakeAnswer(200, b'{"user_id":"u","agreed":{}}'), "etag is missing"),
])
def test_the_harness_sees_what_is_not_as_documented(method, target, body, answer, why):
    with pytest.raises(Breach, match=re.escape(why)):
        CONTRACT.check(method, target, body, answer)


def test_the_harness_lets_pass_what_is_as_documented():
    CONTRACT.check("GET", "/readyz", None, FakeAnswer(200, READY))
    CONTRACT.check("HEAD", "/readyz", None, FakeAnswer(200, b""))
    CONTRACT.check("GET", "/nothing", None, FakeAnswer(404, PROBLEM, content_type="application/problem+json"))
    CONTRACT.check("PURGE", "/v1/authorize?key=a&region=eu", None, FakeAnswer(
        429, b'{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"x","status":429,'
        b'"detail":"x","violated-policies":["a"],"reason":"limited","retry_after_ms":5}',
        content_type="application/problem+json", retry_after="1"))
    assert Http.contract.raw == CONTRACT.raw
    assert resolved({"$ref": "#/info/title"}, CONTRACT.raw) == "Sluice"
