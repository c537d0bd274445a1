//! The hosts of a mesh, as a file.
//!
//! ```toml
//! [mesh]
//! time = "5s"            # of each test in each direction
//! repetitions = 3        # of each pair; one alone has no interval
//! shared-links = true    # then search for links that nobody declared
//! key = "mesh.key"       # file of the key that the agents ask for
//!
//! [hosts.a]
//! address = "10.0.0.1"   # or ssh://root@10.0.0.1
//! rack = "one"
//! rate = "1G"            # of its interface
//!
//! [hosts.b]
//! address = "10.0.0.2"
//! accepts = false        # behind NAT: it dials, nobody dials it
//!
//! [links.uplink]
//! hosts = ["a"]          # what goes between these hosts and all others passes it
//! ```

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::text::line_at;
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;

/// Most hosts of an inventory.
const MAX_HOSTS: usize = 10_000;
/// Length of one test in one direction, unless the inventory says otherwise: TCP leaves slow start within a second on paths
/// of less than 100 ms, and ten seconds for each of thousands of pairs are hours.
const TEST_TIME: Duration = Duration::from_secs(5);
/// Partners of each host where not every pair is tested: random graphs of degree 8 connect 10 000 hosts within 5 steps.
const PARTNERS: usize = 8;

/// The hosts of a mesh and what is to be tested between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// What it is about.
    pub title: String,
    /// Length of one test in one direction.
    pub time: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Partners of each host where not every pair is tested.
    pub partners: usize,
    /// How often each pair is tested.
    pub repetitions: u32,
    /// Whether links that nobody declared are searched for.
    pub shared_links: bool,
    /// Most L4 payload of all tests together.
    pub budget: Option<ByteCount>,
    /// File of the key that running agents ask for.
    pub key: Option<String>,
    /// The hosts, by name.
    pub hosts: Vec<HostEntry>,
    /// Links that are known to be shared.
    pub links: Vec<DeclaredLink>,
}

/// A host of a mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// Its name.
    pub name: String,
    /// How it is reached, as commands take it.
    pub address: String,
    /// Its rack, or whatever hosts stand together in.
    pub rack: Option<String>,
    /// The interface or machine that it shares with hosts of the same value; absent: one of its own.
    pub nic: Option<String>,
    /// Rate of its interface.
    pub rate: Option<BitRate>,
    /// Whether other hosts can dial it.
    pub accepts: bool,
}

/// A link that traffic between `hosts` and all others passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredLink {
    /// Its name.
    pub name: String,
    /// Places of the hosts behind it.
    pub hosts: BTreeSet<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    mesh: MeshTable,
    hosts: Spanned<BTreeMap<String, HostTable>>,
    #[serde(default)]
    links: BTreeMap<String, LinkTable>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct MeshTable {
    title: Option<String>,
    time: Option<Spanned<String>>,
    #[serde(default)]
    seed: u64,
    partners: Option<Spanned<usize>>,
    repetitions: Option<Spanned<u32>>,
    #[serde(default, rename = "shared-links")]
    shared_links: bool,
    budget: Option<Spanned<String>>,
    key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostTable {
    address: String,
    rack: Option<String>,
    nic: Option<String>,
    rate: Option<Spanned<String>>,
    #[serde(default = "yes")]
    accepts: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    #[serde(default)]
    hosts: Vec<Spanned<String>>,
    #[serde(default)]
    racks: Vec<Spanned<String>>,
}

const fn yes() -> bool {
    true
}

impl Inventory {
    /// Hosts with these names and addresses, and defaults for all else.
    pub(crate) fn of_hosts(hosts: Vec<HostEntry>) -> Result<Self, Failure> {
        let inventory = Self {
            title: format!("mesh of {} hosts", hosts.len()),
            time: TEST_TIME,
            seed: 0,
            partners: PARTNERS,
            repetitions: 1,
            shared_links: false,
            budget: None,
            key: None,
            hosts,
            links: Vec::new(),
        };
        inventory.check_size().map_err(plan_error)?;
        Ok(inventory)
    }

    /// Reads the inventory in `text`, of the file `name`.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Failure> {
        Self::read(text).map_err(|(at, why)| {
            let line = at.map_or_else(String::new, |at| format!(", line {}", line_at(text, at)));
            plan_error(format!("{name}{line}: {why}"))
        })
    }

    fn read(text: &str) -> Result<Self, (Option<usize>, String)> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            (at, error.message().to_owned())
        })?;
        let place = Some(file.hosts.span().start);
        let mut hosts = Vec::new();
        for (name, host) in file.hosts.get_ref() {
            hosts.push(HostEntry {
                name: name.clone(),
                address: host.address.clone(),
                rack: host.rack.clone(),
                nic: host.nic.clone(),
                rate: value(host.rate.as_ref(), "rate", BitRate::from_str)?,
                accepts: host.accepts,
            });
        }
        let MeshTable {
            title,
            time,
            seed,
            partners,
            repetitions,
            shared_links,
            budget,
            key,
        } = file.mesh;
        let repetitions = match repetitions {
            Some(repetitions) if *repetitions.get_ref() == 0 => {
                let why = "repetitions = 0: each pair is tested at least once";
                return Err((Some(repetitions.span().start), why.to_owned()));
            }
            Some(repetitions) => repetitions.into_inner(),
            None => 1,
        };
        let links = file.links.into_iter();
        let links = links.map(|(name, link)| declared(name, &link, &hosts));
        let links = links.collect::<Result<_, _>>()?;
        let partners = match partners {
            Some(partners) if *partners.get_ref() == 0 => {
                let why = "partners = 0: each host needs at least one partner";
                return Err((Some(partners.span().start), why.to_owned()));
            }
            Some(partners) => partners.into_inner(),
            None => PARTNERS,
        };
        let inventory = Self {
            title: title.unwrap_or_else(|| format!("mesh of {} hosts", hosts.len())),
            time: value(time.as_ref(), "time", parse_duration)?.unwrap_or(TEST_TIME),
            seed,
            partners,
            repetitions,
            shared_links,
            budget: value(budget.as_ref(), "budget", ByteCount::from_str)?,
            key,
            hosts,
            links,
        };
        inventory.check_size().map_err(|why| (place, why))?;
        Ok(inventory)
    }

    fn check_size(&self) -> Result<(), String> {
        match self.hosts.len() {
            0 | 1 => Err("a mesh needs at least two hosts".to_owned()),
            2..=MAX_HOSTS => Ok(()),
            more => Err(format!("{more} hosts: at most {MAX_HOSTS} are planned")),
        }
    }
}

/// The value of a key, if it is there.
fn value<T, E: std::fmt::Display>(
    text: Option<&Spanned<String>>,
    key: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, (Option<usize>, String)> {
    let Some(text) = text else { return Ok(None) };
    let found = read(text.get_ref());
    found
        .map(Some)
        .map_err(|why| (Some(text.span().start), format!("{key}: {why}")))
}

fn declared(
    name: String,
    link: &LinkTable,
    hosts: &[HostEntry],
) -> Result<DeclaredLink, (Option<usize>, String)> {
    let mut behind = BTreeSet::new();
    for wanted in &link.hosts {
        let found = hosts.iter().position(|host| host.name == *wanted.get_ref());
        behind.insert(found.ok_or_else(|| unknown(wanted, &name, "host"))?);
    }
    for wanted in &link.racks {
        let of_rack = |host: &HostEntry| host.rack.as_ref() == Some(wanted.get_ref());
        let found = hosts.iter().enumerate();
        let found = found.filter(|(_, host)| of_rack(host));
        let before = behind.len();
        behind.extend(found.map(|(place, _)| place));
        if behind.len() == before {
            return Err(unknown(wanted, &name, "rack"));
        }
    }
    Ok(DeclaredLink {
        name,
        hosts: behind,
    })
}

fn unknown(wanted: &Spanned<String>, link: &str, what: &str) -> (Option<usize>, String) {
    let why = format!(
        "link {link}: there is no {what} \"{}\" in this inventory",
        wanted.get_ref()
    );
    (Some(wanted.span().start), why)
}

pub(crate) fn plan_error(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::Plan, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = Inventory::from_toml("lab.toml", text).unwrap_err();
        assert_eq!(error.code, ExitCode::Plan);
        error.message
    }

    #[test]
    fn an_inventory_is_read_with_all_its_keys() {
        let text = "[mesh]\ntime = \"2s\"\nbudget = \"1G\"\nseed = 7\nshared-links = true\n\
            [hosts.a]\naddress = \"10.0.0.1\"\nrack = \"one\"\nrate = \"1G\"\n\
            [hosts.b]\naddress = \"ssh://b\"\naccepts = false\n\
            [links.up]\nracks = [\"one\"]\n";
        let inventory = Inventory::from_toml("lab.toml", text).unwrap();
        assert_eq!(inventory.time, Duration::from_secs(2));
        assert_eq!(
            inventory.hosts[0].rate,
            Some(BitRate::from_bps(1_000_000_000))
        );
        assert!(!inventory.hosts[1].accepts);
        assert!(inventory.shared_links);
        assert_eq!(inventory.links[0].hosts, BTreeSet::from([0]));
    }

    #[test]
    fn what_is_wrong_is_told_with_file_and_line() {
        let two = "[hosts.a]\naddress = \"a\"\n[hosts.b]\naddress = \"b\"\n";
        let wrong = |line: &str| refused(&format!("{two}{line}\n"));
        for (text, line, part) in [
            ("speed = \"1G\"", 5, "speed"),
            ("rate = \"fast\"", 5, "rate"),
            ("[links.up]\nhosts = [\"c\"]", 6, "no host \"c\""),
            ("[links.up]\nracks = [\"r\"]", 6, "no rack \"r\""),
            ("[mesh]\npartners = 0", 6, "partners"),
            ("[mesh]\ntime = \"soon\"", 6, "time"),
        ] {
            let message = wrong(text);
            assert!(
                message.starts_with(&format!("lab.toml, line {line}: ")),
                "{message}"
            );
            assert!(message.contains(part), "{message}");
        }
        assert!(refused("[hosts.a]\naddress = \"a\"\n").contains("two hosts"));
    }
}
