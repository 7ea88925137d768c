//! Who gets in at an agent that listens, and who does not: every pair of certificates, and what is no TLS at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "tls/bench.rs"]
mod bench;

use bench::{DAY, Door, Fleet, Shown, connect, dial, knock, show, visits};
use brunt_master::certs::{Role, Validity, Whom};
use brunt_master::dial::{DialError, Purpose};
use brunt_proto::tls::{ConnectError, Identity};
use rustls::{AlertDescription, Error};

/// A client that trusts anybody and shows this certificate: what the agent says of it, and what it tells the client.
async fn refused(door: &mut Door, shown: Shown) -> (String, Error) {
    let told = show(door.address, shown).await.expect_err("it was let in");
    (door.next().await.expect_err("it was let in"), told)
}

#[tokio::test]
async fn the_right_ones_meet() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    // By its label, by its address, and by one of both.
    for names in [&["hosta"][..], &["127.0.0.1"], &["elsewhere", "hosta"]] {
        connect(&fleet, door.address, names).await.unwrap();
        assert_eq!(door.next().await.unwrap(), "Brunt master");
    }
}

#[tokio::test]
async fn without_a_certificate_nobody_gets_in() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    let (why, told) = refused(&mut door, Shown::Nothing).await;
    assert_eq!(why, "it showed no certificate");
    assert!(matches!(told, Error::AlertReceived(AlertDescription::CertificateRequired)), "{told}");
}

#[tokio::test]
async fn another_ca_is_another_fleet() {
    let (fleet, other) = (Fleet::new(), Fleet::new());
    let mut door = Door::open(&fleet).await;
    let (why, told) = refused(&mut door, Shown::of(&other.master)).await;
    let ca = fleet.folder().join("ca.pem");
    let (issuer, ca) = (&other.ca.facts.subject, ca.display());
    assert_eq!(
        why,
        format!("its certificate (Brunt master) is refused: it was issued by another CA ({issuer}) than that of {ca}")
    );
    assert!(matches!(told, Error::AlertReceived(AlertDescription::UnknownCA)), "{told}");

    // The other way: a master does not go to a stranger's agent, and both say so.
    let ConnectError::Refused(text) = connect(&other, door.address, &["hosta"]).await.unwrap_err() else {
        panic!("it is of no use to try again");
    };
    let issuer = &fleet.ca.facts.subject;
    assert!(
        text.contains(&format!("the agent's certificate is refused: it was issued by another CA ({issuer})")),
        "{text}"
    );
    let why = door.next().await.unwrap_err();
    assert!(why.starts_with("it refused this agent's certificate: it was issued by another CA than"), "{why}");

    // A mixture is found by its owner, before anybody else sees it.
    let mut mixed = fleet.master.files.clone();
    mixed.ca = other.folder().join("ca.pem");
    let text = Identity::load(Role::Master, mixed).unwrap_err().to_string();
    assert!(text.contains("it was issued by another CA (Brunt CA "), "{text}");
}

#[tokio::test]
async fn a_certificate_has_its_time() {
    let fleet = Fleet::new();
    let now = Validity::days(std::time::SystemTime::now(), 0).not_after;
    let expired = Validity { not_before: now - 10 * DAY, not_after: now - DAY };
    let early = Validity { not_before: now + DAY, not_after: now + 10 * DAY };
    for (validity, fault) in [(expired, "it has expired on "), (early, "it is valid only from ")] {
        let (master, agent) = (fleet.issue("m", &Whom::Master, validity), fleet.issue_agent("a", validity));
        let mut door = Door::open(&fleet).await;
        let (why, told) = refused(&mut door, Shown::of(&master)).await;
        assert!(why.starts_with(&format!("its certificate (Brunt master) is refused: {fault}")), "{why}");
        assert!(why.contains(" UTC (here it is "), "{why}");
        assert!(matches!(told, Error::AlertReceived(AlertDescription::CertificateExpired)), "{told}");

        let mut stranger = Door::raw(Shown::of(&agent)).await;
        let text = connect(&fleet, stranger.address, &["hosta"]).await.unwrap_err().to_string();
        assert!(text.starts_with(&format!("the agent's certificate is refused: {fault}")), "{text}");
        assert!(text.ends_with("`brunt certs issue --agent hosta` and taken there with its key"), "{text}");
        assert!(stranger.next().await.is_err());

        // Their owners are told first, with the cure.
        let text = Identity::load(Role::Master, master.files).unwrap_err().to_string();
        assert!(text.contains(fault) && text.ends_with("brunt certs issue --master --replace"), "{text}");
        let text = Identity::load(Role::Agent, agent.files).unwrap_err().to_string();
        assert!(text.contains(fault) && text.ends_with("--agent hosta 127.0.0.1 --replace"), "{text}");
    }
}

#[tokio::test]
async fn an_agent_is_no_master_nor_the_other_way_round() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    let (why, told) = refused(&mut door, Shown::of(&fleet.agent)).await;
    assert_eq!(why, "its certificate (Brunt agent hosta) is refused: it is that of an agent, not of a master");
    assert!(matches!(told, Error::AlertReceived(AlertDescription::UnsupportedCertificate)), "{told}");

    let stranger = Door::raw(Shown::of(&fleet.master)).await;
    let text = connect(&fleet, stranger.address, &["hosta"]).await.unwrap_err().to_string();
    assert!(text.starts_with("the agent's certificate is refused: "), "{text}");

    let text = Identity::load(Role::Master, fleet.agent.files.clone()).unwrap_err().to_string();
    assert!(text.contains("it is that of an agent, not of a master"), "{text}");
    let text = Identity::load(Role::Agent, fleet.master.files.clone()).unwrap_err().to_string();
    assert!(text.contains("cannot be used"), "{text}");
}

#[tokio::test]
async fn certificates_are_tried_again_for_a_session_that_goes_on() {
    let (fleet, other) = (Fleet::new(), Fleet::new());
    let now = Validity::days(std::time::SystemTime::now(), 0).not_after;
    let expired = Validity { not_before: now - 10 * DAY, not_after: now - DAY };
    let empty = tempfile::tempdir().unwrap();
    let own = fleet.issue("own", &Whom::Master, expired).files.certificate;
    let (good, doors) = (
        fleet.folder(),
        [
            Door::open(&other).await,
            Door::raw(Shown::of(&fleet.issue_agent("a", expired))).await,
            Door::raw(fleet.odd(vec![])).await,
            Door::plain(b"HTTP/1.1 400 Bad Request\r\n\r\n").await,
        ],
    );
    let mut faults: Vec<_> = doors.iter().map(|door| (good.as_path(), door.address)).collect();
    faults.push((own.parent().unwrap(), doors[0].address));
    for (folder, address) in faults {
        let begun = dial(folder, address, Purpose::Begin).await.unwrap_err();
        assert!(matches!(begun, DialError::Never(_)), "{begun}");
        let attached = dial(folder, address, Purpose::Attach { token: "t".to_owned() }).await.unwrap_err();
        assert_eq!(attached, DialError::NotNow(begun.to_string()));
    }
    // Whoever has no certificates at all is told at once.
    let none = dial(empty.path(), doors[0].address, Purpose::Attach { token: "t".to_owned() }).await.unwrap_err();
    assert!(matches!(none, DialError::Never(_)), "{none}");
}

/// Also for somebody who would rather resume the session before.
#[tokio::test]
async fn each_connection_shows_its_certificate_anew() {
    let fleet = Fleet::new();
    let door = Door::open(&fleet).await;
    let kinds = visits(door.address, Shown::of(&fleet.master), 3).await;
    assert_eq!(kinds, [(Some(rustls::HandshakeKind::Full), 0); 3]);
}

/// Other usages say nothing of roles.
#[tokio::test]
async fn further_usages_give_no_further_role() {
    use rcgen::ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    for more in [CodeSigning, Any] {
        let agent = fleet.odd(vec![ServerAuth, more.clone()]);
        let (why, _) = refused(&mut door, agent.clone()).await;
        assert_eq!(why, "its certificate (odd) is refused: it is that of an agent, not of a master");
        let stranger = Door::raw(agent).await;
        // It is believed; that it does not greet is another matter.
        let error = connect(&fleet, stranger.address, &["hosta"]).await.unwrap_err();
        assert!(matches!(error, ConnectError::Broken(_)), "{error}");

        let master = fleet.odd(vec![ClientAuth, more]);
        show(door.address, master.clone()).await.unwrap();
        let stranger = Door::raw(master).await;
        let text = connect(&fleet, stranger.address, &["hosta"]).await.unwrap_err().to_string();
        assert!(text.starts_with("the agent's certificate is refused: "), "{text}");
        // It went away without a byte.
        assert!(door.next().await.is_err());
    }
}

/// Certificates of the right CA, but made by other tools.
#[tokio::test]
async fn a_certificate_for_everything_is_for_nothing() {
    use rcgen::ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    for usage in [vec![], vec![ClientAuth, ServerAuth], vec![Any]] {
        let shown = fleet.odd(usage.clone());
        let (why, _) = refused(&mut door, shown.clone()).await;
        assert!(why.starts_with("its certificate (odd) is refused: it "), "{usage:?}: {why}");
        let stranger = Door::raw(shown).await;
        let text = connect(&fleet, stranger.address, &["hosta"]).await.unwrap_err().to_string();
        assert!(text.starts_with("the agent's certificate is refused: it "), "{usage:?}: {text}");
    }
}

#[tokio::test]
async fn a_leaf_issues_nothing() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    let (why, _) = refused(&mut door, fleet.forged_by_agent()).await;
    assert!(why.starts_with("its certificate (forged) is refused: "), "{why}");
}

#[tokio::test]
async fn a_name_is_checked() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    let text = connect(&fleet, door.address, &["10.9.9.9", "hostb"]).await.unwrap_err().to_string();
    assert_eq!(
        text,
        "the agent's certificate is refused: it is for hosta, 127.0.0.1; a good one is made by \
         `brunt certs issue --agent 10.9.9.9 hostb` and taken there with its key"
    );
    assert!(door.next().await.is_err());
    let text = connect(&fleet, door.address, &["not a name"]).await.unwrap_err().to_string();
    assert_eq!(text, "no certificate can be for `not a name`");
}

#[tokio::test]
async fn what_is_not_tls_is_not_served() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    // A browser, a gRPC client without TLS, and an old TLS 1.2 greeting without extensions.
    let mut old = vec![22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    old.extend([7; 32]);
    old.extend([0, 0, 2, 0xc0, 0x2f, 1, 0]);
    for (bytes, why) in [
        (&b"GET / HTTP/1.1\r\nHost: hosta\r\n\r\n"[..], "it does not speak TLS"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "it does not speak TLS"),
        (&old, "it does not speak TLS 1.3"),
        (b"", "it went away before it was let in: "),
    ] {
        knock(door.address, bytes).await;
        let refusal = door.next().await.unwrap_err();
        assert!(refusal.starts_with(why), "{refusal}");
    }
    // Behind all that the right one is served.
    connect(&fleet, door.address, &["hosta"]).await.unwrap();
    assert_eq!(door.next().await.unwrap(), "Brunt master");
}

#[tokio::test]
async fn a_master_that_comes_to_something_else_is_told() {
    let fleet = Fleet::new();
    let web = Door::plain(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let text = connect(&fleet, web.address, &["hosta"]).await.unwrap_err().to_string();
    assert_eq!(text, "what answers there does not speak TLS; is it `brunt agent --listen`?");
    let closing = Door::plain(b"").await;
    let error = connect(&fleet, closing.address, &["hosta"]).await.unwrap_err();
    assert!(matches!(error, ConnectError::Broken(_)), "{error}");
}

/// Seeded, so that what fails once fails again.
#[tokio::test]
async fn noise_is_not_served() {
    let fleet = Fleet::new();
    let mut door = Door::open(&fleet).await;
    for seed in 0..50 {
        knock(door.address, &bench::noise(seed, 10_000)).await;
        assert!(door.next().await.is_err(), "seed {seed}");
    }
    // Nearly right: a true first message with a few bytes changed, cut anywhere.
    for seed in 0..300 {
        knock(door.address, &bench::nearly(seed)).await;
        assert!(door.next().await.is_err(), "seed {seed}");
    }
    connect(&fleet, door.address, &["hosta"]).await.unwrap();
    assert_eq!(door.next().await.unwrap(), "Brunt master");
}

#[tokio::test]
async fn a_key_that_is_not_its_own_is_found() {
    let fleet = Fleet::new();
    let mut files = fleet.agent.files.clone();
    files.key = fleet.master.files.key.clone();
    let identity = Identity::load(Role::Agent, files).unwrap();
    let text = brunt_proto::tls::Acceptor::new(identity).unwrap_err();
    assert!(text.contains("do not belong together"), "{text}");
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let fleet = Fleet::new();
    let key = &fleet.agent.files.key;
    for mode in [0o644, 0o640, 0o604, 0o660] {
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(mode)).unwrap();
        let text = Identity::load(Role::Agent, fleet.agent.files.clone()).unwrap_err().to_string();
        let key = key.display();
        assert_eq!(text, format!("others may read the key {key} (mode {mode:03o}); run: chmod 600 {key}"));
    }
}

#[test]
fn a_key_of_another_user_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        assert!(std::env::var_os("BRUNT_TEST_NO_SKIP").is_none(), "must not skip here: root is needed");
        use std::io::Write;
        return writeln!(std::io::stderr(), "skipped: only root can give a file away").unwrap();
    }
    let fleet = Fleet::new();
    let key = &fleet.agent.files.key;
    std::os::unix::fs::chown(key, Some(12_345), None).unwrap();
    let text = Identity::load(Role::Agent, fleet.agent.files.clone()).unwrap_err().to_string();
    let key = key.display();
    assert_eq!(text, format!("the key {key} belongs to user 12345, who may read and change it; run: chown 0 {key}"));
}
