//! An agent that listens, a run on it, and what strangers can do to it meanwhile: nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "listen/lab.rs"]
mod lab;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lab::{Lab, certificates, listening};

/// What a stranger says, and never more.
fn knock(lab: &Lab, bytes: &[u8]) {
    let mut stream = TcpStream::connect(lab.address()).unwrap();
    stream.set_read_timeout(Some(lab::LIMIT)).unwrap();
    // It may be thrown out before all of it is said.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer);
    assert!(!end.is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock), "it is still open");
    // At most an alert of TLS: 7 bytes.
    assert!(answer.len() <= 7, "a stranger was answered: {answer:?}");
}

#[test]
fn strangers_do_not_stop_a_run() {
    let lab = Lab::new();
    let mut run = lab.start_run(3600);
    run.wait_for_rows(2);

    // Somebody without a certificate, plain text, noise.
    assert!(lab::without_certificate(lab.address()).contains("CertificateRequired"));
    knock(&lab, b"GET / HTTP/1.1\r\n\r\n");
    knock(&lab, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    for seed in 1..20u64 {
        // A generator that is good enough for noise: Knuth's.
        let next = |x: &mut u64| {
            *x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some((*x >> 56) as u8)
        };
        let mut state = seed;
        knock(&lab, &std::iter::from_fn(|| next(&mut state)).take(10_000).collect::<Vec<u8>>());
    }
    run.wait_for_rows(1);

    // A master of another fleet.
    let other = certificates();
    let (status, text) = lab.second_run(other.path());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("it was issued by another CA (Brunt CA "), "{text}");

    // A second master of the same fleet.
    let (status, text) = lab.second_run(lab.certificates());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("this agent serves another master: "), "{text}");
    run.wait_for_rows(1);

    // 200 connections that say nothing, or half of something, until they are thrown out.
    let mut open: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(lab.address()).unwrap()).collect();
    for (n, stream) in open.iter_mut().enumerate() {
        stream.set_read_timeout(Some(lab::LIMIT)).unwrap();
        // The beginning of a record of TLS.
        let _ = stream.write_all(&[22, 3, 1, 2, 0, 1][..n % 7]);
    }
    run.wait_for_rows(2);
    for mut stream in open {
        let end = stream.read(&mut [0]).map_err(|e| e.kind());
        assert!(matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{end:?}");
    }
    run.wait_for_rows(2);

    // One port of the agent, none of the master's.
    assert_eq!(listening(lab.agent()), [lab.address().port()]);
    assert!(listening(run.process()).is_empty());

    // No interval is missing, and none was empty.
    run.interrupt();

    // The agent serves the next one.
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    let log = lab.end();
    for why in ["it showed no certificate", "it does not speak TLS", "it refused this agent's certificate"] {
        assert!(log.contains(why), "{why}: {log}");
    }
}

/// Whoever is thrown out comes again.
#[test]
#[ignore = "slow: 60 s; .ci/run runs it"]
fn two_hundred_connections_that_stay_half_open_for_a_minute_do_not_stop_a_run() {
    const MINUTE: Duration = Duration::from_secs(60);
    let lab = Lab::new();
    let mut run = lab.start_run(3600);
    run.wait_for_rows(2);
    let half = |n: usize| {
        let mut stream = TcpStream::connect(lab.address()).unwrap();
        let _ = stream.write_all(&[22, 3, 1, 2, 0, 1][..n % 7]);
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let mut open: Vec<TcpStream> = (0..200).map(half).collect();
    let (from, mut rows, mut thrown_out) = (Instant::now(), 0, 0);
    while from.elapsed() < MINUTE {
        run.wait_for_rows(1);
        rows += 1;
        for (n, stream) in open.iter_mut().enumerate() {
            match stream.read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => {
                    thrown_out += 1;
                    *stream = half(n);
                }
                Ok(_) => panic!("a stranger was answered"),
            }
        }
    }
    assert!(rows >= 57, "{rows} rows in {:?}", from.elapsed());
    assert!(thrown_out >= 200, "{thrown_out} were thrown out: each has 10 s");
    drop(open);
    run.interrupt();
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end();
}

#[test]
fn a_master_that_is_killed_is_followed_by_another() {
    let lab = Lab::new();
    let mut run = lab.start_run(6);
    run.wait_for_rows(2);
    run.kill();
    let (status, text, events) = lab.attach();
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("note: the master was killed; process "), "{text}");
    for interval in 1..=6 {
        assert_eq!(events.matches(&format!("\"run\":0,\"interval\":{interval},")).count(), 1, "{events}");
    }
    // The agent is free again.
    let (status, text) = lab.short_run();
    assert_eq!(status, Some(0), "{text}");
    lab.end();
}

#[test]
fn what_is_missing_is_told_with_its_cure() {
    let lab = Lab::new();
    let none = tempfile::tempdir().unwrap();
    let (status, text) = lab.second_run(none.path());
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("brunt certs init, brunt certs issue --master"), "{text}");
    // Nothing listens there any more.
    let certificates = lab.certificates().to_owned();
    let (status, text) = lab.without_agent(&certificates);
    assert_eq!(status, Some(4), "{text}");
    assert!(text.contains("nothing listens at 127.0.0.1:"), "{text}");
}
