//! The files below an anchor: how many, how large, and which of them are used
//! (`docs/vdbench/filesystem.md` §1.3–§1.6). Files are counted in canonical order.

use brunt_parm::ast::{FileSizes, Spread};

use crate::java::JavaRandom;

/// Most files of one file system.
pub const MOST_FILES: u64 = 128 << 20;

/// Directories and files of a file system.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// Levels of directories.
    pub depth: u32,
    /// Directories in each directory.
    pub width: u32,
    /// Files in each directory that holds files.
    pub files: u32,
    /// File sizes.
    pub sizes: FileSizes,
    /// Which directories hold files.
    pub spread: Spread,
    /// `totalsize=`: only so many bytes of files are made and used.
    pub total_size: Option<u64>,
    /// `wss=`: only so many bytes of files are used in runs.
    pub working_set: Option<u64>,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Directories, without the anchor.
    pub directories: u64,
    /// Files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Structure {
    /// Directories below the anchor; `None` when there are more than 2³¹.
    pub fn directories(&self) -> Option<u64> {
        let mut level: u64 = 1;
        let mut all: u64 = 0;
        for _ in 0..self.depth {
            level = level.checked_mul(u64::from(self.width))?;
            all = all.checked_add(level)?;
            if all > 1 << 31 {
                return None;
            }
            if level == 0 {
                break;
            }
        }
        Some(all)
    }

    /// Files; `None` when there are more than [`MOST_FILES`].
    pub fn file_count(&self) -> Option<u64> {
        let holders = match self.spread {
            Spread::All => self.directories()?,
            Spread::Bottom => u64::from(self.width).checked_pow(self.depth)?,
        };
        holders.checked_mul(u64::from(self.files)).filter(|n| *n <= MOST_FILES)
    }

    /// The sizes of all files in bytes, in canonical order.
    pub fn file_sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let mut random = JavaRandom::new(0);
        (0..self.file_count().unwrap_or(0)).map(move |_| draw(&self.sizes, &mut random))
    }

    /// How much there is, whatever is used of it; `None` when there are too many.
    pub fn totals(&self) -> Option<Totals> {
        let (directories, files) = (self.directories()?, self.file_count()?);
        let bytes = match &self.sizes {
            FileSizes::Fixed(size) => files.saturating_mul(*size),
            FileSizes::Weighted(_) | FileSizes::Average(_) => self.file_sizes().fold(0, u64::saturating_add),
        };
        Some(Totals { directories, files, bytes })
    }

    /// The files that `totalsize=` selects, by number, rising; all without it. Format and runs use no others.
    pub fn made(&self) -> Vec<u64> {
        let all: Vec<u64> = (0..self.file_count().unwrap_or(0)).collect();
        self.subset(all, self.total_size)
    }

    /// The files that a run uses: those of [`Structure::made`] that `wss=` selects. `hosts`: over how many hosts the
    /// working set is divided.
    pub fn used(&self, hosts: u64) -> Vec<u64> {
        self.subset(self.made(), self.working_set.map(|bytes| bytes / hosts.max(1)))
    }

    /// Draws files until they have so many bytes.
    fn subset(&self, files: Vec<u64>, bytes: Option<u64>) -> Vec<u64> {
        let Some(bytes) = bytes.filter(|b| *b > 0 && !files.is_empty()) else { return files };
        let sizes: Vec<u64> = self.file_sizes().collect();
        let mut random = JavaRandom::new(0);
        let mut chosen = vec![false; files.len()];
        let (mut sum, mut count) = (0u64, 0);
        while sum < bytes && count < files.len() {
            let at = (random.next_double() * files.len() as f64) as usize;
            if std::mem::replace(&mut chosen[at], true) {
                continue;
            }
            count += 1;
            sum = sum.saturating_add(sizes.get(files[at] as usize).copied().unwrap_or(0));
        }
        files.into_iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|(file, _)| file).collect()
    }
}

/// The size of the next file.
fn draw(sizes: &FileSizes, random: &mut JavaRandom) -> u64 {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match sizes {
        FileSizes::Fixed(size) => *size,
        FileSizes::Weighted(list) => {
            let drawn = f64::from(random.next_int(100));
            let mut sum = 0.0;
            for (size, percent) in list {
                sum += percent;
                if sum > drawn {
                    return *size;
                }
            }
            list.last().map_or(0, |(size, _)| *size)
        }
        FileSizes::Average(average) => {
            let bound = u32::try_from(*average).unwrap_or(1).clamp(1, i32::MAX as u32);
            let size = u64::from(random.next_int(bound)) + average / 2;
            let unit = if size >= 10 * MIB {
                MIB
            } else if *average >= MIB {
                100 * KIB
            } else if *average >= 100 * KIB {
                10 * KIB
            } else {
                KIB
            };
            (size + unit / 2) / unit * unit
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn structure(depth: u32, width: u32, files: u32, sizes: FileSizes) -> Structure {
        Structure { depth, width, files, sizes, spread: Spread::Bottom, total_size: None, working_set: None }
    }

    fn kib(s: &Structure) -> Vec<u64> {
        s.file_sizes().map(|b| b / 1024).collect()
    }

    #[test]
    fn sizes_are_drawn_as_in_the_specification() {
        let weighted = FileSizes::Weighted(vec![(4096, 50.0), (8192, 50.0)]);
        assert_eq!(kib(&structure(1, 2, 4, weighted)), [8, 4, 4, 4, 4, 8, 8, 8]);
        let six = structure(1, 1, 6, FileSizes::Weighted(vec![(16384, 50.0), (8192, 50.0)]));
        assert_eq!(six.totals().unwrap().bytes, 81_920);
        assert_eq!(kib(&structure(1, 2, 4, FileSizes::Average(16384))), [20, 21, 12, 18, 18, 13, 17, 10]);
        assert_eq!(structure(1, 1, 6, FileSizes::Average(16384)).totals().unwrap().bytes, 104_448);
    }

    #[test]
    fn totalsize_and_wss_choose_the_files_of_the_specification() {
        let mut s = structure(1, 1, 20, FileSizes::Fixed(16 << 10));
        s.total_size = Some(160 << 10);
        assert_eq!(s.made(), [4, 5, 6, 7, 11, 12, 14, 17, 18, 19]);
        let mut s = structure(1, 1, 10, FileSizes::Fixed(4096));
        s.total_size = Some(16 << 10);
        assert_eq!(s.made(), [2, 5, 6, 7]);
        let mut s = structure(1, 2, 10, FileSizes::Fixed(4096));
        s.total_size = Some(24 << 10);
        assert_eq!(s.made(), [4, 6, 7, 11, 12, 14]);
    }

    #[test]
    fn directories_and_files_are_counted() {
        let s = structure(2, 3, 20, FileSizes::Fixed(10));
        assert_eq!(s.totals(), Some(Totals { directories: 12, files: 180, bytes: 1800 }));
        let all = Structure { spread: Spread::All, ..s };
        assert_eq!(all.file_count(), Some(240));
        assert_eq!(structure(40, 40, 1, FileSizes::Fixed(1)).directories(), None);
        assert_eq!(structure(1, 200, 10_000_000, FileSizes::Fixed(1)).file_count(), None);
        assert_eq!(structure(u32::MAX, 0, 1, FileSizes::Fixed(1)).directories(), Some(0));
        assert_eq!(structure(0, 5, 3, FileSizes::Fixed(1)).file_count(), Some(3));
    }

    proptest! {
        #[test]
        fn more_bytes_choose_a_superset(files in 1u32..60, a in 1u64..200_000, b in 1u64..200_000) {
            let (small, large) = (a.min(b), a.max(b));
            let of = |bytes| Structure { total_size: Some(bytes), ..structure(1, 2, files, FileSizes::Average(4096)) };
            let (few, many) = (of(small).made(), of(large).made());
            prop_assert!(few.iter().all(|f| many.contains(f)));
            prop_assert!(few.windows(2).all(|w| w[0] < w[1]));
            let sizes: Vec<u64> = of(small).file_sizes().collect();
            let sum: u64 = few.iter().map(|f| sizes[*f as usize]).sum();
            prop_assert!(sum >= small || few.len() == sizes.len());
        }

        #[test]
        fn random_sizes_stay_around_their_average(average in 1024u64..50_000_000, files in 1u32..100) {
            for size in structure(1, 1, files, FileSizes::Average(average)).file_sizes() {
                prop_assert!(size as f64 >= average as f64 * 0.5 - 524_288.0);
                prop_assert!(size as f64 <= average as f64 * 1.5 + 524_288.0);
            }
        }
    }
}
