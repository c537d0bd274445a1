//! Files that are no text but may hold one: known by their first bytes, and named with what takes the text out.

use crate::import::ImportError;

/// A kind of file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Container {
    what: &'static str,
    remedy: &'static str,
    /// Its first bytes, one of these.
    magic: &'static [&'static [u8]],
}

static ALL: &[Container] = &[
    Container {
        what: "RTF",
        remedy: "save it as plain text, or `unrtf --text FILE`, on macOS `textutil -convert txt FILE`",
        magic: &[b"{\\rtf"],
    },
    Container {
        what: "a PDF document",
        remedy: "`pdftotext -layout FILE log.txt` takes its text out",
        magic: &[b"%PDF-"],
    },
    Container {
        what: "a ZIP archive or an office document",
        remedy: "unzip it, or save the document as plain text",
        magic: &[b"PK\x03\x04"],
    },
    Container {
        what: "an old office document",
        remedy: "save it as plain text",
        magic: &[b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"],
    },
    Container {
        what: "compressed by gzip",
        remedy: "`gunzip FILE` first",
        magic: &[b"\x1F\x8B"],
    },
    Container {
        what: "compressed by xz",
        remedy: "`unxz FILE` first",
        magic: &[b"\xFD7zXZ\0"],
    },
    Container {
        what: "compressed by zstd",
        remedy: "`unzstd FILE` first",
        magic: &[b"\x28\xB5\x2F\xFD"],
    },
    Container {
        what: "compressed by bzip2",
        remedy: "`bunzip2 FILE` first",
        magic: &[b"BZh"],
    },
    Container {
        what: "a capture of packets",
        remedy: "give what the measuring tool printed",
        magic: &[
            b"\xD4\xC3\xB2\xA1",
            b"\xA1\xB2\xC3\xD4",
            b"\x4D\x3C\xB2\xA1",
            b"\x0A\x0D\x0D\x0A",
        ],
    },
    Container {
        what: "a picture",
        remedy: "give the text itself",
        magic: &[b"\x89PNG\r\n\x1A\n", b"\xFF\xD8\xFF", b"GIF8"],
    },
];

impl Container {
    /// Why the file of this kind cannot be read.
    pub(super) fn error(&self, file: String) -> ImportError {
        ImportError::Container {
            file,
            what: self.what,
            remedy: self.remedy,
        }
    }
}

/// The kind of a file that begins so; `None` if it may be a text.
pub(super) fn detect(begin: &[u8]) -> Option<&'static Container> {
    let is_one = |container: &&Container| {
        let mut magic = container.magic.iter();
        magic.any(|magic| begin.starts_with(magic))
    };
    ALL.iter().find(is_one)
}

#[cfg(test)]
mod tests {
    use super::detect;

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let what = |begin: &[u8]| detect(begin).map(|found| found.what);
        assert_eq!(what(b"{\\rtf1\\ansi"), Some("RTF"));
        assert_eq!(
            what(b"PK\x03\x04\x14\0"),
            Some("a ZIP archive or an office document")
        );
        assert_eq!(what(b"\x1F\x8B\x08"), Some("compressed by gzip"));
        for text in [
            &b"{\"start\": {}}"[..],
            b"\xFF\xFEi\0",
            b"",
            b"Connecting to",
        ] {
            assert_eq!(what(text), None);
        }
    }
}
