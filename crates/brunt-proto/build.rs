//! Compiles `proto/` without protoc.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // Asked for when it runs: `target/` may be shared by clones, or have moved with one.
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets CARGO_MANIFEST_DIR")?);
    let root = here.join("../../proto");
    let file = root.join("brunt/v1/agent.proto");
    println!("cargo::rerun-if-changed={}", file.display());
    let descriptors = protox::compile([&file], [&root])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
