//! Luns that are missing, too small, twice there or not the same: all of it is told before anything is written.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::Signal;

use crate::host::Host;
use crate::lab::{Lab, shell};

/// A job that writes; `sds` are its lines for SDs.
fn writing(hosts: usize, sds: &str) -> String {
    let hosts: String = (1..=hosts).map(|host| format!("hd=h{host}\n")).collect();
    format!(
        "hd=default,shell=ssh,vdbench=/mnt/bin\n{hosts}{sds}wd=wd1,sd=*,xfersize=4k,rdpct=0,seekpct=100\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n"
    )
}

/// Made of 42s, so that a write would show.
fn filled(host: &Host, name: &str, bytes: usize) -> PathBuf {
    let path = host.path("luns").join(name);
    fs::write(&path, vec![42; bytes]).unwrap();
    path
}

fn assert_untouched(path: &PathBuf) {
    assert!(fs::read(path).unwrap().iter().all(|byte| *byte == 42), "{} was written to", path.display());
}

/// B25: what is wrong on two of three hosts is one list, before any I/O on any of them.
#[test]
fn a_lun_that_is_missing_and_one_that_is_too_small_are_told_before_a_write() {
    let Some(lab) = Lab::of(3) else { return };
    let large = filled(lab.host(1), "a", 8 << 20);
    let small = filled(lab.host(3), "a", 1 << 20);
    let done = lab.brunt("job", &writing(3, "sd=sd1,lun=/mnt/luns/a,range=(0,4m)\n"));
    done.ends_with(4);
    done.says("sd=sd1: lun=/mnt/luns/a does not exist on host=h2 and has no size=");
    done.says("lun=/mnt/luns/a on host=h3");
    done.says("range=(0,4194304) reaches beyond its 1048576 bytes (lun=/mnt/luns/a on host=h3)");
    assert!(!done.said.contains("Starting RD"), "{}", done.said);
    assert_untouched(&large);
    assert_untouched(&small);
    assert!(!lab.host(2).path("luns/a").exists(), "nothing was created");
    for host in lab.hosts() {
        host.await_no_brunts();
    }
}

#[test]
fn who_may_not_write_is_named_with_the_lun() {
    let Some(lab) = Lab::of(2) else { return };
    lab.hosts().iter().for_each(|host| drop(filled(host, "a", 1 << 20)));
    lab.host(1).shell("chown bench /mnt/luns/a");
    let parm = writing(2, "sd=sd1,lun=/mnt/luns/a\n").replace("shell=ssh", "shell=ssh,user=bench");
    lab.host(2).shell("chmod 644 /mnt/luns/a");
    let done = lab.brunt("job", &parm);
    done.ends_with(4);
    done.says("no permission to write");
    done.says("host=h2");
    assert!(!done.said.contains("on host=h1: no permission"), "{}", done.said);
    assert_untouched(&lab.host(1).path("luns/a"));
}

/// Two masters that know nothing of each other, and one lun of one host.
#[test]
fn a_second_master_does_not_write_where_another_one_does() {
    let Some(lab) = Lab::of(1) else { return };
    let path = filled(lab.host(1), "a", 1 << 20);
    filled(lab.host(1), "b", 1 << 20);
    let writes = |lun: &str| writing(1, &format!("sd=sd1,lun=/mnt/luns/{lun},threads=2\n"));
    let long = writes("a").replace("elapsed=2", "elapsed=3600");
    let mut first = lab.start_brunt("first", &format!("misc=(lease=4)\n{long}"));
    first.until_row(1);
    let agent = first.worker(0);

    let refused = lab.brunt("second", &writes("a"));
    refused.ends_with(4);
    refused.says(&format!(
        "lun=/mnt/luns/a on host=h1 is not written: /mnt/luns/a is in use: another execution of Brunt writes to it, with \
         process {agent} as its agent; misc=(allow_in_use=sd1) writes to it all the same"
    ));
    // Nor does another user, who may write to it.
    lab.host(1).shell("chmod 666 /mnt/luns/a");
    let other = lab.brunt("other", &writes("a").replace("shell=ssh", "shell=ssh,user=bench"));
    other.ends_with(4);
    other.says("/mnt/luns/a is in use: another execution of Brunt writes to it");
    // Whoever reads may, as may who writes elsewhere, or insists.
    lab.brunt("reading", &writes("a").replace("rdpct=0", "rdpct=100")).ends_with(0);
    lab.brunt("elsewhere", &writes("b")).ends_with(0);
    let allowed = lab.brunt("allowed", &format!("misc=(allow_in_use=sd1)\n{}", writes("a")));
    allowed.ends_with(0);
    allowed.says("warning: sd=sd1: lun=/mnt/luns/a on host=h1: /mnt/luns/a is in use: another execution of Brunt");

    // Nobody stops the agent but its lease, and until then the lun is in use.
    first.kill();
    lab.brunt("too-early", &writes("a")).ends_with(4);
    lab.host(1).await_no_brunts();
    fs::remove_file(path).unwrap();

    // A file that is not there when the hosts are asked is the first one's from then on.
    let sized = |text: String| text.replace("/mnt/luns/a,", "/mnt/luns/a,size=1m,");
    let mut maker = lab.start_brunt("maker", &sized(long));
    maker.until("Starting RD=rd1");
    maker.until_row(1);
    lab.brunt("taker", &sized(writes("a"))).ends_with(4);
    maker.signal(Signal::SIGINT);
    maker.end().ends_with(130);
    // One behind the other is not kept waiting.
    lab.brunt("behind", &writes("a")).ends_with(0);
}

/// One execution whose hosts are one machine, or that has two workers on each, is not in its own way.
#[test]
fn hosts_of_one_execution_share_a_lun() {
    let Some(lab) = Lab::of(1) else { return };
    filled(lab.host(1), "a", 1 << 20);
    let parm = writing(1, "sd=sd1,lun=/mnt/luns/a,threads=8\n");
    let twice = parm.replace("hd=h1\n", "hd=one,system=h1\nhd=two,system=h1\n").replace("/mnt/bin", "/mnt/bin,jvms=2");
    lab.brunt("job", &twice).ends_with(0);
}

/// A loop device, as a lun that several hosts see by their own names.
struct Device {
    name: String,
    file: PathBuf,
}

impl Device {
    fn new(lab: &Lab, name: &str) -> Option<Self> {
        let file = lab.path(name);
        fs::write(&file, vec![42; 4 << 20]).unwrap();
        match shell(&format!("losetup --find --show {}", file.display())) {
            Ok(said) => Some(Self { name: said.trim().trim_start_matches("/dev/").to_owned(), file }),
            Err(why) => {
                crate::lab::skip(&format!("no loop device here: {}", why.trim()));
                None
            }
        }
    }

    /// Lets a host see it with an identity that holds everywhere, as those of arrays have.
    fn identify(&self, host: &Host, wwid: &str) {
        let there = format!("/sys/devices/virtual/block/{}", self.name);
        let copy = format!("/mnt/{}", self.name);
        // Some attributes cannot be read.
        host.shell(&format!(
            "cp -r --no-preserve=all {there} {copy} 2>/dev/null || true\n\
             echo {wwid} >{copy}/wwid\nmount --bind {copy} {there}"
        ));
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = shell(&format!("losetup --detach /dev/{}", self.name));
    }
}

const ONE: &str = "naa.60050768018087a5b000000000000001";
const TWO: &str = "naa.60050768018087a5b000000000000002";

#[test]
fn two_sds_on_one_device_and_one_sd_on_two_are_told_before_a_write() {
    let Some(lab) = Lab::of(2) else { return };
    let Some(first) = Device::new(&lab, "first") else { return };
    let Some(second) = Device::new(&lab, "second") else { return };
    // The hosts agree on the first; by the second path the second host sees the first as well.
    first.identify(lab.host(1), ONE);
    first.identify(lab.host(2), ONE);
    second.identify(lab.host(1), TWO);
    second.identify(lab.host(2), ONE);
    let (a, b) = (&first.name, &second.name);
    let twice = writing(
        2,
        &format!("sd=default,openflags=o_direct\nsd=sd1,host=h1,lun=/dev/{a}\nsd=sd2,host=h2,lun=/dev/{b}\n"),
    );
    let done = lab.brunt("twice", &twice);
    done.ends_with(4);
    done.says(&format!(
        "sd=sd1 (lun=/dev/{a} on host=h1) and sd=sd2 (lun=/dev/{b} on host=h2) are one device, wwid:{ONE}"
    ));
    let torn = writing(2, &format!("sd=sd1,lun=/dev/{b},openflags=o_direct\n"));
    let done = lab.brunt("torn", &torn);
    done.ends_with(4);
    done.says("sd=sd1 is two devices");
    done.says(&format!("wwid:{TWO}"));
    // The same by one name on both is right, as is its number where the names differ.
    lab.brunt(
        "same",
        &writing(2, &format!("sd=sd1,lun=/dev/{a},openflags=o_direct\n")).replace("rdpct=0", "rdpct=100"),
    )
    .ends_with(0);
    for device in [&first, &second] {
        assert_untouched(&device.file);
    }
}
