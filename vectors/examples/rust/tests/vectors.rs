//! Reads the handshake vectors with Cargo's own test framework.
//!
//! kafka-protocol decodes responses.json: what a table or a refusal lists must be what the vector says. A malformed
//! response must neither panic nor abort, so each is read in a process of its own; one that is read all the same is
//! noted. VECTORS names the folder of the vectors, and RESULTS a file for `kafka-conformance vectors check`.

use bytes::{Buf, Bytes};
use kafka_protocol::messages::{ApiVersionsResponse, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Message};
use serde_json::{json, Value};
use std::process::{exit, Command};
use std::{collections::BTreeMap, env, fs, path::Path};

const UNSUPPORTED_VERSION: i64 = 35;
const ONLY: &str = "ONLY"; // The id of the vector that a child process reads.
const NOTED: &str = "noted: ";

type Ranges = BTreeMap<i64, Vec<(i64, i64)>>;

fn load(name: &str) -> Value {
    let folder = env::var("VECTORS").expect("VECTORS names the folder of the vectors");
    let text = fs::read_to_string(Path::new(&folder).join(name)).expect(name);
    serde_json::from_str(&text).expect(name)
}

/// Reads hexadecimal in which spaces mean nothing, and 61*300 stands for 300 times the byte 61.
fn unhex(text: &str) -> Vec<u8> {
    let mut data = Vec::new();
    for part in text.split_whitespace() {
        let (digits, times) = part.split_once('*').unwrap_or((part, "1"));
        let pairs = (0..digits.len()).step_by(2);
        let unit: Vec<u8> = pairs
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
        data.extend(unit.repeat(times.parse().unwrap()));
    }
    data
}

/// Decodes a frame. A refusal is always in the layout of v0.
fn read(frame: Vec<u8>, vector: &Value) -> Result<ApiVersionsResponse, String> {
    let mut data = Bytes::from(frame);
    if data.len() < 8 || data.get_i32() as usize != data.len() {
        return Err("the size is not that of the frame".into());
    }
    let header = ResponseHeader::decode(&mut data, 0).map_err(|error| error.to_string())?;
    if i64::from(header.correlation_id) != vector["correlation_id"].as_i64().unwrap() {
        return Err("another correlation id".into());
    }
    let is_refusal = data.len() >= 2 && i64::from(i16::from_be_bytes([data[0], data[1]])) == UNSUPPORTED_VERSION;
    let version = if is_refusal {
        0
    } else {
        vector["request_version"].as_i64().unwrap() as i16
    };
    let decoded = ApiVersionsResponse::decode(&mut data, version).map_err(|error| error.to_string())?;
    if data.has_remaining() {
        return Err(format!("{} bytes are left", data.remaining()));
    }
    Ok(decoded)
}

/// Returns the ranges by API key, because the order of the keys means nothing.
fn ranges(entries: impl Iterator<Item = (i64, i64, i64)>) -> Ranges {
    let mut grouped = Ranges::new();
    for (key, low, high) in entries {
        grouped.entry(key).or_default().push((low, high));
    }
    grouped
}

/// Returns what is noted of a response that is read as it may be, or what is wrong.
fn check(vector: &Value) -> Result<Option<String>, String> {
    let frame = unhex(vector["bytes"].as_str().unwrap());
    let read = read(frame, vector);
    let meaning = vector["meaning"].as_str().unwrap();
    if meaning == "malformed" {
        return Ok(read.ok().map(|decoded| {
            format!(
                "read as if nothing were wrong: error {}, {} entries",
                decoded.error_code,
                decoded.api_keys.len()
            )
        }));
    }
    let error = vector["error_code"].as_i64().unwrap();
    if meaning == "error" {
        // A client need not read the rest of an error.
        return match read {
            Ok(decoded) if i64::from(decoded.error_code) != error => Err(format!("error code {}", decoded.error_code)),
            _ => Ok(None),
        };
    }
    let decoded = read?;
    let listed = decoded
        .api_keys
        .iter()
        .map(|each| (each.api_key.into(), each.min_version.into(), each.max_version.into()));
    let numbers = |entry: &Value| {
        (
            entry[0].as_i64().unwrap(),
            entry[1].as_i64().unwrap(),
            entry[2].as_i64().unwrap(),
        )
    };
    let wanted = ranges(vector["entries"].as_array().into_iter().flatten().map(numbers));
    if i64::from(decoded.error_code) != error {
        return Err(format!("error code {}, not {error}", decoded.error_code));
    }
    let listed = ranges(listed);
    if listed != wanted {
        return Err(format!("it lists {listed:?}, not {wanted:?}"));
    }
    Ok(None)
}

/// Checks a response in a process of its own, because a library may end it.
fn check_apart(vector: &Value) -> Result<Option<String>, String> {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", "one_response_is_read", "--nocapture"])
        .env(ONLY, vector["id"].as_str().unwrap());
    let done = child.env("RUST_BACKTRACE", "0").output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    let noted = printed
        .lines()
        .find_map(|line| line.strip_prefix(NOTED))
        .map(String::from);
    if done.status.success() {
        return Ok(noted);
    }
    let errors = String::from_utf8_lossy(&done.stderr);
    Err(format!(
        "{}: {}",
        done.status,
        errors.lines().find(|line| !line.is_empty()).unwrap_or_default()
    ))
}

#[test]
fn one_response_is_read() {
    let Ok(id) = env::var(ONLY) else { return };
    let file = load("responses.json");
    let vector = file["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["id"] == *id)
        .expect("the vector");
    match check(vector) {
        Ok(noted) => noted.into_iter().for_each(|text| println!("\n{NOTED}{text}")),
        Err(text) => {
            eprintln!("{text}");
            exit(1);
        }
    }
}

#[test]
fn responses_are_read_as_they_are_meant() {
    let version = load("index.json")["version"].clone();
    let (mut lines, mut failures) = (String::new(), Vec::new());
    let file = load("responses.json");
    for vector in file["vectors"].as_array().expect("there are vectors") {
        let is_known = vector["request_version"].as_i64().unwrap() <= i64::from(ApiVersionsResponse::VERSIONS.max);
        let result = match is_known.then(|| check_apart(vector)) {
            None => "skip",
            Some(Ok(noted)) => {
                noted
                    .into_iter()
                    .for_each(|text| println!("{}: {text}\n  {}", vector["id"], vector["bytes"]));
                "pass"
            }
            Some(Err(text)) => {
                failures.push(format!("{}: {text}\n  {}", vector["id"], vector["bytes"]));
                "fail"
            }
        };
        lines += &format!(
            "{}\n",
            json!({"id": vector["id"], "version": version, "result": result})
        );
    }
    if let Ok(path) = env::var("RESULTS") {
        fs::write(path, lines).unwrap();
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
