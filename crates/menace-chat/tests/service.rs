//! Over the real protocol, against a service on the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use menace_chat::{Chat, ChatError};

/// What a service was asked: its first line and headers, and its body.
type ReceivedRequest = (String, String);

/// A service that gives these answers, one per connection.
fn service(answers: Vec<(u16, String)>) -> (String, Receiver<ReceivedRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).expect("a line"), 0, "an early end");
            }
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .unwrap_or(0);
            let mut text = vec![0; length];
            reader.read_exact(&mut text).expect("a body");
            // Not every test asks what was asked.
            let _ = sender.send((head, String::from_utf8(text).expect("text")));
            let answer = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            reader.get_mut().write_all(answer.as_bytes()).expect("an answer");
        }
    });
    (address, asked)
}

fn said(text: &str) -> (u16, String) {
    let body =
        serde_json::json!({"choices": [{"message": {"role": "assistant", "content": text}}]});
    (200, body.to_string())
}

fn chat(address: &str) -> Chat {
    Chat::new(address, Some("sesame"), "parrot").with_first_pause(Duration::from_millis(1))
}

#[test]
fn a_question_is_answered() {
    let (address, asked) = service(vec![said("[1]")]);
    assert_eq!(chat(&address).complete("hello").expect("an answer"), "[1]");
    let (head, body) = asked.recv().expect("a question");
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer sesame"), "{head}");
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body["model"], "parrot");
    assert_eq!(body["messages"][0]["content"], "hello");
}

#[test]
fn an_overloaded_service_is_asked_again() {
    let busy = (429, r#"{"error": {"message": "slowly"}}"#.to_owned());
    let (address, asked) = service(vec![busy.clone(), (503, String::new()), said("done")]);
    assert_eq!(chat(&address).complete("x").expect("an answer"), "done");
    assert_eq!(asked.iter().count(), 3);
    let (address, _) = service(vec![busy.clone(), busy.clone(), busy]);
    let error = chat(&address).complete("x").expect_err("still busy").to_string();
    assert!(error.ends_with("answered 429: slowly"), "{error}");
}

#[test]
fn a_refused_key_is_named_and_not_tried_again() {
    let (address, asked) = service(vec![(401, String::new())]);
    let error = chat(&address).complete("x").expect_err("no key");
    assert!(matches!(error, ChatError::Key { status: 401, .. }), "{error}");
    assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    assert_eq!(asked.iter().count(), 1);
}

#[test]
fn nonsense_is_an_error() {
    for body in ["<html>", "{}", r#"{"choices": []}"#] {
        let (address, _) = service(vec![(200, body.to_owned())]);
        let error = chat(&address).complete("x").expect_err("nonsense");
        assert!(matches!(error, ChatError::Answer { .. }), "{error}");
    }
}

#[test]
fn a_service_that_does_not_answer_is_an_error() {
    let error = chat("http://127.0.0.1:1/v1").complete("x").expect_err("no service");
    assert!(error.to_string().contains("OPENAI_BASE_URL"), "{error}");
}
