//! Paths as text, of build trees that do not exist here.

/// Normalises a path lexically: without `.`, `..` and repeated slashes.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// The last part of a path.
pub(crate) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_go() {
        let cases = [
            ("/a/./b//c/../d.c", "/a/b/d.c"),
            ("../x/y/../z.c", "../x/z.c"),
            ("/../a", "/a"),
            ("a.c", "a.c"),
        ];
        for (path, want) in cases {
            assert_eq!(normal(path), want);
        }
        assert_eq!(last("/usr/lib/libc.a"), "libc.a");
    }
}
