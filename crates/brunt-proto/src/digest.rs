//! SHA-256 of a program: what it is called in caches, and how master and agent tell builds apart.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{Context, SHA256};

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// SHA-256 of all that is left to read, 64 hexadecimal digits in lower case.
///
/// # Errors
/// Those of the reader.
pub fn sha256(mut from: impl Read) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => context.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// [`sha256`] of the executable of this process, also when its file has been replaced or removed since.
///
/// # Errors
/// It cannot be read.
pub fn own() -> io::Result<String> {
    sha256(File::open(Path::new("/proc/self/exe"))?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-4, and one longer than a chunk (`python3 -c` with hashlib).
    #[test]
    fn it_is_sha_256() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&b"abc"[..]).unwrap(), abc);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(io::empty()).unwrap(), empty);
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sha256(io::repeat(b'a').take(1_000_000)).unwrap(), million);
    }

    #[test]
    fn the_own_program_has_one() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(own().unwrap(), sha256(file).unwrap());
    }
}
