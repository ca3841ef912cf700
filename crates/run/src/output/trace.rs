//! Output files of traces.

use std::path::Path;

use wordline_trace::{Compression, Generated, Request, TargetFormat, WriteError, WriteOptions, WriteReport};

use super::{Output, failed};
use crate::error::Result;

/// A trace file during writing.
#[derive(Debug)]
pub struct TraceFile {
    output: Output,
    compression: Compression,
}

impl TraceFile {
    /// Opens a trace file for writing. It is compressed if its name ends in `.gz` or `.zst`; `-` is standard
    /// output. The file gets its name only when it is complete. After an error there is no file, or the
    /// previous one.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File) if the file cannot be written,
    /// [`Error::Content`](crate::Error::Content) if the extension is that of an unsupported compression.
    pub fn open(path: &Path) -> Result<Self> {
        let compression = Compression::of(path)?;
        Ok(Self { output: Output::open(path)?, compression })
    }

    /// Whether the trace goes to standard output.
    pub fn is_standard(&self) -> bool {
        self.output.is_standard()
    }

    /// Writes requests one by one. If `generated` is given and the format has comments, the first line is a
    /// comment about the generator. Optional fields (processor, stream) are written if `has_more` is set.
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File), or the error of a request that cannot be read; the previous file
    /// is then unchanged.
    pub fn write(
        mut self,
        requests: impl IntoIterator<Item = wordline_trace::Result<Request>>,
        format: TargetFormat,
        generated: Option<&Generated>,
        has_more: bool,
    ) -> Result<WriteReport> {
        let how = WriteOptions { format, compression: self.compression, generated, has_more };
        let report = how.write(&mut self.output, requests).map_err(|error| match error {
            WriteError::Output(reason) => failed(self.output.path(), reason),
            WriteError::Requests(error) => error.into(),
        })?;
        self.output.finish()?;
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use wordline_trace::embedded;

    use super::*;
    use crate::error::Error;

    fn write(path: &Path) -> Result<WriteReport> {
        let requests = embedded().requests.into_iter().take(10).map(Ok);
        TraceFile::open(path)?.write(requests, TargetFormat::Csv, None, false)
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // A folder with the name of the file makes the final rename fail.
        let path = folder.path().join("t.csv");
        std::fs::create_dir(&path).expect("writable");
        let message = write(&path).expect_err("a folder is in the way").to_string();
        assert!(message.starts_with(&format!("{}: cannot write: ", path.display())), "{message}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
        let below = folder.path().join("a/folder/t.csv");
        write(&below).expect_err("folders on the way are not made");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn requests_that_cannot_be_had_leave_the_file_from_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("t.csv");
        write(&path).expect("written");
        let before = std::fs::read(&path).expect("it was written");
        let broken = || wordline_trace::read_bytes("t", b"", &wordline_trace::Options::default());
        let requests = [Err(broken().expect_err("an empty file"))];
        let file = TraceFile::open(&path).expect("it can be written");
        let error = file.write(requests, TargetFormat::Csv, None, false).expect_err("no request");
        assert!(matches!(error, Error::Content { .. }), "{error}");
        assert_eq!(std::fs::read(&path).expect("it is there"), before);
    }

    #[test]
    fn a_file_is_compressed_as_its_name_says() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, begins) in [("t.csv.GZ", &[0x1f, 0x8b][..]), ("t.zst", &[0x28, 0xb5, 0x2f, 0xfd])] {
            let path = folder.path().join(name);
            write(&path).expect("written");
            assert!(std::fs::read(&path).expect("it was written").starts_with(begins), "{name}");
        }
        let path = folder.path().join("t.csv.xz");
        assert!(matches!(write(&path), Err(Error::Content { .. })) && !path.exists());
    }
}
