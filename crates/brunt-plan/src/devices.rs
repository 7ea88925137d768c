//! The disks of a host as it lists them, to choose luns from.

use serde::{Deserialize, Serialize};

/// A disk, a volume or a multipath device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListedDevice {
    /// Its device file; of a multipath device that of the map.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// What it is ([`crate::identity`]), where it holds on every host.
    pub identity: Option<String>,
    /// Vendor and model, where they are told.
    pub model: Option<String>,
    /// The kernel's driver.
    pub driver: Option<String>,
    /// Logical block size, bytes.
    pub block_size: Option<u32>,
    /// The kernel's names of the devices it is made of: paths of a multipath device, disks of a volume.
    pub parts: Vec<String>,
    /// Why it is in use, a phrase each: `it is mounted on /`.
    pub uses: Vec<String>,
}
