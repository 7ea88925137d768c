//! Plans of made-up hosts.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::told::line;
use super::*;

/// A made-up host: `/proc` and `/sys`.
struct Made {
    root: tempfile::TempDir,
    roots: Roots,
}

impl Made {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = root.path().canonicalize().unwrap();
        let roots = Roots { proc: at.join("proc"), sys: at.join("sys"), dev: at.join("dev") };
        let made = Self { root, roots };
        made.put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-7\n");
        made
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Two packages that are two nodes, of two cores with two siblings each; cores alternate between the packages.
    fn two_sockets() -> Self {
        let made = Self::new();
        for cpu in 0..8 {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            made.put(&format!("{topology}/physical_package_id"), &(cpu % 2).to_string());
            made.put(&format!("{topology}/thread_siblings_list"), &format!("{},{}", cpu % 4, cpu % 4 + 4));
        }
        made.put("sys/devices/system/node/node0/cpulist", "0,2,4,6");
        made.put("sys/devices/system/node/node1/cpulist", "1,3,5,7");
        made.put("sys/devices/system/node/possible", "0-1");
        made
    }

    fn topology(&self, cpus: &[usize]) -> Topology {
        Topology::read(&self.roots.sys, cpus)
    }

    /// A disk behind a PCI function with its node and interrupts, each with the CPUs it goes to; gives its folder.
    fn disk(&self, name: &str, node: i32, irqs: &[(u32, &str)]) -> PathBuf {
        let pci = format!("sys/devices/pci0000:00/{name}.0");
        self.put(&format!("{pci}/numa_node"), &node.to_string());
        for (irq, cpus) in irqs {
            self.put(&format!("{pci}/msi_irqs/{irq}"), "msix");
            self.put(&format!("proc/irq/{irq}/effective_affinity_list"), cpus);
        }
        self.put(&format!("{pci}/block/{name}/size"), "8");
        self.root.path().canonicalize().unwrap().join(format!("{pci}/block/{name}"))
    }

    /// Names the device of files in a folder of this test: that of their file system.
    fn lun(&self, dir: &Path) -> String {
        use std::os::unix::fs::MetadataExt;
        self.put("lun", "");
        let file = self.root.path().join("lun");
        let dev = file.metadata().unwrap().dev();
        let number = format!("{}:{}", nix::sys::stat::major(dev), nix::sys::stat::minor(dev));
        let links = self.roots.sys.join("dev/block");
        fs::create_dir_all(&links).unwrap();
        symlink(dir, links.join(number)).unwrap();
        file.display().to_string()
    }
}

fn dealt(givens: &Givens) -> Vec<Vec<usize>> {
    plan(givens).into_iter().map(|cores| cores.cpus).collect()
}

fn told(givens: &Givens) -> String {
    let lines = plan(givens);
    lines.iter().zip(&givens.workers).map(|(cores, wish)| line(givens, wish, cores)).collect::<Vec<_>>().join("\n")
}

fn near(name: &str, node: usize) -> Wish {
    let device = Near { name: name.into(), nodes: BTreeSet::from([node]), irqs: BTreeSet::new() };
    Wish { devices: vec![device], busy: BTreeMap::new() }
}

#[test]
fn lists_are_read_and_written() {
    assert_eq!(parse("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
    assert_eq!(parse("2,0,2"), Some(vec![0, 2]));
    assert_eq!([parse(""), parse("3-1"), parse("a"), parse("0-99999999")], [None, None, None, None]);
    assert_eq!(parse("1022-1025"), Some(vec![1022, 1023, 1024, 1025]));
    assert_eq!(list([8, 0, 2, 1, 4, 5]), "0-2,4,5,8");
}

#[test]
fn whole_cores_come_before_siblings_and_neighbours_stay_together() {
    let made = Made::two_sockets();
    let topology = made.topology(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(whole_cores(&topology), [[0, 4], [2, 6], [1, 5], [3, 7]]);
    let deal =
        |workers| dealt(&Givens { topology: topology.clone(), quota: None, workers: vec![Wish::default(); workers] });
    assert_eq!(deal(1), [[0, 2, 1, 3, 4, 6, 5, 7]]);
    assert_eq!(deal(2), [[0, 2, 4, 6], [1, 3, 5, 7]]);
    assert_eq!(deal(3), [vec![0, 2, 4, 6], vec![1, 5], vec![3, 7]]);
    assert_eq!(deal(4), [[0, 4], [2, 6], [1, 5], [3, 7]]);
    assert_eq!(deal(5), [vec![0, 4], vec![2, 6], vec![1, 5], vec![3], vec![7]]);
    assert_eq!(deal(9), vec![vec![0, 2, 1, 3, 4, 6, 5, 7]; 9], "they share");
    assert_eq!(whole_cores(&made.topology(&[1, 4, 5])), [vec![4], vec![1, 5]]);
    assert_eq!(whole_cores(&Topology::read(Path::new("/nonexistent"), &[0, 1])), [[0], [1]]);
}

#[test]
fn workers_are_near_their_devices_and_the_choosy_choose_first() {
    let topology = Made::two_sockets().topology(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let workers = vec![near("nvme0n1", 0), near("nvme1n1", 1)];
    let givens = Givens { topology: topology.clone(), quota: None, workers };
    assert_eq!(dealt(&givens), [[0, 2, 4, 6], [1, 3, 5, 7]]);
    let givens = Givens { topology: topology.clone(), quota: None, workers: vec![near("a", 1), near("b", 0)] };
    assert_eq!(dealt(&givens), [[1, 3, 5, 7], [0, 2, 4, 6]]);
    let givens = Givens { topology, quota: None, workers: vec![Wish::default(), near("nvme0n1", 0)] };
    insta::assert_snapshot!(told(&givens), @r"
    cores 1,3 (node 1; 5,7 are their siblings)
    cores 0,2 (node 0, near nvme0n1; 4,6 are their siblings)
    ");
}

#[test]
fn cpus_that_take_the_interrupts_come_last() {
    let made = Made::two_sockets();
    // The third goes anywhere and says nothing.
    let dir = made.disk("nvme0n1", 0, &[(30, "0"), (31, "0"), (32, "0-7")]);
    let lun = made.lun(&dir);
    let givens = givens(&made.roots, &[], &[vec![lun]]).unwrap();
    assert_eq!(dealt(&givens), [[2, 0, 1, 3, 6, 4, 5, 7]]);
    insta::assert_snapshot!(told(&givens), @"cores 0-3 (nodes 0,1, near nvme0n1; 4-7 are their siblings; 0 takes interrupts of nvme0n1)");
}

#[test]
fn a_device_of_parts_is_near_all_of_them() {
    let made = Made::two_sockets();
    let (a, b) = (made.disk("sda", 1, &[]), made.disk("sdb", -1, &[]));
    made.put("sys/devices/virtual/block/dm-0/size", "8");
    let map = made.roots.sys.join("devices/virtual/block/dm-0");
    fs::create_dir_all(map.join("slaves")).unwrap();
    symlink(&a, map.join("slaves/sda")).unwrap();
    symlink(&b, map.join("slaves/sdb")).unwrap();
    let lun = made.lun(&map);
    let found = near::of_lun(&made.roots, Path::new(&lun)).unwrap();
    assert_eq!((found.name.as_str(), found.nodes), ("dm-0", BTreeSet::from([1])), "sdb has no node");
}

#[test]
fn an_nvme_namespace_with_several_paths_is_near_its_controllers() {
    let made = Made::two_sockets();
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    made.put(&format!("{subsystem}/nvme0n1/size"), "8");
    for (name, node, irq) in [("nvme0", "0", 40), ("nvme3", "1", 41)] {
        let pci = format!("sys/devices/pci0000:00/{name}.0");
        made.put(&format!("{pci}/numa_node"), node);
        made.put(&format!("{pci}/msi_irqs/{irq}"), "msix");
        made.put(&format!("{pci}/nvme/{name}/state"), "live");
        let at = made.root.path().join(format!("{pci}/nvme/{name}"));
        symlink(at, made.root.path().join(subsystem).join(name)).unwrap();
    }
    let lun = made.lun(&made.root.path().join(subsystem).join("nvme0n1").canonicalize().unwrap());
    let found = near::of_lun(&made.roots, Path::new(&lun)).unwrap();
    assert_eq!((found.nodes, found.irqs), (BTreeSet::from([0, 1]), BTreeSet::from([40, 41])));
}

#[test]
fn interrupts_without_msi_are_found_by_the_name_of_the_driver() {
    let made = Made::two_sockets();
    made.put("sys/devices/platform/mmio/virtio1/block/vda/size", "8");
    made.put(
        "proc/interrupts",
        "            CPU0       CPU1\n 5:  1 2 IO-APIC 5-edge virtio1\n 6:  1 2 IO-APIC 6-edge other, virtio1-req.0\n \
         7:  1 2 IO-APIC 7-edge virtio11-req.0\nNMI:  0 0 Non-maskable interrupts",
    );
    made.put("proc/irq/5/smp_affinity_list", "3");
    let lun = made.lun(&made.roots.sys.join("devices/platform/mmio/virtio1/block/vda"));
    let found = near::of_lun(&made.roots, Path::new(&lun)).unwrap();
    assert_eq!(found.irqs, BTreeSet::from([5, 6]));
    let busy = near::busy(&made.roots, found.irqs.iter(), &[0, 1, 2, 3], &mut BTreeMap::new());
    assert_eq!(busy, BTreeMap::from([(3, 1)]));
}

#[test]
fn the_quota_of_the_cgroup_says_how_many_pay() {
    let made = Made::two_sockets();
    let mount = made.root.path().join("cg");
    made.put("proc/self/cgroup", "0::/");
    made.put("proc/self/mountinfo", &format!("31 23 0:28 / {} rw - cgroup2 cgroup2 rw", mount.display()));
    made.put("cg/cpu.max", "150000 100000");
    made.put("cg/cpuset.cpus.effective", "2-7");
    let of = |chosen: &[usize], workers| givens(&made.roots, chosen, &vec![Vec::new(); workers]).unwrap();
    assert_eq!(dealt(&of(&[], 1)), [[4, 2]], "2 CPUs, of different cores, within the cpuset");
    assert_eq!(dealt(&of(&[], 2)), [[4], [2]]);
    assert_eq!(dealt(&of(&[], 3)), [[4, 2], [4, 2], [4, 2]]);
    assert_eq!(dealt(&of(&[3, 5, 7], 1)), [[5, 3, 7]], "cores that were named are used");
    insta::assert_snapshot!(told(&of(&[], 3)), @r"
    cores 2,4 (node 0; shared by the workers of this host; the cgroup allows 1.5 CPUs)
    cores 2,4 (node 0; shared by the workers of this host; the cgroup allows 1.5 CPUs)
    cores 2,4 (node 0; shared by the workers of this host; the cgroup allows 1.5 CPUs)
    ");
    let text = givens(&made.roots, &[1], &[Vec::new()]).unwrap_err();
    insta::assert_snapshot!(text, @"core 1 of misc=(cpus=) is not among those this process may use: 2-7");
}

#[test]
fn cpus_beyond_1023_and_those_that_are_off() {
    let made = Made::new();
    made.put("proc/self/status", "Cpus_allowed_list:\t1022,1030-1031\n");
    let of = givens(&made.roots, &[], &[Vec::new(), Vec::new()]).unwrap();
    assert_eq!(dealt(&of), [vec![1022, 1030], vec![1031]], "the mask has only those that are on");
    made.put("proc/self/status", "Name:\tx");
    let text = givens(&made.roots, &[], &[Vec::new()]).unwrap_err();
    assert_eq!(text, "the cores of this process are unknown: /proc/self/status has no Cpus_allowed_list");
}

#[test]
fn workers_of_this_machine_get_cores_apart() {
    let roots = Roots::default();
    let mine = allowed(&roots.proc, &Cgroups::read(&roots.proc)).unwrap();
    let dealt = dealt(&givens(&roots, &mine, &vec![Vec::new(); mine.len()]).unwrap());
    let mut all = dealt.concat();
    all.sort_unstable();
    assert_eq!((all, dealt.len()), (mine.clone(), mine.len()));
}
