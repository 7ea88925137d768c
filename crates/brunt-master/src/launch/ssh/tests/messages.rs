//! Every way to fail has a sentence with its cure (`docs/fleet.md`, "Every message with its cure").

use super::*;

fn never(text: &str) -> DialError {
    DialError::Never(format!("ssh bench@db7: {text}"))
}

fn not_now(text: &str) -> DialError {
    DialError::NotNow(format!("ssh bench@db7: {text}"))
}

/// What a fake ssh writes to standard error before it ends like ssh.
async fn said(lines: &str) -> DialError {
    Bench::new(&format!("cat >&2 <<'END'\n{lines}\nEND\nexit 255\n")).fails(Purpose::Begin).await
}

#[tokio::test]
async fn a_network_that_is_down_may_be_up_later() {
    for (line, expected) in [
        (
            "ssh: connect to host db7 port 22: Connection refused",
            "connect to host db7 port 22: Connection refused; is sshd running there, on this port?",
        ),
        (
            "ssh: connect to host db7 port 22: No route to host",
            "connect to host db7 port 22: No route to host; is the host up, and the network between?",
        ),
        (
            "ssh: connect to host db7 port 22: Connection timed out",
            "connect to host db7 port 22: Connection timed out; is the host up, and does a firewall drop what comes? A host \
             that is only slow: ConnectTimeout in BRUNT_SSH",
        ),
        (
            "Connection timed out during banner exchange\nConnection to 10.0.0.7 port 22 timed out",
            "Connection to 10.0.0.7 port 22 timed out; is the host up, and does a firewall drop what comes? A host that is only \
             slow: ConnectTimeout in BRUNT_SSH",
        ),
        (
            "Timeout, server db7 not responding.",
            "Timeout, server db7 not responding; is the host up, and the network between?",
        ),
        (
            "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.7 port 22",
            "kex_exchange_identification: read: Connection reset by peer; sshd there, or what stands before it, closed the \
             connection: too many logins at once (MaxStartups), or load",
        ),
        (
            "ssh: Could not resolve hostname db7: Temporary failure in name resolution",
            "Could not resolve hostname db7: Temporary failure in name resolution; look at the name service of this machine",
        ),
        (
            "channel 0: open failed: connect failed: No route to host\nstdio forwarding failed\nConnection closed by UNKNOWN \
             port 65535",
            "channel 0: open failed: connect failed: No route to host; is the host up, and the network between?",
        ),
        (
            "/bin/sh: 1: exec: nosuch: not found\nkex_exchange_identification: Connection closed by remote host\nConnection \
             closed by UNKNOWN port 65535",
            "what ssh goes through ended before there was a connection: /bin/sh: 1: exec: nosuch: not found; look at \
             ProxyCommand and ProxyJump in ~/.ssh/config and BRUNT_SSH",
        ),
        (
            "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535",
            "what ssh goes through ended before there was a connection: it said nothing; look at ProxyCommand and ProxyJump in \
             ~/.ssh/config and BRUNT_SSH",
        ),
        ("something new", "ssh failed: something new; connect once by hand to see why (ssh -v)"),
        ("", "ssh failed without a word; connect once by hand to see why (ssh -v)"),
    ] {
        assert_eq!(said(line).await, not_now(expected));
    }
}

#[tokio::test]
async fn what_must_be_mended_first_is_not_tried_again() {
    for (lines, expected) in [
        (
            "ssh: Could not resolve hostname db7: Name or service not known",
            "Could not resolve hostname db7: Name or service not known; write system= with a name or address that ssh here \
             knows, or add a Host entry to ~/.ssh/config",
        ),
        (
            "ssh: Could not resolve hostname jump: Name or service not known\nkex_exchange_identification: Connection closed by \
             remote host\nConnection closed by UNKNOWN port 65535",
            "what ssh goes through ended before there was a connection: Could not resolve hostname jump: Name or service not \
             known; look at ProxyCommand and ProxyJump in ~/.ssh/config and BRUNT_SSH",
        ),
        (
            "command-line line 0: no argument after keyword \"proxycommand\"",
            "command-line line 0: no argument after keyword \"proxycommand\"; mend BRUNT_SSH: it is divided at blanks, and \
             quotes are none",
        ),
        (
            "bench@db7: Permission denied (publickey,password).",
            "bench@db7: Permission denied (publickey,password); put your key there for that user (ssh-copy-id), load it into \
             the agent, or name another user with user=",
        ),
        (
            "Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.7 port 22",
            "Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures; name the right key with \
             IdentityFile and IdentitiesOnly in ~/.ssh/config",
        ),
        (
            "/root/.ssh/config: line 3: Bad configuration option: hostnme\n/root/.ssh/config: terminating, 1 bad configuration \
             options",
            "/root/.ssh/config: line 3: Bad configuration option: hostnme; mend the configuration of ssh",
        ),
        (
            "No ED25519 host key is known for db7 and you have requested strict checking.\nHost key verification failed.",
            "the key of the host is not known: No ED25519 host key is known for db7 and you have requested strict checking; \
             connect once by hand to check and accept it, or put it into ~/.ssh/known_hosts (ssh-keyscan)",
        ),
        (
            "Host key verification failed.",
            "the key of host db7 is not known; connect once by hand to check and accept it, or put it into \
             ~/.ssh/known_hosts (ssh-keyscan)",
        ),
        (
            "Unable to negotiate with 10.0.0.7 port 22: no matching host key type found. Their offer: ssh-rsa",
            "Unable to negotiate with 10.0.0.7 port 22: no matching host key type found. Their offer: ssh-rsa; allow what the \
             host offers in ~/.ssh/config, or renew its sshd",
        ),
    ] {
        assert_eq!(said(lines).await, never(expected));
    }
}

#[tokio::test]
async fn another_host_key_is_named_with_file_and_line() {
    let lines = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n\
         @    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n\
         @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n\
         IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n\
         Please contact your system administrator.\n\
         Add correct host key in /root/.ssh/known_hosts to get rid of this message.\n\
         Offending ED25519 key in /root/.ssh/known_hosts:3\n\
         Host key for db7 has changed and you have requested strict checking.\n\
         Host key verification failed.";
    let expected = never(
        "the key of the host is not the one that is known: Offending ED25519 key in /root/.ssh/known_hosts:3; if the host was \
         installed anew, remove that line (ssh-keygen -R), else somebody may be in between",
    );
    assert_eq!(said(lines).await, expected);
    // Also when it was reached before: somebody in between must not get the token.
    let bench = Bench::new(&format!("cat >&2 <<'END'\n{lines}\nEND\nexit 255\n"));
    assert_eq!(bench.fails(Purpose::Attach { token: "secret".to_owned() }).await, expected);
}

#[tokio::test]
async fn a_host_that_was_there_is_tried_again() {
    let denied = "echo 'bench@db7: Permission denied (publickey).' >&2; exit 255";
    let error = Bench::new(denied).fails(Purpose::Attach { token: "secret".to_owned() }).await;
    assert!(matches!(error, DialError::NotNow(_)), "{error:?}");
}

#[tokio::test]
async fn without_a_shell_its_words_are_shown() {
    let nologin = "echo; echo 'This account is currently not available.'; exit 1";
    let (result, log) = Bench::new(nologin).dial(Purpose::Begin).await;
    let expected = "no shell there (exit status 1): This account is currently not available.; the account needs a login shell \
         that runs /bin/sh";
    assert_eq!(result.map(|_| ()).unwrap_err(), never(expected));
    assert_eq!(log, ["", "This account is currently not available."]);
}

#[tokio::test]
async fn an_ssh_that_was_killed_here_is_no_fault_of_the_host() {
    let expected =
        not_now("ssh was killed by signal 9 on this machine; look who did that, and whether memory was short (dmesg)");
    // At the login, while the script runs, and when the agent should be there.
    for ssh in ["kill -9 $$", "head -n 1 >/dev/null; echo Welcome; kill -9 $$"] {
        assert_eq!(Bench::new(ssh).fails(Purpose::Begin).await, expected);
    }
    let mut bench = Bench::with_shell("/bin/sh", "");
    bench.offer("#!/bin/sh\ncase $1 in agent) kill -9 $$;; build) ;; *) echo brunt 0;; esac\n");
    assert_eq!(bench.fails(Purpose::Attach { token: "secret".to_owned() }).await, expected);
}

#[tokio::test]
async fn a_message_has_the_beginning_of_a_long_line() {
    let ends = "head -c 9000 /dev/zero | tr '\\0' x; echo; exit 1";
    let text = Bench::new(ends).fails(Purpose::Begin).await.to_string();
    assert!(text.contains("xxx…; the account needs a login shell") && text.len() < 600, "{text}");
}

#[tokio::test]
async fn without_ssh_the_package_is_named() {
    let mut bench = Bench::new("");
    bench.dial.client = vec!["/nowhere/ssh".to_owned()];
    let expected = "`/nowhere/ssh` cannot be run: No such file or directory (os error 2); install OpenSSH's client, or say in \
         BRUNT_SSH how ssh is called";
    assert_eq!(bench.fails(Purpose::Begin).await, never(expected));
}

#[tokio::test(start_paused = true)]
async fn silence_has_an_end() {
    // Time that only passes when nothing else can: the fake has ended with its answer long before.
    let bench = Bench::new("echo Welcome; exec sleep 1000");
    let error = bench.fails(Purpose::Begin).await;
    let text = error.to_string();
    assert!(matches!(error, DialError::NotNow(_)), "{error:?}");
    assert!(text.starts_with("ssh bench@db7: no shell has answered for 60 s"), "{text}");
}

#[tokio::test]
async fn a_refused_sudo_is_one_sentence() {
    for (words, shown) in [
        ("echo 'sudo: a password is required' >&2", "sudo: a password is required"),
        (
            "echo 'Sorry, user bench is not allowed to execute /x/brunt as root on db7.' >&2",
            "Sorry, user bench is not allowed to execute /x/brunt as root on db7.",
        ),
    ] {
        let mut bench = Bench::with_shell("/bin/sh", "");
        std::fs::write(bench.path("sudo"), format!("{words}\nexit 1\n")).unwrap();
        bench.dial.host.privileges = vec!["/bin/sh".to_owned(), bench.path("sudo").to_str().unwrap().to_owned()];
        let asked = bench.dial.host.privileges.join(" ");
        let expected = format!(
            "`{asked}` was refused there: {shown}; allow it without a password (NOPASSWD in sudoers), or leave \
             misc=(become=…) out"
        );
        assert_eq!(bench.fails(Purpose::Begin).await, never(&expected));
    }
    let mut bench = Bench::with_shell("/bin/sh", "");
    bench.dial.host.privileges = vec!["nosuchsudo".to_owned(), "-n".to_owned()];
    let text = bench.fails(Purpose::Begin).await.to_string();
    assert!(text.contains("`nosuchsudo -n` was refused there: ") && text.contains("not found"), "{text}");
}

#[tokio::test]
async fn an_agent_that_ends_says_why() {
    let mut bench = Bench::with_shell("/bin/sh", "");
    let ends = |words: &str| format!("#!/bin/sh\ncase $1 in agent) {words};; build) ;; *) echo brunt 0;; esac\n");
    for (words, begin, attach) in [
        (
            "echo 'error: no threads' >&2; exit 4",
            never("the agent ended before it was ready: no threads"),
            never("no threads"),
        ),
        (
            "echo dead >&2; exit 9",
            never(
                "the agent ended before it was ready (exit status 9): dead; look for limits of the login shell (ulimit \
                 -a) and for lack of memory",
            ),
            not_now(
                "the agent ended before it was ready (exit status 9): dead; look for limits of the login shell (ulimit \
                 -a) and for lack of memory",
            ),
        ),
        (
            "exit 255",
            not_now(
                "the connection, or what ran there, ended without a word; look for limits of the login shell (ulimit -a) and \
                 for lack of memory",
            ),
            not_now(
                "the connection, or what ran there, ended without a word; look for limits of the login shell (ulimit -a) and \
                 for lack of memory",
            ),
        ),
    ] {
        bench.offer(&ends(words));
        assert_eq!(bench.fails(Purpose::Begin).await, begin);
        assert_eq!(bench.fails(Purpose::Attach { token: "secret".to_owned() }).await, attach);
    }
}
