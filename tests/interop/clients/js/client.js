// A client of Sluice in grpc-js. docs/interop.md has the cases; tests/interop/cases.py says what must come of them.
//
//   node client.js MODE ADDRESS API [CA]
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [mode, address, api, ca] = process.argv.slice(2);
const patience = () => ({ deadline: Date.now() + 120_000 });

function load() {
  const files = ["sluice/v1/rate_limiter.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto"];
  const options = { includeDirs: [api], keepCase: true, longs: Number, defaults: true };
  return grpc.loadPackageDefinition(loader.loadSync(files, options));
}

function report(name, code, text) {
  console.log(JSON.stringify({ case: name, code, text }));
}

// The message, and what can be read of its details.
function errorText(error) {
  const details = error.metadata ? Buffer.concat(error.metadata.get("grpc-status-details-bin")) : Buffer.alloc(0);
  return `${error.details} ${details.toString("latin1").replace(/[^ -~]/g, " ")}`;
}

// Resolves to { code, text, answer }, whatever becomes of the call. `started` gets the call itself.
function unary(start, started = () => {}) {
  return new Promise((done) => {
    started(start((error, answer) => done({ code: error ? error.code : 0, text: error ? errorText(error) : "", answer })));
  });
}

// Resolves at the end of a stream; `onMessage` gets each message and the call.
function stream(call, onMessage) {
  return new Promise((done) => {
    call.on("data", (message) => onMessage(message, call));
    call.on("error", (error) => done({ code: error.code, text: error.details }));
    call.on("end", () => done({ code: 0, text: "" }));
  });
}

const one = (key) => ({ policy_id: "p", dimensions: { key } });

class Client {
  constructor(credentials = grpc.credentials.createInsecure(), options = {}) {
    const { sluice, grpc: standard } = load();
    const own = { "grpc.use_local_subchannel_pool": 1, ...options };
    this.channel = new grpc.Channel(address, credentials, own);
    const shared = { channelOverride: this.channel };
    this.limiter = new sluice.v1.RateLimiter(address, credentials, shared);
    this.health = new standard.health.v1.Health(address, credentials, shared);
    this.reflection = new standard.reflection.v1.ServerReflection(address, credentials, shared);
  }

  close() {
    this.channel.close();
  }

  async check(name, request, { metadata = new grpc.Metadata(), options = patience(), started } = {}) {
    const end = await unary((done) => this.limiter.CheckAndIncrement(request, metadata, options, done), started);
    report(name, end.code, end.code ? end.text : `${end.answer.allowed} of ${end.answer.limit}`);
  }

  // Sends one message to a path that may take another.
  async send(name, path, type, message) {
    const serialize = load().sluice.v1.RateLimiter.service[type].requestSerialize;
    const start = (done) =>
      this.limiter.makeUnaryRequest(path, serialize, String, message, new grpc.Metadata(), patience(), done);
    const end = await unary(start);
    report(name, end.code, end.text);
  }

  async batch(name) {
    const checks = Array.from({ length: 1000 }, (_, i) => one(`${name}-${i}-${"k".repeat(100)}`));
    const end = await unary((done) => this.limiter.CheckBatch({ checks }, new grpc.Metadata(), patience(), done));
    report(name, end.code, end.code ? end.text : `${end.answer.results.filter((each) => each.allowed).length} allowed`);
  }
}


function withMetadata(bytes) {
  const metadata = new grpc.Metadata();
  metadata.set("x-big", "m".repeat(bytes));
  metadata.set("x-binary-bin", Buffer.from([0, 255]));
  return { metadata };
}

async function streams(client) {
  let count = 0;
  let end = await stream(client.limiter.ListPolicies({}, patience()), () => ++count);
  report("server stream", end.code, end.code ? end.text : `${count} policies`);

  count = 0;
  const talk = client.reflection.ServerReflectionInfo(patience());
  talk.write({ list_services: "" });
  end = await stream(talk, () => (++count < 3 ? talk.write({ list_services: "" }) : talk.end()));
  report("both stream", end.code, end.code ? end.text : `${count} answers`);

  end = await stream(client.health.Watch({}, { deadline: Date.now() + 300 }), () => {});
  report("deadline", end.code, end.text);
}

async function calls() {
  const client = new Client();
  await client.check("unary", one("unary"));
  await client.batch("large message");
  await streams(client);
  await client.check("not found", { policy_id: "nobody" });
  await client.check("invalid argument", { policy_id: "p", cost: -1 });
  await client.send("unknown method", "/sluice.v1.RateLimiter/Nothing", "CheckAndIncrement", one("x"));
  await client.send("unknown service", "/nobody.v1.Nothing/At", "CheckAndIncrement", one("x"));
  // To a server, field 2 is an entry of a map; this one claims more bytes than there are.
  const policy = { document: "\n\x7f" };
  await client.send("malformed message", "/sluice.v1.RateLimiter/CheckAndIncrement", "ConfigurePolicy", policy);
  await client.check("too large", { resource: "a".repeat(2 << 20) });
  await client.check("big metadata", one("big"), withMetadata(12 << 10));
  await client.check("too big metadata", one("big"), withMetadata(64 << 10));
  await client.check("after it", one("after"));
  client.close();
  // grpc-js compresses by channel: 2 is gzip.
  const packing = new Client(undefined, { "grpc.default_compression_algorithm": 2 });
  await packing.batch("gzip");
  await packing.check("gzip bomb", { resource: "a".repeat(8 << 20) });
  packing.close();
}

async function slow() {
  const client = new Client();
  const end = await stream(client.health.Watch({}, patience()), (_, call) => call.cancel());
  report("cancelled stream", end.code, end.text);
  await client.check("cancelled call", one("cancel"), { started: (call) => setTimeout(() => call.cancel(), 300) });
  await client.check("deadline", one("deadline"), { options: { deadline: Date.now() + 300 } });
  await client.check("after both", one("after"));
  client.close();
}

async function tls() {
  const named = { "grpc.ssl_target_name_override": "localhost" };
  const client = new Client(grpc.credentials.createSsl(fs.readFileSync(ca)), named);
  await client.check("tls", one("tls"));
  client.close();
  const stranger = new Client(grpc.credentials.createSsl(), named);
  await stranger.check("tls, unknown authority", one("tls"));
  stranger.close();
}

// Keeps eight calls under way until one fails, and tells how each ended.
async function drain() {
  const client = new Client();
  await client.check("before the drain", one("load"));
  const counts = {};
  const work = async () => {
    for (let code = 0; code === 0; ) {
      ({ code } = await unary((done) => client.limiter.CheckAndIncrement(one("load"), patience(), done)));
      counts[code] = (counts[code] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  report("drain", 0, JSON.stringify(counts));
  client.close();
}

async function idle() {
  const client = new Client(undefined, {
    "grpc.keepalive_time_ms": 10_000, "grpc.keepalive_timeout_ms": 10_000, "grpc.keepalive_permit_without_calls": 1,
  });
  await client.check("before the pings", one("idle"));
  await sleep(25_000);
  await client.check("after the pings", one("idle"));
  client.close();
}

await { calls, slow, tls, drain, idle }[mode]();
