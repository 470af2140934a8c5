//! Layouts as the connector writes them.

use serde_json::{Value, json};

use crate::error::ClientErrorKind;
use crate::worker::EngineLayout;

fn layout() -> Value {
    json!({"hash_bytes": 32, "groups": [{"group": 0, "num_blocks": 8, "layers": [
        {"name": "model.layers.0", "base_address": 4096, "block_stride": 64, "segments": [[0, 32], [32, 16]]},
        {"name": "model.layers.1", "base_address": 8192, "block_stride": 64, "segments": [[0, 64]]}]}]})
}

#[test]
fn a_layout_says_how_long_its_hashes_are() {
    assert_eq!(
        EngineLayout::from_json(&layout().to_string())
            .unwrap()
            .hash_bytes(),
        32
    );
}

#[test]
fn a_layout_that_cannot_be_is_a_mistake_in_the_configuration_and_named() {
    let broken: [(&str, Value, &str); 7] = [
        ("/hash_bytes", json!(33), "33"),
        ("/hash_bytes", json!("32"), "expected u32"),
        ("/groups", json!([]), "no groups"),
        ("/groups/0/num_blocks", json!(0), "0 blocks"),
        ("/groups/0/layers/1/segments", json!([]), "model.layers.1"),
        ("/groups/0/layers/1/base_address", json!(4097), "model.layers.1"),
        ("/groups/0/layers/0/segments/1", json!([32]), "tuple of size 2"),
    ];
    for (place, value, named) in broken {
        let mut changed = layout();
        *changed.pointer_mut(place).unwrap() = value;
        let error = EngineLayout::from_json(&changed.to_string()).unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Config);
        assert!(error.message().contains(named), "{place}: {error}");
    }
    let mut unknown = layout();
    unknown["groups"][0]["colour"] = json!("blue");
    assert!(
        EngineLayout::from_json(&unknown.to_string())
            .unwrap_err()
            .message()
            .contains("colour")
    );
    assert_eq!(
        EngineLayout::from_json("{").unwrap_err().kind(),
        ClientErrorKind::Config
    );
}

#[test]
fn memory_of_an_unknown_kind_is_named() {
    let mut changed = layout();
    changed["memory"] = json!("tpu");
    let error = EngineLayout::from_json(&changed.to_string()).unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Config);
    assert!(error.message().contains("tpu"), "{error}");
}

#[test]
fn addresses_that_are_on_no_gpu_cannot_be_exported() {
    let mut changed = layout();
    changed["memory"] = json!("cuda");
    let error = EngineLayout::from_json(&changed.to_string()).unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Config);
}
