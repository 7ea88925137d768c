//! A device of the kernel whose completion time is known: null_blk with a timer
//! (`Documentation/block/null_blk.rst`, made through configfs).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::host::Roots;

/// Name of the device in configfs.
const NAME: &str = "brunt_calibrate";
/// How long the kernel and udev may take for the device's node.
const NODE_LIMIT: Duration = Duration::from_secs(5);
/// Between two looks for it.
const NODE_STEP: Duration = Duration::from_millis(5);

/// The device; it goes when this is dropped.
#[derive(Debug)]
pub struct NullBlk {
    item: PathBuf,
    device: PathBuf,
    /// Goes last.
    _module: Module,
}

/// The module, which goes again when it was loaded for this.
#[derive(Debug)]
struct Module {
    unload: bool,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum NullBlkError {
    /// The module is not there or may not be loaded.
    #[error(
        "this kernel has no module null_blk, which makes devices with a known completion time ({0}); it comes with the \
         package linux-modules-extra or kernel-modules-extra, and needs root"
    )]
    Module(String),
    /// No configfs.
    #[error(
        "there is no {0}: mount -t configfs none /sys/kernel/config, and use a null_blk that has configfs (Linux 4.14)"
    )]
    Configfs(PathBuf),
    /// The kernel refuses a setting.
    #[error("cannot set {path}: {error}; making a device needs root")]
    Setting {
        /// What was to be written or made.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The device did not appear.
    #[error("neither {0} nor {1} appeared")]
    Node(PathBuf, PathBuf),
}

/// Settings in the order in which they are written; power comes last.
fn settings(completion_ns: u64) -> [(&'static str, String); 9] {
    [
        ("size", "1024".into()), // MiB
        ("blocksize", "512".into()),
        ("queue_mode", "2".into()), // blk-mq
        ("irqmode", "2".into()),    // by timer
        ("completion_nsec", completion_ns.to_string()),
        ("submit_queues", "1".into()),
        ("hw_queue_depth", "64".into()),
        ("memory_backed", "0".into()),
        ("power", "1".into()),
    ]
}

impl NullBlk {
    /// Makes one that completes after so many nanoseconds, loading the module when it is not there.
    ///
    /// # Errors
    /// See [`NullBlkError`]. Nothing is left behind then.
    pub fn make(roots: &Roots, completion_ns: u64) -> Result<Self, NullBlkError> {
        let module = Module::load(roots)?;
        let parent = roots.sys.join("kernel/config/nullb");
        if !parent.is_dir() {
            return Err(NullBlkError::Configfs(parent));
        }
        let item = parent.join(NAME);
        fs::create_dir(&item).map_err(|error| NullBlkError::Setting { path: item.clone(), error })?;
        // From here on it is ours to remove.
        let mut made = Self { item, device: PathBuf::new(), _module: module };
        configure(&made.item, completion_ns)?;
        made.device = node(roots, &made.item)?;
        Ok(made)
    }

    /// The device.
    pub fn device(&self) -> &Path {
        &self.device
    }
}

impl Drop for NullBlk {
    fn drop(&mut self) {
        // What cannot be undone stays, and its name says whose it was.
        let _ = set(&self.item.join("power"), "0");
        let _ = fs::remove_dir(&self.item);
    }
}

impl Module {
    /// Loads it when it is not there.
    fn load(roots: &Roots) -> Result<Self, NullBlkError> {
        let there = roots.sys.join("module/null_blk").is_dir();
        if !there {
            modprobe(&["null_blk", "nr_devices=0"]).map_err(NullBlkError::Module)?;
        }
        Ok(Self { unload: !there })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.unload {
            // In use by somebody else by now: then it stays.
            let _ = modprobe(&["-r", "null_blk"]);
        }
    }
}

fn modprobe(words: &[&str]) -> Result<(), String> {
    let output = Command::new("modprobe").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("modprobe: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().next().map_or_else(|| format!("modprobe: {}", output.status), str::to_owned))
}

fn configure(item: &Path, completion_ns: u64) -> Result<(), NullBlkError> {
    for (name, value) in settings(completion_ns) {
        let path = item.join(name);
        set(&path, &value).map_err(|error| NullBlkError::Setting { path, error })?;
    }
    Ok(())
}

/// Writes an attribute that is there.
fn set(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// The node: of the item's name since Linux 6.0, before that `nullb` and its index.
fn node(roots: &Roots, item: &Path) -> Result<PathBuf, NullBlkError> {
    let index = fs::read_to_string(item.join("index")).unwrap_or_default();
    let names = [roots.dev.join(NAME), roots.dev.join(format!("nullb{}", index.trim()))];
    let deadline = Instant::now() + NODE_LIMIT;
    loop {
        if let Some(found) = names.iter().find(|path| path.exists()) {
            return Ok(found.clone());
        }
        if Instant::now() >= deadline {
            let [new, old] = names;
            return Err(NullBlkError::Node(new, old));
        }
        thread::sleep(NODE_STEP);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A configfs item as the kernel makes it: with its attributes.
    fn item(without: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, _) in settings(0).iter().filter(|(name, _)| *name != without) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        dir
    }

    #[test]
    fn all_is_set_before_the_power() {
        let dir = item("");
        configure(dir.path(), 39_000).unwrap();
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(["completion_nsec", "irqmode", "queue_mode", "power"].map(text), ["39000", "2", "2", "1"]);
        let names: Vec<&str> = settings(1).iter().map(|(name, _)| *name).collect();
        assert_eq!(names.iter().position(|n| *n == "power"), Some(names.len() - 1));
    }

    #[test]
    fn a_missing_attribute_is_named_and_leaves_the_power_off() {
        let dir = item("irqmode");
        let error = configure(dir.path(), 39_000).unwrap_err().to_string();
        assert!(error.contains("irqmode: ") && error.ends_with("needs root"), "{error}");
        assert_eq!(fs::read_to_string(dir.path().join("power")).unwrap(), "");
        assert!(!dir.path().join("irqmode").exists());
    }

    #[test]
    fn the_node_goes_by_either_name() {
        let (dev, item) = (tempfile::tempdir().unwrap(), item(""));
        let roots = Roots { dev: dev.path().into(), ..Roots::default() };
        fs::write(item.path().join("index"), "3\n").unwrap();
        fs::write(dev.path().join("nullb3"), "").unwrap();
        assert_eq!(node(&roots, item.path()).unwrap(), dev.path().join("nullb3"));
        fs::write(dev.path().join(NAME), "").unwrap();
        assert_eq!(node(&roots, item.path()).unwrap(), dev.path().join(NAME));
    }

    #[test]
    fn without_configfs_it_says_what_to_mount() {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join("module/null_blk")).unwrap();
        let roots = Roots { sys: sys.path().into(), ..Roots::default() };
        let error = NullBlk::make(&roots, 39_000).unwrap_err().to_string();
        assert!(error.contains("mount -t configfs"), "{error}");
    }
}
