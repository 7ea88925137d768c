//! The built-in demonstration (`-t`): a parameter file in the temporary directory (`docs/vdbench/raw.md` §2).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::arguments::Demo;

/// Writes the demonstration's parameter file and gives its path.
///
/// # Errors
/// The temporary directory cannot be written.
pub fn write(demo: Demo, temporary: &Path) -> io::Result<PathBuf> {
    let lun = temporary.join("quick_vdbench_test");
    if demo.delete && lun.exists() {
        fs::remove_file(&lun)?;
    }
    let path = temporary.join("parmfile");
    fs::write(&path, text(demo, &lun.display().to_string()))?;
    Ok(path)
}

fn text(demo: Demo, lun: &str) -> String {
    let flags = if demo.sync { ",openflags=o_sync" } else { "" };
    let (reads, rate) = if demo.write_max { (0, "max") } else { (50, "100") };
    format!(
        "* Demonstration: makes a 40 MB file if it is not there yet, then runs 1 KB I/Os on it for five seconds.\n\
         sd=sd1,lun={lun},size=40m{flags}\n\
         wd=wd1,sd=sd1,xfersize=1k,rdpct={reads}\n\
         rd=rd1,wd=wd1,iorate={rate},elapsed=5,interval=1\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_as_documented() {
        let plain = text(Demo::default(), "/tmp/q");
        assert!(
            plain.contains("sd=sd1,lun=/tmp/q,size=40m\n")
                && plain.contains("rdpct=50")
                && plain.contains("iorate=100,")
        );
        assert!(text(Demo { sync: true, ..Demo::default() }, "/tmp/q").contains("openflags=o_sync"));
        assert!(text(Demo { write_max: true, ..Demo::default() }, "/tmp/q").contains("iorate=max"));
    }
}
