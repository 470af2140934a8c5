use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use pegaflow_core::error::ErrorKind;

use super::{NAMES, Operation};

/// What the schemas that users read say.
fn schema(name: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join(format!("pegaflow/schemas/{name}.schema.json"));
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn operations(schema: &Value) -> Vec<&Value> {
    schema["oneOf"].as_array().unwrap().iter().collect()
}

fn name_of(operation: &Value) -> &str {
    operation["properties"]["operation"]["const"].as_str().unwrap()
}

/// A value of each field, as the schema has it.
fn example(field: &str) -> Value {
    match field {
        "engine" => json!("engine-1"),
        "namespace" => json!("ab"),
        "quota" | "amount" | "limit" => json!({"percent": 50}),
        "tier" => json!("memory"),
        "from" => json!("ssd"),
        "path" | "directory" => json!("/mnt/a"),
        "order" => json!("frequent"),
        "size_bytes" | "rate_bytes_per_s" => json!(1 << 20),
        "dry_run" | "delete_files" | "evict" => json!(true),
        other => panic!("the schema has a field {other} that this test knows no value of"),
    }
}

#[test]
fn the_daemon_knows_each_operation_of_the_schema_with_each_of_its_fields() {
    let schema = schema("operation");
    for operation in operations(&schema) {
        let fields = operation["properties"].as_object().unwrap().keys();
        let fields = fields.filter(|&field| field != "operation");
        let all: Value = fields.map(|field| (field.clone(), example(field))).collect();
        let read = Operation::of_name(name_of(operation), all.to_string().as_bytes()).unwrap();
        assert_eq!(read.name(), name_of(operation));
    }
}

#[test]
fn the_fields_that_the_schema_requires_are_required() {
    let schema = schema("operation");
    for operation in operations(&schema) {
        let name = name_of(operation);
        let required = operation["required"].as_array().unwrap();
        let required: Vec<_> = required
            .iter()
            .map(|field| field.as_str().unwrap())
            .filter(|&field| field != "operation")
            .collect();
        let without = |left_out: &str| -> Value {
            let others = required.iter().filter(|&&field| field != left_out);
            others
                .map(|field| ((*field).to_owned(), example(field)))
                .collect()
        };
        Operation::of_name(name, without("").to_string().as_bytes()).unwrap();
        for field in &required {
            let refused = Operation::of_name(name, without(field).to_string().as_bytes()).unwrap_err();
            assert!(refused.message().contains(field), "{name}: {refused}");
        }
    }
}

#[test]
fn requests_and_results_have_the_same_names() {
    let (requests, results) = (schema("operation"), schema("operated"));
    let names = |schema| operations(schema).into_iter().map(name_of).collect::<Vec<_>>();
    assert_eq!(names(&requests), names(&results));
    assert_eq!(names(&requests), NAMES);
}

#[test]
fn what_is_no_operation_is_refused_in_plain_words() {
    let unknown = Operation::of_name("warn", b"{}").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(unknown.message().contains("warm"), "{unknown}");
    for (json, said) in [
        ("[]", "is no object"),
        ("3", "is no object"),
        ("nul", "is no JSON"),
        ("{", "is no JSON"),
    ] {
        for refused in [
            Operation::of_name("warm", json.as_bytes()),
            Operation::from_json(json.as_bytes()),
        ] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.message().contains(said), "{json}: {refused}");
        }
    }
}
