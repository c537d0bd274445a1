//! Messages and service of P4Runtime, generated from their definitions (`vendor/`).
#![expect(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unused_qualifications,
    reason = "generated code"
)]

/// Google's status message, which carries the details of an error.
pub mod google {
    /// See `google/rpc/status.proto`.
    pub mod rpc {
        include!(concat!(env!("OUT_DIR"), "/google.rpc.rs"));
    }
}

/// P4Runtime.
pub mod p4 {
    /// P4Info.
    pub mod config {
        /// Version 1.
        pub mod v1 {
            include!(concat!(env!("OUT_DIR"), "/p4.config.v1.rs"));
        }
    }
    /// Version 1.
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/p4.v1.rs"));
    }
}
