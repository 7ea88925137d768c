//! What a device is, in one form for all names, hosts and kernels; and luns that are asked for by it: `lun=wwn:0x6005…`.
//!
//! An identity that begins with `wwid:` or `dm:` holds on every host, one with `local:` on one machine only. Behind
//! `wwid:` stands what Linux shows in `wwid` of a SCSI or NVMe device: `naa.…`, `eui.…`, `uuid.…`, `t10.…`, `nvme.…`.

/// What a lun begins with that is asked for by its identity.
const PREFIXES: [&str; 4] = ["wwn:", "wwid:", "nguid:", "dm:"];
/// What the identity of a partition has behind that of its disk, before its number.
const PART: &str = "-part";

/// Whether a lun is asked for by its identity.
pub fn is_asked_for(lun: &str) -> bool {
    PREFIXES.iter().any(|prefix| lun.starts_with(prefix))
}

/// The identity that a lun is asked for by; `None` for a path.
///
/// # Errors
/// It is none: what it should look like.
pub fn wanted(lun: &str) -> Option<Result<String, &'static str>> {
    let prefix = PREFIXES.into_iter().find(|prefix| lun.starts_with(prefix))?;
    let (disk, part) = without_part(&lun[prefix.len()..]);
    let disk = match prefix {
        "wwn:" => of_wwn(disk),
        "nguid:" => of_nguid(disk).ok_or("nguid: and 32 hexadecimal digits"),
        _ if disk.is_empty() => Err("wwid: or dm: and the identity that brunt luns or the inventory of a host shows"),
        "dm:" => Ok(of_dm_uuid(disk)),
        _ => Ok(of_any_wwid(disk)),
    };
    Some(disk.map(|disk| disk + part))
}

/// The disk, and `-part2` where there is one.
fn without_part(text: &str) -> (&str, &str) {
    match text.rfind(PART).map(|at| text.split_at(at)) {
        Some((disk, part)) if is_number(&part[PART.len()..]) => (disk, part),
        _ => (text, ""),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// udev's `wwn-0x6005…`: the number of a SCSI device; NVMe has `eui.…` there.
fn of_wwn(text: &str) -> Result<String, &'static str> {
    if text.starts_with("eui.") || text.starts_with("uuid.") || text.starts_with("nvme.") {
        return Ok(of_wwid(text));
    }
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("naa.")).unwrap_or(text);
    let valid = matches!(digits.len(), 16 | 32) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if valid { Ok(of_wwid(&format!("naa.{digits}"))) } else { Err("wwn:0x and 16 or 32 hexadecimal digits") }
}

/// The identity of what Linux shows as `wwid`.
pub fn of_wwid(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_hex = ["naa.", "eui.", "uuid."].iter().any(|kind| text.starts_with(kind));
    format!("wwid:{}", if is_hex { text.to_ascii_lowercase() } else { text })
}

/// The same, also from the form of multipath-tools.
fn of_any_wwid(text: &str) -> String {
    match text.split_once('.') {
        Some(("naa" | "eui" | "uuid" | "t10" | "nvme", _)) => of_wwid(text),
        _ => of_multipath(text),
    }
}

/// The identity of what multipath-tools call a device by: page 0x83 with its type as first digit, and blanks as `_`.
fn of_multipath(wwid: &str) -> String {
    match wwid.split_at_checked(1) {
        Some(("3", naa)) => of_wwid(&format!("naa.{naa}")),
        Some(("2", eui)) => of_wwid(&format!("eui.{eui}")),
        Some(("1", t10)) => of_wwid(&format!("t10.{}", t10.replace('_', " "))),
        _ => of_wwid(wwid),
    }
}

/// The identity of a device-mapper device. A multipath map is its paths, and a partition of it theirs.
pub fn of_dm_uuid(uuid: &str) -> String {
    let (part, whole) = match uuid.strip_prefix("part").and_then(|rest| rest.split_once('-')) {
        Some((number, whole)) if is_number(number) => (format!("{PART}{number}"), whole),
        _ => (String::new(), uuid),
    };
    match whole.strip_prefix("mpath-") {
        Some(wwid) => of_multipath(wwid) + &part,
        None => format!("dm:{uuid}"),
    }
}

/// The identity of an NVMe namespace with a globally unique identifier, however it is written; `None` when that is
/// nothing but zeros, which means that it has none.
pub fn of_nguid(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | ' ' | ':')).collect();
    (digits.len() == 32).then(|| of_eui(&digits)).flatten()
}

/// The identity of an NVMe namespace with an EUI-64 or NGUID; `None` as [`of_nguid`].
pub fn of_eui(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | ' ' | ':')).collect();
    let valid = matches!(digits.len(), 16 | 32) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    (valid && digits.bytes().any(|b| b != b'0')).then(|| of_wwid(&format!("eui.{digits}")))
}

/// The identity of an NVMe namespace with a UUID; `None` when it is nothing but zeros.
pub fn of_uuid(text: &str) -> Option<String> {
    text.chars().any(|c| c.is_ascii_hexdigit() && c != '0').then(|| of_wwid(&format!("uuid.{text}")))
}

/// The identity of a partition of a device.
pub fn of_partition(disk: &str, number: &str) -> String {
    format!("{disk}{PART}{number}")
}

/// Whether an identity says the same on every host.
pub fn is_global(identity: &str) -> bool {
    !identity.starts_with("local:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_has_one_identity_however_it_is_asked_for() {
        let naa = "wwid:naa.60050768018087a5b000000000000123";
        for lun in [
            "wwn:0x60050768018087a5b000000000000123",
            "wwn:0x60050768018087A5B000000000000123",
            "wwn:60050768018087a5b000000000000123",
            "wwid:naa.60050768018087a5b000000000000123",
            "wwid:360050768018087a5b000000000000123",
            "dm:mpath-360050768018087a5b000000000000123",
        ] {
            assert_eq!(wanted(lun), Some(Ok(naa.to_owned())), "{lun}");
            assert!(is_asked_for(lun));
        }
        assert_eq!(wanted("wwn:0x5000c500a1b2c3d4-part2"), Some(Ok("wwid:naa.5000c500a1b2c3d4-part2".to_owned())));
        let eui = Some(Ok("wwid:eui.0025385b71b0a1c20025385b71b0a1c2".to_owned()));
        assert_eq!(wanted("nguid:0025385b-71b0-a1c2-0025-385b71b0a1c2"), eui);
        assert_eq!(wanted("wwn:eui.0025385b71b0a1c20025385b71b0a1c2"), eui);
        assert_eq!(wanted("wwid:1ATA_Disk_12"), Some(Ok("wwid:t10.ATA Disk 12".to_owned())));
        assert_eq!(wanted("dm:LVM-aB3"), Some(Ok("dm:LVM-aB3".to_owned())));
        assert_eq!(wanted("/dev/sdb"), None);
        assert_eq!(wanted("sim:wwn:1"), None);
    }

    #[test]
    fn what_is_no_identity_says_what_one_looks_like() {
        for (lun, form) in [
            ("wwn:0x12", "wwn:0x and 16 or 32 hexadecimal digits"),
            ("wwn:0x5000c500a1b2c3dg", "wwn:0x and 16 or 32 hexadecimal digits"),
            ("nguid:00000000000000000000000000000000", "nguid: and 32 hexadecimal digits"),
            ("dm:", "wwid: or dm: and the identity that brunt luns or the inventory of a host shows"),
        ] {
            assert_eq!(wanted(lun), Some(Err(form)), "{lun}");
        }
    }

    #[test]
    fn kernels_and_maps_agree() {
        assert_eq!(of_dm_uuid("mpath-360050768"), of_wwid("naa.60050768\n"));
        assert_eq!(of_dm_uuid("mpath-eui.0025"), of_wwid("eui.0025"));
        assert_eq!(of_dm_uuid("part2-mpath-360050768"), of_partition(&of_wwid("naa.60050768"), "2"));
        assert_eq!(of_wwid("t10.ATA     Disk   12"), "wwid:t10.ATA Disk 12");
        assert_eq!(of_eui("00 25 38 5b 71 b0 a1 c2"), Some("wwid:eui.0025385b71b0a1c2".to_owned()));
        assert_eq!(of_uuid("00000000-0000-0000-0000-000000000000"), None);
        assert!(is_global("wwid:x") && !is_global("local:block:8:0"));
    }
}
