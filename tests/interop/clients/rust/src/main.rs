//! A client of Sluice in tonic. docs/interop.md has the cases; tests/interop/cases.py says what must come of them.
//!
//!     client MODE ADDRESS [CA]
use std::collections::BTreeMap;
use std::time::Duration;

use api::rate_limiter_client::RateLimiterClient;
use api::{CheckBatchRequest, CheckRequest, CheckResponse, ListPoliciesRequest, Policy};
use health::health_client::HealthClient;
use reflection::server_reflection_client::ServerReflectionClient;
use reflection::{ServerReflectionRequest, server_reflection_request::MessageRequest};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

mod api {
    tonic::include_proto!("sluice.v1");
}
mod health {
    tonic::include_proto!("grpc.health.v1");
}
mod reflection {
    tonic::include_proto!("grpc.reflection.v1");
}

fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c < ' ' { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The message, and what can be read of its details.
fn error_text(status: &Status) -> String {
    let printable = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte as char } else { ' ' };
    format!("{} {}", status.message(), status.details().iter().map(printable).collect::<String>())
}

fn report(name: &str, end: Result<String, Status>) {
    let (code, text) = match end {
        Ok(text) => (0, text),
        Err(status) => (status.code() as i32, error_text(&status)),
    };
    println!("{{\"case\": {}, \"code\": {code}, \"text\": {}}}", quoted(name), quoted(&text));
}

/// A request with a deadline that no case comes near.
fn patient<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_secs(120));
    request
}

fn one(key: &str) -> CheckRequest {
    let dimensions = [("key".to_string(), key.to_string())].into();
    CheckRequest { policy_id: "p".into(), dimensions, ..Default::default() }
}

fn of_resource(bytes: usize) -> CheckRequest {
    CheckRequest { resource: "a".repeat(bytes), ..Default::default() }
}

type Limiter = RateLimiterClient<Channel>;

async fn check(limiter: &Limiter, request: Request<CheckRequest>) -> Result<String, Status> {
    let answer = limiter.clone().check_and_increment(request).await?.into_inner();
    Ok(format!("{} of {}", answer.allowed, answer.limit))
}

async fn batch(limiter: &Limiter, name: &str) {
    let checks = (0..1000).map(|i| one(&format!("{name}-{i}-{}", "k".repeat(100)))).collect();
    let end = limiter.clone().check_batch(patient(CheckBatchRequest { checks })).await;
    let count = end.map(|answer| answer.into_inner().results.iter().filter(|each| each.allowed).count());
    report(name, count.map(|count| format!("{count} allowed")));
}

async fn list(limiter: &Limiter) -> Result<String, Status> {
    let mut stream = limiter.clone().list_policies(patient(ListPoliciesRequest::default())).await?.into_inner();
    let mut count = 0;
    while stream.message().await?.is_some() {
        count += 1;
    }
    Ok(format!("{count} policies"))
}

async fn talk(channel: &Channel) -> Result<String, Status> {
    let ask = || ServerReflectionRequest {
        message_request: Some(MessageRequest::ListServices(String::new())),
        ..Default::default()
    };
    let (requests, sent) = tokio::sync::mpsc::channel(1);
    requests.send(ask()).await.expect("an open stream");
    let mut requests = Some(requests);
    let mut client = ServerReflectionClient::new(channel.clone());
    let mut stream = client.server_reflection_info(patient(ReceiverStream::new(sent))).await?.into_inner();
    let mut count = 0;
    while stream.message().await?.is_some() {
        count += 1;
        match &requests {
            Some(requests) if count < 3 => requests.send(ask()).await.expect("an open stream"),
            _ => requests = None,
        }
    }
    Ok(format!("{count} answers"))
}

/// In Rust, a call is cancelled by dropping it, so there is no status to be seen.
async fn watch(channel: &Channel) -> Result<String, Status> {
    let mut client = HealthClient::new(channel.clone());
    let mut stream = client.watch(patient(health::HealthCheckRequest::default())).await?.into_inner();
    stream.message().await?;
    drop(stream);
    Ok("dropped".to_string())
}

async fn watch_for_a_while(channel: &Channel) -> Result<String, Status> {
    let mut request = Request::new(health::HealthCheckRequest::default());
    request.set_timeout(Duration::from_millis(300));
    let mut stream = HealthClient::new(channel.clone()).watch(request).await?.into_inner();
    while stream.message().await?.is_some() {}
    Ok(String::new())
}

/// One message to a path that may take another.
async fn send<T: prost::Message + 'static>(
    channel: &Channel,
    path: &'static str,
    message: T,
) -> Result<String, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let codec = tonic_prost::ProstCodec::<T, CheckResponse>::default();
    client.unary(patient(message), path.parse().expect("a path"), codec).await.map(|_| String::new())
}

fn with_metadata(bytes: usize) -> Request<CheckRequest> {
    let mut request = patient(one("big"));
    let metadata: &mut MetadataMap = request.metadata_mut();
    metadata.insert("x-big", "m".repeat(bytes).parse().expect("text"));
    metadata.insert_bin("x-binary-bin", MetadataValue::from_bytes(&[0, 255]));
    request
}

async fn calls(endpoint: Endpoint) {
    let channel = endpoint.connect_lazy();
    let limiter = RateLimiterClient::new(channel.clone());
    report("unary", check(&limiter, patient(one("unary"))).await);
    batch(&limiter, "large message").await;
    report("server stream", list(&limiter).await);
    report("both stream", talk(&channel).await);
    report("deadline", watch_for_a_while(&channel).await);
    let unknown = CheckRequest { policy_id: "nobody".into(), ..Default::default() };
    report("not found", check(&limiter, patient(unknown)).await);
    let below = CheckRequest { policy_id: "p".into(), cost: Some(-1), ..Default::default() };
    report("invalid argument", check(&limiter, patient(below)).await);
    report("unknown method", send(&channel, "/sluice.v1.RateLimiter/Nothing", one("x")).await);
    report("unknown service", send(&channel, "/nobody.v1.Nothing/At", one("x")).await);
    // To a server, field 2 is an entry of a map; this one claims more bytes than there are.
    let policy = Policy { document: "\n\x7f".into(), ..Default::default() };
    report("malformed message", send(&channel, "/sluice.v1.RateLimiter/CheckAndIncrement", policy).await);
    report("too large", check(&limiter, patient(of_resource(2 << 20))).await);
    report("big metadata", check(&limiter, with_metadata(12 << 10)).await);
    report("too big metadata", check(&limiter, with_metadata(64 << 10)).await);
    report("after it", check(&limiter, patient(one("after"))).await);
    let packing = limiter.send_compressed(CompressionEncoding::Gzip).accept_compressed(CompressionEncoding::Gzip);
    batch(&packing, "gzip").await;
    report("gzip bomb", check(&packing, patient(of_resource(8 << 20))).await);
}

async fn slow(endpoint: Endpoint) {
    let channel = endpoint.connect_lazy();
    let limiter = RateLimiterClient::new(channel.clone());
    report("cancelled stream", watch(&channel).await);
    let cancelled = tokio::time::timeout(Duration::from_millis(300), check(&limiter, patient(one("cancel")))).await;
    report("cancelled call", cancelled.unwrap_or(Ok("dropped".to_string())));
    let mut soon = Request::new(one("deadline"));
    soon.set_timeout(Duration::from_millis(300));
    report("deadline", check(&limiter, soon).await);
    report("after both", check(&limiter, patient(one("after"))).await);
}

async fn tls(endpoint: Endpoint, ca: &str) {
    let named = ClientTlsConfig::new().domain_name("localhost");
    let trusting = named.clone().ca_certificate(Certificate::from_pem(std::fs::read(ca).expect("the authority")));
    for (name, config) in [("tls", trusting), ("tls, unknown authority", named)] {
        let channel = endpoint.clone().tls_config(config).expect("a configuration").connect_lazy();
        report(name, check(&RateLimiterClient::new(channel), patient(one("tls"))).await);
    }
}

/// Keeps eight calls under way until one fails, and tells how each ended.
async fn drain(endpoint: Endpoint) {
    let limiter = RateLimiterClient::new(endpoint.connect_lazy());
    report("before the drain", check(&limiter, patient(one("load"))).await);
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let limiter = limiter.clone();
        workers.spawn(async move {
            let mut count = 0;
            loop {
                match check(&limiter, patient(one("load"))).await {
                    Ok(_) => count += 1,
                    Err(status) => return (count, status.code()),
                }
            }
        });
    }
    let mut counts = BTreeMap::new();
    while let Some(Ok((count, code))) = workers.join_next().await {
        *counts.entry(Code::Ok as i32).or_insert(0) += count;
        *counts.entry(code as i32).or_insert(0) += 1;
    }
    let parts: Vec<_> = counts.iter().map(|(code, count)| format!("\"{code}\": {count}")).collect();
    report("drain", Ok(format!("{{{}}}", parts.join(", "))));
}

async fn idle(endpoint: Endpoint) {
    let ten = Duration::from_secs(10);
    let pinging = endpoint.http2_keep_alive_interval(ten).keep_alive_timeout(ten).keep_alive_while_idle(true);
    let limiter = RateLimiterClient::new(pinging.connect_lazy());
    report("before the pings", check(&limiter, patient(one("idle"))).await);
    tokio::time::sleep(Duration::from_secs(25)).await;
    report("after the pings", check(&limiter, patient(one("idle"))).await);
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let scheme = if arguments[1] == "tls" { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{}", arguments[2])).expect("an address");
    match arguments[1].as_str() {
        "calls" => calls(endpoint).await,
        "slow" => slow(endpoint).await,
        "tls" => tls(endpoint, &arguments[3]).await,
        "drain" => drain(endpoint).await,
        "idle" => idle(endpoint).await,
        other => panic!("no mode {other}"),
    }
}
