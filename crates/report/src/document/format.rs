//! The formats that documents are written in, each known by the ending of a file.

/// A format of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Comma-separated values.
    Csv,
    /// One page that opens offline.
    Html,
    /// The document as data.
    Json,
    /// Text for a pull request.
    Markdown,
    /// Aligned columns.
    Text,
}

impl DocumentFormat {
    /// What names of its files end in, without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Html => "html",
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Text => "txt",
        }
    }
}
