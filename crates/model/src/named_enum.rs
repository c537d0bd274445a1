//! Enums whose variants have names: written once, beside each variant.

/// An enum with a name for each variant: as documents, the command line, metrics or people have it.
///
/// Gives `ALL`, every variant in the order written; `as_str`, the name; and `Display`, the same, padded as asked for.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $kind:ident {
            $($(#[$about:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        $vis enum $kind {
            $($(#[$about])* $variant,)+
        }

        impl $kind {
            /// Every variant, in the order written.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
