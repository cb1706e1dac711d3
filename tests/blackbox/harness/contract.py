"""docs/openapi.yaml as a judge: does an exchange of HTTP keep to what the document says?

The rules are strict. What an answer has must be documented: its status, its content type, every header, every
property. A request that was accepted must be one that the document allows. And what the document does not have,
the server does not have: an undocumented path is a 404, an undocumented method a 405 that lists the documented ones.
"""

import json
import pathlib
import urllib.parse

import jsonschema
import yaml

DOCUMENT = pathlib.Path(__file__).resolve().parents[3] / "docs/openapi.yaml"
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
# The network layer's own headers.
OF_HTTP = {"date", "content-length", "content-type", "connection", "transfer-encoding"}
# What a request may get that was refused before anybody looked for its path: malformed, or from a stranger.
BEFORE_THE_PATH = {"400", "401"}


class Breach(AssertionError):
    """The server and the document disagree."""


class Operation:
    """One method of one path. All $refs are replaced by what they refer to."""

    def __init__(self, path, method, item, node, any_request):
        self.path, self.method, self.node = path, method, node
        self.name = f"{method.upper()} {path}"
        self.parameters = item.get("parameters", []) + node.get("parameters", [])
        self.responses = {**any_request["responses"], **node["responses"]}
        self.headers_of_any = any_request["headers"]

    def parameters_in(self, place):
        return {one["name"]: one for one in self.parameters if one["in"] == place}

    def request_content(self):
        return self.node.get("requestBody", {}).get("content", {})


class Contract:
    def __init__(self, document):
        self.raw = document
        self.document = resolved(document, document)
        any_request = self.document["x-any-request"]
        self.any_statuses = set(any_request["responses"])
        self.paths = {path: {method: Operation(path, method, item, node, any_request)
                             for method, node in item.items() if method in METHODS}
                      for path, item in self.document["paths"].items()}
        self.validators = {}

    @staticmethod
    def load(path=DOCUMENT):
        return Contract(yaml.load(path.read_text(), yaml.CSafeLoader))

    @property
    def operations(self):
        return [operation for item in self.paths.values() for operation in item.values()]

    def path_of(self, path):
        """The documented path that a request's path is meant for; None: there is none."""
        if path in self.paths:
            return path
        given = path.split("/")
        for template in self.paths:
            parts = template.split("/")
            if len(parts) == len(given) and all(part == one or (part.startswith("{") and one)
                                                for part, one in zip(parts, given)):
                return template
        return None

    def check(self, method, target, body, answer):
        """Raises Breach if the exchange is not as documented. body: bytes, str or None; answer: a web.Answer."""
        try:
            self._check(method, target, body, answer)
        except Breach as breach:
            raise Breach(f"{method} {target}: {breach}\nrequest: {body!r:.2000}\nanswer: {answer!r:.2000}") from None

    def _check(self, method, target, body, answer):
        path, _, query = target.partition("?")
        template = self.path_of(path)
        if template is None:
            return self._check_nothing_there(answer)
        operation = self._operation(template, method.lower())
        if operation is None:
            return self._check_not_allowed(template, answer)
        response = operation.responses.get(str(answer.status)) or operation.responses.get("default")
        require(response, f"the status {answer.status} of {operation.name} is not documented")
        self._check_headers(operation, response, answer)
        self._check_body(operation, response, answer, is_head=method == "HEAD")
        if 200 <= answer.status < 300:
            self._check_query(operation, query)
            self._check_request(operation, body)

    def _operation(self, template, method):
        item = self.paths[template]
        takes_any = self.document["paths"][template].get("x-any-method")
        return item.get(method) or (item.get("get") if method == "head" or takes_any else None)

    def _check_nothing_there(self, answer):
        allowed = {"404"} | BEFORE_THE_PATH | self.any_statuses
        require(str(answer.status) in allowed, f"the path is not documented, but the answer is {answer.status}")

    def _check_not_allowed(self, template, answer):
        if str(answer.status) in BEFORE_THE_PATH | self.any_statuses:
            return
        require(answer.status == 405, f"the method is not documented, but the answer is {answer.status}")
        named = set(answer.headers.get("allow", "").lower().split(", ")) - {"head"}
        require(named == set(self.paths[template]), f"Allow names {named}, the document {set(self.paths[template])}")

    def _check_headers(self, operation, response, answer):
        documented = {name.lower(): node
                      for name, node in {**operation.headers_of_any, **response.get("headers", {})}.items()}
        for name, value in answer.headers.items():
            if name in OF_HTTP:
                continue
            require(name in documented, f"the header {name} is not documented")
            self._validate(value, documented[name]["schema"], f"header {name}")
        for name, node in documented.items():
            require(not node.get("required") or name in answer.headers, f"the header {name} is missing")

    def _check_body(self, operation, response, answer, is_head):
        content = response.get("content")
        if not content:
            return require(not answer.body, "the answer has a body; the document has none")
        kind = answer.headers.get("content-type")
        require(kind in content, f"the content type {kind} is not documented")
        if is_head or not kind.endswith("json"):
            return None
        return self._validate(parsed(answer.body, {"application/json"}), content[kind]["schema"], "answer")

    def _check_query(self, operation, query):
        known = operation.parameters_in("query")
        is_open = any(one["schema"].get("type") == "object" for one in known.values())
        for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
            require(is_open or name in known, f"the query parameter {name} was accepted and is not documented")
            if name in known and value:
                self._validate(value, known[name]["schema"], f"query parameter {name}")

    def _check_request(self, operation, body):
        content = operation.request_content()
        if not content:
            return
        require(body, "was accepted without a body")
        self._validate(parsed(body, content), content["application/json"]["schema"], "accepted request")

    def _validate(self, value, schema, what):
        """Texts of headers and queries stand for numbers where the schema asks for one."""
        if schema.get("type") == "integer" and isinstance(value, str) and value.lstrip("-").isdigit():
            value = int(value)
        # The schemas live as long as this, so that their addresses tell them apart.
        validator = self.validators.get(id(schema))
        if not validator:
            validator = self.validators[id(schema)] = jsonschema.Draft202012Validator(schema)
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        require(error is None, error and f"{what}: at {error.json_path}: {error.message:.1000}")


def require(condition, message):
    if not condition:
        raise Breach(message)


def parsed(body, content):
    """A JSON body, or a YAML one where the document allows that."""
    text = body.decode() if isinstance(body, bytes) else body
    try:
        return json.loads(text)
    except ValueError as error:
        require("application/yaml" in content, f"is no JSON: {error}")
        return yaml.load(text, yaml.CSafeLoader)


def resolved(node, document):
    """The node with every $ref replaced by its target. (No schema of ours contains itself.)"""
    if isinstance(node, list):
        return [resolved(item, document) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return resolved(target_of(node["$ref"], document), document)
    return {key: resolved(value, document) for key, value in node.items()}


def target_of(reference, document):
    node = document
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node
