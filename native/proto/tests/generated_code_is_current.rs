//! The committed code is what the schema generates.
//!
//! `PEGAFLOW_WRITE_PROTO=1 cargo test -p pegaflow-proto` writes it anew.

use std::{env, fs, path::Path};

#[test]
fn generated_code_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = protox::compile(["pegaflow/v1/engine.proto", "pegaflow/v1/control.proto"], [root])
        .expect("the schema compiles");
    let out = tempfile::tempdir().expect("a temporary directory");
    tonic_prost_build::configure()
        .bytes(".pegaflow.v1")
        .out_dir(out.path())
        .compile_fds(schema)
        .expect("the schema generates code");
    let generated = fs::read_to_string(out.path().join("pegaflow.v1.rs")).expect("the generated code");

    let committed_path = root.join("src/v1.rs");
    if env::var_os("PEGAFLOW_WRITE_PROTO").is_some() {
        fs::write(&committed_path, &generated).expect("src/v1.rs is writable");
    }
    let committed = fs::read_to_string(&committed_path).expect("src/v1.rs");
    assert!(
        committed == generated,
        "src/v1.rs is not what the schema generates: run PEGAFLOW_WRITE_PROTO=1 cargo test -p pegaflow-proto"
    );
}
