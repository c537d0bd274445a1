//! lwIP, built from Debian's source package for this host, on a TAP device.
//!
//! The server on it is `raw.c` or `socket.c`, for lwIP's two APIs; both share `iperf2.c` and `link.c`. A build is
//! cached by the hash of all its inputs.

use crate::cache::{self, failed};
use crate::kind::{Buffers, StackKind};
use crate::options::{Options, Places};
use crate::{debian, tools};
use linerate_model::exit::{ExitCode, Failure, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server's own files.
const FILES: [(&str, &str); 7] = [
    ("arch/cc.h", include_str!("cc.h")),
    ("iperf2.c", include_str!("iperf2.c")),
    ("link.c", include_str!("link.c")),
    ("lwipopts.h", include_str!("lwipopts.h")),
    ("raw.c", include_str!("raw.c")),
    ("server.h", include_str!("server.h")),
    ("socket.c", include_str!("socket.c")),
];

/// Folders and files of lwIP that are the stack.
const STACK: [&str; 4] = [
    "src/core",
    "src/core/ipv4",
    "src/core/ipv6",
    "src/netif/ethernet.c",
];

/// lwIP's API for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    /// Callbacks in one thread.
    Raw,
    /// Sockets, with threads of the host below.
    Socket,
}

impl Api {
    fn of(options: &Options) -> Result<Self, String> {
        match options.get("api").map(String::as_str) {
            None | Some("raw") => Ok(Self::Raw),
            Some("socket") => Ok(Self::Socket),
            Some(other) => Err(format!("api={other}: must be raw or socket")),
        }
    }

    /// The server on it.
    const fn server(self) -> &'static str {
        match self {
            Self::Raw => "raw.c",
            Self::Socket => "socket.c",
        }
    }

    /// Files of lwIP for this API, besides the stack.
    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Raw => &[],
            Self::Socket => &["src/api", "port/sys_arch.c"],
        }
    }
}

/// Settings on which the server depends.
const FIXED: [&str; 13] = [
    "no_sys",
    "sys_lightweight_prot",
    "lwip_compat_sockets",
    "lwip_netconn",
    "lwip_netconn_fullduplex",
    "lwip_netconn_sem_per_thread",
    "lwip_socket",
    "lwip_ethernet",
    "lwip_udp",
    "lwip_tcp",
    "lwip_stats",
    "lwip_stats_large",
    "lwip_stats_display",
];

/// Optimisation levels, and the default one.
const LEVELS: [&str; 4] = ["O0", "Os", "O2", "O3"];
const USUAL_LEVEL: &str = "O2";

/// The compiler.
const COMPILER: &str = "cc";

/// File names of the built program, and of the description of its source beside it.
const PROGRAM: &str = "server";
const SOURCE: &str = "source";

/// The registry entry.
pub(crate) static KIND: StackKind = StackKind {
    id: "lwip",
    summary: "lwIP from Debian's source package on a TAP device; options: api, buffers, opt, and settings of lwipopts.h in small letters.",
    usual: &[("api", "raw"), ("buffers", "base"), ("opt", USUAL_LEVEL)],
    check,
    program,
    arguments: |_, addresses| vec![addresses.ipv4().to_string(), addresses.ipv6().to_string()],
    source: |program| fs::read_to_string(program.with_file_name(SOURCE)).ok(),
    ..StackKind::OWN
};

/// Checks the options and their values.
fn check(options: &Options) -> Result<(), String> {
    Api::of(options)?;
    Buffers::of(options)?;
    level(options)?;
    macros(options).try_for_each(|(name, value)| {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.chars().all(is_name) {
            return Err(format!(
                "\"{name}\" is not an option; there are api, buffers, opt, and settings of lwipopts.h in small letters, such as tcp_wnd"
            ));
        }
        if FIXED.contains(&name.as_str()) {
            return Err(format!("{name}: the server relies on it and cannot change it"));
        }
        let number: Result<u32, _> = value.parse();
        number
            .map(drop)
            .map_err(|_| format!("{name}={value}: must be a whole number"))
    })
}

/// The server, built for these options unless it is in the cache.
fn program(options: &Options, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<PathBuf> {
    let cache = places.cache.join("stacks");
    let fetched = cache::folder(&cache, "lwip-source", |folder| {
        tell("fetching the source package of lwIP; later starts need no network");
        debian::source(KIND.id, folder).map(drop)
    })?;
    let source = fetched.join(debian::UNPACKED);
    let build = Build {
        source: &source,
        options,
    };
    let package = package(&fetched)?;
    let key = build.key(&package.1)?;
    let folder = cache::folder(&cache, &format!("lwip-{key}"), |folder| {
        let words: Vec<_> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        tell(format!("building lwIP {}", words.join(" ")).trim_end());
        let named = cache::named_hash(&package.0, &package.1[..]);
        let noted = named.and_then(|named| fs::write(folder.join(SOURCE), named));
        noted.map_err(|error| failed("writing into", folder, &error))?;
        build.run(folder)
    })?;
    Ok(folder.join(PROGRAM))
}

/// The `.dsc` file of the source package, with its name: it has the hashes of all files.
fn package(fetched: &Path) -> Result<(String, Vec<u8>)> {
    let read = debian::description(fetched).and_then(|path| {
        let bytes = fs::read(&path).map_err(|error| failed("reading", &path, &error))?;
        let name = path.file_name().unwrap_or_default();
        Ok((name.to_string_lossy().into_owned(), bytes))
    });
    read.map_err(|error| {
        let message = format!(
            "{error}; remove {}, and it is fetched again",
            fetched.display()
        );
        Failure::new(ExitCode::HostLacks, message)
    })
}

fn level(options: &Options) -> Result<&'static str, String> {
    let Some(given) = options.get("opt") else {
        return Ok(USUAL_LEVEL);
    };
    let name = given.strip_prefix('-').unwrap_or(given);
    let found = LEVELS.into_iter().find(|level| *level == name);
    found.ok_or_else(|| format!("opt={given}: must be one of {}", LEVELS.join(", ")))
}

/// Options that are settings of lwipopts.h.
fn macros(options: &Options) -> impl Iterator<Item = (&String, &String)> {
    options
        .iter()
        .filter(|(name, _)| !["api", "buffers", "opt"].contains(&name.as_str()))
}

/// One build.
struct Build<'a> {
    source: &'a Path,
    options: &'a Options,
}

impl Build<'_> {
    /// Hash of all inputs: source package, server files, settings, compiler.
    fn key(&self, package: &[u8]) -> Result<String> {
        let compiler = tools::version(COMPILER)?;
        let settings = self.settings().join(" ");
        let files = FILES.iter().map(|(_, text)| text.as_bytes());
        Ok(cache::key(files.chain([
            package,
            compiler.as_bytes(),
            settings.as_bytes(),
        ])))
    }

    fn settings(&self) -> Vec<String> {
        let is_large = Buffers::of(self.options) == Ok(Some(Buffers::Large));
        let level = level(self.options).unwrap_or(USUAL_LEVEL);
        let own = [
            format!("-{level}"),
            format!("-DLINERATE_SOCKETS={}", u8::from(self.api() == Api::Socket)),
            format!("-DLINERATE_LARGE_BUFFERS={}", u8::from(is_large)),
        ];
        let given =
            macros(self.options).map(|(name, value)| format!("-D{}={value}", name.to_uppercase()));
        own.into_iter().chain(given).collect()
    }

    fn api(&self) -> Api {
        Api::of(self.options).unwrap_or(Api::Raw)
    }

    fn run(&self, folder: &Path) -> Result<()> {
        self.check_names()?;
        for (name, text) in FILES {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|error| failed("creating", parent, &error))?;
            }
            fs::write(&path, text).map_err(|error| failed("writing", &path, &error))?;
        }
        let mut compiler = Command::new(COMPILER);
        compiler
            .args(["-std=gnu11", "-w", "-pthread"])
            .args(self.settings())
            // The stack's configuration takes precedence.
            .arg("-I")
            .arg(folder)
            .arg("-I")
            .arg(self.source.join("src/include"))
            .arg("-I")
            .arg(self.source.join("port/include"))
            .args(["iperf2.c", "link.c", self.api().server()].map(|file| folder.join(file)))
            .args(self.stack()?)
            .arg("-o")
            .arg(folder.join(PROGRAM));
        tools::run(&mut compiler)?;
        Ok(())
    }

    /// Refuses settings unknown to lwIP, which would have no effect.
    fn check_names(&self) -> Result<()> {
        let path = self.source.join("src/include/lwip/opt.h");
        let known = fs::read_to_string(&path).map_err(|error| failed("reading", &path, &error))?;
        for (name, _) in macros(self.options) {
            let setting = name.to_uppercase();
            let mut words = known.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            if !words.any(|word| word == setting) {
                let message = format!(
                    "{name}: this lwIP has no setting {setting}; its settings are in lwip/opt.h"
                );
                return Err(Failure::new(ExitCode::Usage, message));
            }
        }
        Ok(())
    }

    fn stack(&self) -> Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for part in STACK.iter().chain(self.api().parts()) {
            let path = self.source.join(part);
            if path.is_dir() {
                all.extend(sources(&path)?);
            } else {
                all.push(path);
            }
        }
        Ok(all)
    }
}

/// C files of a folder, sorted by name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| failed("reading", folder, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension() == Some(OsStr::new("c")))
        .collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &[(&str, &str)]) -> Options {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        text.iter().map(owned).collect()
    }

    #[test]
    fn what_a_plan_gives_is_what_the_compiler_is_told() {
        let options = options(&[
            ("api", "socket"),
            ("buffers", "large-buffers"),
            ("opt", "-Os"),
            ("tcp_wnd", "11680"),
        ]);
        let build = Build {
            source: Path::new("/none"),
            options: &options,
        };
        assert_eq!(
            build.settings(),
            [
                "-Os",
                "-DLINERATE_SOCKETS=1",
                "-DLINERATE_LARGE_BUFFERS=1",
                "-DTCP_WND=11680"
            ]
        );
    }

    #[test]
    fn a_setting_that_lwip_does_not_have_is_named() {
        let source = tempfile::tempdir().unwrap();
        let headers = source.path().join("src/include/lwip");
        fs::create_dir_all(&headers).unwrap();
        fs::write(
            headers.join("opt.h"),
            "#if !defined TCP_WND || defined __DOXYGEN__\n",
        )
        .unwrap();
        let check = |options: &Options| {
            Build {
                source: source.path(),
                options,
            }
            .check_names()
        };
        assert!(check(&options(&[("tcp_wnd", "1"), ("opt", "O2")])).is_ok());
        let error = check(&options(&[("tcp_window", "1")])).unwrap_err();
        assert_eq!(error.code, ExitCode::Usage);
        assert!(error.message.contains("TCP_WINDOW"), "{error}");
    }
}
