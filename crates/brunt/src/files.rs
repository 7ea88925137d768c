//! Parameter files from the file system.

use std::fs;
use std::io;
use std::path;

use brunt_parm::Reader;
use brunt_parm::source::ReadError;

/// Reads what the user names.
pub struct Files;

impl Reader for Files {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        match fs::read(path) {
            // Old files come in many encodings; names are bytes to us, and a parameter is seldom anything but ASCII.
            Ok(bytes) => {
                Ok(String::from_utf8(bytes).unwrap_or_else(|e| e.into_bytes().iter().map(|b| *b as char).collect()))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(ReadError::NotFound),
            Err(e) => Err(ReadError::Other(e.to_string())),
        }
    }

    fn absolute(&self, path: &str) -> String {
        path::absolute(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string())
    }
}
