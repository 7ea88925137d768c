//! How hosts are reached, and a job over three of them.

use crate::lab::Lab;

#[test]
fn each_host_is_a_host_of_its_own() {
    let Some(lab) = Lab::of(3) else { return };
    for host in lab.hosts() {
        let said = lab.ssh(&host.name(), "hostname; pwd; cat /proc/sys/kernel/random/boot_id; touch /tmp/was-here").unwrap();
        let expected = format!("{0}\n/root\n00000000-0000-4000-8000-{1:0>12}\n", host.name(), &host.name()[1..]);
        assert_eq!(said, expected);
        assert_eq!(lab.listeners(&host.name()), ["tcp 00000000:0016", "tcp6 00000000000000000000000000000000:0016"]);
    }
    assert_eq!(lab.listeners("m"), [""; 0]);
    assert!(!std::path::Path::new("/tmp/was-here").exists());
    assert!(lab.ssh("bench@h1", "id -un").unwrap().starts_with("bench"));
    lab.cut(lab.host(2));
    let cut = lab.ssh("-oConnectTimeout=1", "h2").unwrap_err();
    assert!(!cut.is_empty());
    lab.mend(lab.host(2));
    assert_eq!(lab.ssh("h2", "echo back").unwrap(), "back\n");
}
