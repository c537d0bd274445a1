//! Classes of what may be seen: an enum for each sign and probe, with the ids that the table of likelihoods has for them.

/// Defines the classes of a sign, or the answers to a probe, in the order in which `likelihoods.json` judges them.
macro_rules! classes {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $class:ident $id:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::diagnosis) enum $name { $($(#[$doc])* $class),* }

        impl $name {
            /// Their ids, in order.
            pub(in crate::diagnosis) const IDS: &[&str] = &[$($id),*];
        }
    };
}

pub(super) use classes;
