// API is the folder with the .proto files.
fn main() -> std::io::Result<()> {
    let api = std::env::var("API").expect("the variable API");
    let protos = ["sluice/v1/rate_limiter", "grpc/health/v1/health", "grpc/reflection/v1/reflection"];
    let files = protos.map(|name| format!("{api}/{name}.proto"));
    println!("cargo:rerun-if-env-changed=API");
    tonic_prost_build::configure().build_server(false).compile_protos(&files, &[api])
}
