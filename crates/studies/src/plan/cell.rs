//! A cell of a plan: what its settings ask for, and where.

use super::{Places, stacks};
use crate::options::{self, KIND, Request, STACK, Source, TestKind};
use crate::run::{PayloadChoice, Test};
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::exit::Result;
use linerate_model::link::EmulatedLink;
use linerate_model::run::StudyPlace;
use linerate_stacks::StackSpec;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// One combination of levels.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its levels: `payload = 64, direction = reverse`.
    pub label: String,
    /// Every setting with its value, defaults included, and its series.
    pub settings: BTreeMap<String, String>,
    /// The peer: the study's, or a stack that is started for each run.
    pub far: PeerAddress,
    /// IP versions to use.
    pub ip: IpChoice,
    /// The link element before the peer, which must be an emulated board; `None` leaves its link as it is.
    pub link: Option<EmulatedLink>,
    /// What is measured.
    pub test: Test,
    /// How long each of its runs is then probed for what limits it; zero: not at all.
    pub diagnose: Duration,
    /// Whether its datagrams are made to fit the path.
    pub payload: PayloadChoice,
    /// What the plan gives and its test does not say, in the plan's words: `load = tcp, diagnose = 5s`.
    pub beside: Option<String>,
}

/// Where the peer of a device between two ports is.
const THIS_HOST: &str = "127.0.0.1";

/// What cells may be measured at.
pub(super) struct Peers {
    /// The study's.
    pub(super) host: Option<PeerAddress>,
    /// Stacks that the plan names.
    pub(super) stacks: stacks::Named,
}

/// A key with one of its values, and where the value stands.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) key: &'static str,
    pub(super) value: &'a Spanned<toml::Value>,
}

/// What a series gives to each of its cells.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) series: Option<&'a str>,
    pub(super) defaults: &'a [Level<'a>],
    pub(super) peers: &'a Peers,
    pub(super) place: Places<'a>,
}

/// A setting as it is written.
struct Setting {
    key: &'static str,
    text: String,
    at: usize,
    is_varied: bool,
}

/// Why settings make no cell, and where the one stands that is wrong.
type Wrong = (Option<usize>, String);

impl Shared<'_> {
    /// The defaults, changed by these levels.
    pub(super) fn cell(&self, levels: &[Level<'_>]) -> Result<Cell> {
        let settings = self.settings(levels)?;
        let label = self.label(&settings);
        let fail = |(at, why): Wrong| match at {
            Some(at) => self.place.fail(Some(at), &why),
            None => self.place.fail(None, &format!("cell \"{label}\": {why}")),
        };
        let (request, beside) = self.request(&settings).map_err(fail)?;
        let place = request.place;
        let host = place.host.as_ref().or(self.peers.host.as_ref());
        let far = match &request.test {
            // It makes its own peer.
            Test::Switch(_) => PeerAddress::parse(THIS_HOST)?,
            _ => peer(place.stack, host).map_err(|why| fail((None, why)))?,
        };
        let series = self
            .series
            .map(|name| (StudyPlace::SERIES, name.to_owned()));
        let settings = settings.into_iter().map(|one| (one.key, one.text));
        let settings = series.into_iter().chain(settings);
        Ok(Cell {
            settings: settings.map(|(key, text)| (key.to_owned(), text)).collect(),
            far,
            ip: place.ip,
            link: place.link,
            test: request.test,
            payload: request.after.payload,
            diagnose: request.after.diagnose,
            beside,
            label,
        })
    }

    /// The defaults that no level overrules, and the levels.
    fn settings(&self, levels: &[Level<'_>]) -> Result<Vec<Setting>> {
        let is_varied = |key: &str| levels.iter().any(|level| level.key == key);
        let kept = self.defaults.iter().filter(|level| !is_varied(level.key));
        let setting = |level: &Level<'_>| {
            let (key, at) = (level.key, level.value.span().start);
            let text = plain(level.value.get_ref()).ok_or_else(|| {
                let why = format!("{key}: a text, a number, true or false is needed");
                self.place.fail(Some(at), &why)
            })?;
            Ok(Setting {
                key,
                text,
                at,
                is_varied: is_varied(key),
            })
        };
        kept.chain(levels).map(setting).collect()
    }

    /// `series = load, rate = 10M`.
    fn label(&self, settings: &[Setting]) -> String {
        let series = self
            .series
            .map(|name| format!("{} = {name}", StudyPlace::SERIES));
        let varied = settings.iter().filter(|setting| setting.is_varied);
        let varied = varied.map(|setting| format!("{} = {}", setting.key, setting.text));
        let all: Vec<_> = series.into_iter().chain(varied).collect();
        if all.is_empty() {
            "all".to_owned()
        } else {
            all.join(", ")
        }
    }

    /// What is asked for, and what of it no test says.
    fn request(&self, settings: &[Setting]) -> Result<(Request, Option<String>), Wrong> {
        let kind = kind(settings)?;
        let (mut given, mut beside) = (Vec::new(), Vec::new());
        for Setting { key, text, at, .. } in settings {
            let option = options::find(kind, key).ok_or_else(|| {
                let kinds: Vec<_> = options::with_key(key)
                    .flat_map(|option| option.kinds)
                    .collect();
                let kinds = TestKind::ALL
                    .into_iter()
                    .filter(|kind| kinds.contains(&kind));
                let kinds = TestKind::names(&kinds.collect::<Vec<_>>());
                let kind = kind.as_str();
                let why = format!("{key} = {text}: does not apply to kind {kind}, only to {kinds}");
                (Some(*at), why)
            })?;
            if option.is_beside {
                beside.push(format!("{key} = {text}"));
            }
            let named = self.peers.stacks.get(text).filter(|_| *key == STACK);
            given.push((option, named.unwrap_or(text).clone()));
        }
        let request = options::request(kind, Source::Plan, &given).map_err(|refused| {
            let at = refused.at.and_then(|index| settings.get(index));
            (at.map(|setting| setting.at), refused.message)
        })?;
        request
            .check(kind, Source::Plan)
            .map_err(|why| (None, why))?;
        Ok((request, (!beside.is_empty()).then(|| beside.join(", "))))
    }
}

fn kind(settings: &[Setting]) -> Result<TestKind, Wrong> {
    let known = TestKind::names(&TestKind::ALL);
    let given = settings.iter().find(|setting| setting.key == KIND);
    let given = given.ok_or_else(|| (None, format!("give a kind: {known}")))?;
    TestKind::named(&given.text).ok_or_else(|| {
        let why = format!("kind = {}: must be one of {known}", given.text);
        (Some(given.at), why)
    })
}

/// The peer of a cell: its own stack, or the study's.
fn peer(stack: Option<StackSpec>, host: Option<&PeerAddress>) -> Result<PeerAddress, String> {
    match (stack, host) {
        (Some(stack), None) => PeerAddress::of_stack(stack).map_err(|error| error.message),
        (None, Some(host)) if host.is_stack() => {
            Err("host: write the stack as a setting, stack = \"NAME\" in [defaults]".to_owned())
        }
        (None, Some(host)) => Ok(host.clone()),
        (Some(_), Some(_)) => {
            Err("stack: leave out host, which no network of stacks reaches".to_owned())
        }
        (None, None) => Err("give a host in [study], or a stack".to_owned()),
    }
}

/// A value as it would stand on the command line.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(is_set) => Some(is_set.to_string()),
        _ => None,
    }
}

/// The key of a plan that is called so.
pub(super) fn key(key: &Spanned<String>, place: Places<'_>) -> Result<&'static str> {
    let known = options::keys();
    let found = known.iter().find(|known| *known == key.get_ref());
    found.copied().ok_or_else(|| {
        let name = key.get_ref().escape_debug();
        let known = known.join(", ");
        let why = format!("there is no setting \"{name}\"; known are {known}");
        place.fail(Some(key.span().start), &why)
    })
}
