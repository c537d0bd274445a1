//! Debian's Prometheus, which asks a service for its metrics every second.

use crate::settled;
use anyhow::{Context as _, Result, bail, ensure};
use linerate_testkit::child::KilledChild;
use linerate_testkit::ports::free_address;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// It, with all it keeps.
pub(crate) struct Prometheus {
    _child: KilledChild,
    address: SocketAddr,
    _home: tempfile::TempDir,
}

impl Prometheus {
    /// Starts it for the service with these metrics, and waits for the first that it has.
    pub(crate) fn of(service: SocketAddr) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let job =
            json!({"job_name": "linerate", "static_configs": [{"targets": [service.to_string()]}]});
        // JSON is YAML.
        let configuration = json!({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]});
        let file = home.path().join("prometheus.yml");
        std::fs::write(&file, configuration.to_string())?;
        let address = free_address(IpAddr::V4(Ipv4Addr::LOCALHOST))?;
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", home.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=warn")
            .stdin(Stdio::null())
            .spawn()
            .context("starting prometheus (Debian package: prometheus, unpacked by ci/need packages-all)")?;
        let it = Self {
            _child: child.into(),
            address,
            _home: home,
        };
        it.wait_for("sum(up)", 1)?;
        Ok(it)
    }

    /// The value of a query that has one, a whole number, as of now.
    pub(crate) fn newest(&self, query: &str) -> Result<u64> {
        let answer = self.ask(query)?;
        let all = answer["data"]["result"].as_array();
        let [one] = all.map_or(&[][..], Vec::as_slice) else {
            bail!("{query}: {answer}");
        };
        let value = one["value"][1].as_str().context("a value")?;
        value.parse().with_context(|| format!("{query}: {value}"))
    }

    /// Waits until a query has this value: what happened last is scraped a second later.
    pub(crate) fn wait_for(&self, query: &str, value: u64) -> Result<()> {
        let mut last = String::new();
        let is_so = settled(|| {
            let newest = self.newest(query);
            last = format!("{newest:?}");
            Ok(newest.is_ok_and(|newest| newest == value))
        })?;
        ensure!(is_so, "{query} is not {value}: {last}");
        Ok(())
    }

    fn ask(&self, query: &str) -> Result<Value> {
        let mut encoded = String::new();
        for byte in query.bytes() {
            write!(encoded, "%{byte:02x}")?;
        }
        let body = get(self.address, &format!("/api/v1/query?query={encoded}"))?;
        Ok(serde_json::from_str(&body)?)
    }
}

/// The body of an answer over HTTP/1.0, to which it comes in one piece.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    Ok(body.to_owned())
}
