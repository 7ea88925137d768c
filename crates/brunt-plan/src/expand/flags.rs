//! `openflags=` on Linux.

use brunt_parm::Spanned;

use super::log::Log;
use crate::work::OpenFlag;

/// The flags of a list. Words that Linux has not got are accepted by a simulation and refused by a run, as in Vdbench,
/// which finds them when it opens the lun (`docs/vdbench/raw.md` §5).
pub(crate) fn parse(list: &Option<Spanned<Vec<Spanned<String>>>>, log: &mut Log) -> Option<Vec<OpenFlag>> {
    let list = list.as_ref()?;
    let mut flags = Vec::new();
    for word in &list.value {
        match flag(&word.value) {
            Some(flag) if flags.contains(&flag) => {}
            Some(flag) => flags.push(flag),
            None => log.unsupported(
                Some(word.span),
                format!(
                    "openflags={} is not known on Linux; use o_direct, directio, o_sync, o_dsync, o_rsync, fsync or 0x…",
                    word.value
                ),
            ),
        }
    }
    Some(flags)
}

fn flag(word: &str) -> Option<OpenFlag> {
    match word.to_ascii_lowercase().as_str() {
        "o_direct" | "directio" => Some(OpenFlag::Direct),
        "o_sync" | "o_dsync" | "o_rsync" => Some(OpenFlag::Sync),
        "fsync" => Some(OpenFlag::Fsync),
        other => {
            let bits = u32::from_str_radix(other.strip_prefix("0x")?, 16).ok()?;
            Some(OpenFlag::Raw(i32::from_ne_bytes(bits.to_ne_bytes())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_hexadecimal_numbers() {
        assert_eq!(flag("o_direct"), Some(OpenFlag::Direct));
        assert_eq!(flag("directio"), Some(OpenFlag::Direct));
        assert_eq!(flag("o_rsync"), Some(OpenFlag::Sync));
        assert_eq!(flag("0x4000"), Some(OpenFlag::Raw(0x4000)));
        assert_eq!(flag("16384"), None);
        assert_eq!(flag("directio_off"), None);
    }
}
