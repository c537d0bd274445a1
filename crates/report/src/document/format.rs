//! The formats that documents are written in, each known by the ending of a file.

linerate_model::named_enum! {
    /// A format of documents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DocumentFormat {
        /// Comma-separated values.
        Csv = "csv",
        /// One page that opens offline.
        Html = "html",
        /// The document as data.
        Json = "json",
        /// Test cases for CI systems.
        Junit = "xml",
        /// Text for a pull request.
        Markdown = "md",
        /// Aligned columns.
        Text = "txt",
    }
}
