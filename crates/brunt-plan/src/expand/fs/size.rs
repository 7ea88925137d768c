//! Whether what is asked of a file system fits into it (`docs/vdbench/filesystem.md` §1.4, §1.6).

use brunt_parm::Diag;
use brunt_parm::ast::{LoopKind, Rd};

use super::super::log::Log;
use crate::plan::fs::Fsd;
use crate::tree::{MOST_FILES, Structure, Totals};

/// Sizes that were counted before.
#[derive(Default)]
pub(crate) struct Sizes {
    known: Vec<(Structure, Totals)>,
}

impl Sizes {
    /// Whether there are not too many files, and enough of them. `None` after an error.
    pub(crate) fn check(&mut self, fsd: &Fsd, structure: &Structure, rd: &Rd, log: &mut Log) -> Option<()> {
        let span = fsd.span?;
        if structure.file_count().is_none() || structure.directories().is_none() {
            log.push(
                Diag::error("too-many-files", format!("fsd `{}` has too many files or directories", fsd.name), span)
                    .label(format!("more than {MOST_FILES} files, or 2^31 directories"))
                    .help("files are width^depth × files=; make one of them smaller"),
            );
            return None;
        }
        if structure.total_size.is_none() && structure.working_set.is_none() {
            return Some(());
        }
        let bytes = self.totals(structure)?.bytes;
        let total = structure.total_size.unwrap_or(bytes);
        for (name, kind, asked, most) in [
            ("totalsize", LoopKind::Totalsize, structure.total_size, bytes),
            ("wss", LoopKind::Wss, structure.working_set, total.min(bytes)),
        ] {
            let Some(asked) = asked.filter(|asked| *asked > most) else { continue };
            let place = rd.loops.iter().find(|l| l.kind == kind).map_or(span, |l| l.span);
            log.push(
                Diag::error(
                    "more-than-there-is",
                    format!("fsd `{}`: `{name}=` asks for {asked} bytes of {most}", fsd.name),
                    place,
                )
                .label(format!("its files have {bytes} bytes in all"))
                .help("make it smaller, or the structure larger with files=, sizes=, width= or depth="),
            );
            return None;
        }
        Some(())
    }

    /// How much there is; counted once for each structure.
    fn totals(&mut self, structure: &Structure) -> Option<Totals> {
        let plain = Structure { total_size: None, working_set: None, ..structure.clone() };
        if let Some((_, totals)) = self.known.iter().find(|(known, _)| *known == plain) {
            return Some(*totals);
        }
        let totals = plain.totals()?;
        self.known.push((plain, totals));
        Some(totals)
    }
}
