//! The boards of one user: a folder for each, at a fixed place.

use crate::tools::failed;
use crate::{BoardName, SerialNumber, network};
use linerate_model::board::{Board, BoardCondition, BoardLink};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::link::EmulatedLink;
use rustix::process::getuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Files in the folder of a board.
const RECORD: &str = "board.json";
const LOCK: &str = "lock";
const HOLDER: &str = "holder";

/// State of a started board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: BoardName,
    /// What is emulated, and by what: `sifive_u on QEMU 7.2.22`.
    pub emulated: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its host's address on the same link.
    pub host: Ipv4Addr,
    /// Its serial number.
    pub serial: SerialNumber,
    /// Its MAC address.
    pub mac: String,
    /// Inode of the network namespace to which it is linked.
    pub(crate) namespace: u64,
    /// Link element between it and its host; `None`: an unimpaired link.
    #[serde(default)]
    pub link: Option<EmulatedLink>,
    /// How far it came.
    pub state: BoardState,
}

/// State of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "why")]
pub enum BoardState {
    /// It does not answer yet.
    Starting,
    /// Its agent greeted.
    Ready,
    /// It has ended, with the reason.
    Ended(String),
}

/// The boards of one user.
#[derive(Debug, Clone)]
pub struct Boards {
    folder: PathBuf,
}

/// A board that was started and not taken down.
#[derive(Debug, Clone)]
pub struct FoundBoard {
    /// Its record; `None` if its start failed early.
    pub record: Option<Record>,
    /// Its name.
    pub name: BoardName,
    /// Whether it has a supervisor.
    pub is_up: bool,
}

impl From<&Record> for BoardLink {
    fn from(record: &Record) -> Self {
        Self {
            emulated: record.emulated.clone(),
            address: record.address,
            host_address: record.host,
            serial: record.serial.number(),
            mac: record.mac.clone(),
            element: record.link,
        }
    }
}

impl From<&FoundBoard> for Board {
    fn from(found: &FoundBoard) -> Self {
        Self {
            name: found.name.to_string(),
            condition: found.condition(),
            link: found.record.as_ref().map(BoardLink::from),
            start: None,
        }
    }
}

impl FoundBoard {
    /// Its condition.
    pub fn condition(&self) -> BoardCondition {
        let why = match self.record.as_ref().map(|record| &record.state) {
            Some(BoardState::Ended(why)) => why,
            Some(BoardState::Ready) if self.is_up => return BoardCondition::Ready,
            Some(BoardState::Starting) | None if self.is_up => return BoardCondition::Starting,
            Some(BoardState::Starting | BoardState::Ready) => "its supervisor was killed",
            None => "it did not start",
        };
        BoardCondition::Gone {
            why: why.to_owned(),
        }
    }
}

impl Boards {
    /// Boards of the user who runs this process. They are in the user's runtime folder, so that they end with the boot,
    /// or else in a private temporary folder.
    pub fn of_user() -> Result<Self> {
        let user = getuid().as_raw();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        // Inside a namespace where the user is root, use the user's id outside of it.
        let outside = outside(&map, user).unwrap_or(user);
        let own = PathBuf::from(format!("/run/user/{outside}"));
        let parent = if is_private(&own, user) {
            own.join("linerate")
        } else {
            PathBuf::from(format!("/tmp/linerate-{outside}"))
        };
        make_private(&parent)?;
        if !is_private(&parent, user) {
            let message = format!(
                "{} is not a folder that only this user can write to: remove it",
                parent.display()
            );
            return Err(Failure::new(ExitCode::HostLacks, message));
        }
        Ok(Self::in_folder(parent.join("boards")))
    }

    /// Boards in a folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Every board, by name.
    pub fn all(&self) -> Result<Vec<FoundBoard>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("reading", &self.folder, &error)),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut names: Vec<BoardName> = names.collect();
        names.sort();
        let found = names.iter().filter_map(|name| self.find(name).transpose());
        found.collect()
    }

    /// The board of this name, if it was started and not taken down.
    pub fn find(&self, name: &BoardName) -> Result<Option<FoundBoard>> {
        let home = self.home(name);
        if !home.path.is_dir() {
            return Ok(None);
        }
        Ok(Some(FoundBoard {
            record: home.record(),
            name: name.clone(),
            is_up: home.lock()?.is_none(),
        }))
    }

    /// The board of this name, which must be ready.
    pub fn reach(&self, name: &BoardName) -> Result<Record> {
        let gone = |why: String| Failure::new(ExitCode::Peer, format!("board://{name}: {why}"));
        let start = format!("start it with: linerate board up {name}");
        let Some(found) = self.find(name)? else {
            return Err(gone(format!("no such board is up; {start}")));
        };
        let record = match found.record {
            Some(record) if found.is_up => record,
            Some(record) => {
                let why = match record.state {
                    BoardState::Ended(why) => why,
                    BoardState::Starting | BoardState::Ready => "its supervisor is gone".to_owned(),
                };
                return Err(gone(format!(
                    "the board is not up any more ({why}); {start}"
                )));
            }
            None => return Err(gone(format!("the board did not start; {start}"))),
        };
        if record.state != BoardState::Ready {
            let message =
                "the board is starting; wait until `linerate board up` says that it is ready";
            return Err(gone(message.to_owned()));
        }
        if network::namespace()? != record.namespace {
            let message = "the board is linked to another network namespace; run this command in the one in which it was started";
            return Err(gone(message.to_owned()));
        }
        Ok(record)
    }

    /// Log of the board's console since its start.
    pub fn console_log(&self, name: &BoardName) -> Result<PathBuf> {
        let path = self.home(name).path.join(crate::qemu::CONSOLE_LOG);
        if path.is_file() {
            return Ok(path);
        }
        let message = format!(
            "board {name} has no console log: no such board was started; linerate board list shows those that were"
        );
        Err(Failure::new(ExitCode::Peer, message))
    }

    pub(crate) fn home(&self, name: &BoardName) -> Home {
        Home::at(self.folder.join(name.as_str()))
    }

    /// Creates the folder of a board, and its parents.
    pub(crate) fn make_home(&self, name: &BoardName) -> Result<Home> {
        make_private(&self.folder)?;
        let home = self.home(name);
        make_private(&home.path)?;
        Ok(home)
    }
}

/// The folder of one board.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The lock, unless another process holds it.
    pub(crate) fn lock(&self) -> Result<Option<File>> {
        let path = self.path.join(LOCK);
        let mut options = File::options();
        options.create(true).truncate(false).read(true).write(true);
        let file = options
            .open(&path)
            .map_err(|error| failed("opening", &path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed("locking", &path, &error)),
        }
    }

    /// Takes the lock for this process.
    pub(crate) fn hold(&self, name: &BoardName) -> Result<File> {
        let Some(file) = self.lock()? else {
            let message =
                format!("board {name} is up already; stop it with: linerate board down {name}");
            return Err(Failure::new(ExitCode::Usage, message));
        };
        self.hold_on()?;
        Ok(file)
    }

    /// Records this process as the holder of the lock, which it may have inherited.
    pub(crate) fn hold_on(&self) -> Result<()> {
        let path = self.path.join(HOLDER);
        fs::write(&path, std::process::id().to_string())
            .map_err(|error| failed("writing", &path, &error))
    }

    /// The process that holds the lock, or held it last.
    pub(crate) fn holder(&self) -> Option<u32> {
        fs::read_to_string(self.path.join(HOLDER))
            .ok()?
            .parse()
            .ok()
    }

    pub(crate) fn record(&self) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.path.join(RECORD)).ok()?).ok()
    }

    /// Writes the record atomically.
    pub(crate) fn keep(&self, record: &Record) -> Result<()> {
        let path = self.path.join(RECORD);
        let next = path.with_extension("next");
        let text = serde_json::to_vec_pretty(record).map_err(io::Error::from);
        let written = text.and_then(|text| fs::write(&next, text));
        written
            .and_then(|()| fs::rename(&next, &path))
            .map_err(|error| failed("writing", &path, &error))
    }
}

/// Id of a user outside of its user namespace, by the namespace's map: lines of the first id inside, the first outside,
/// and how many.
fn outside(map: &str, user: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut numbers = line
            .split_ascii_whitespace()
            .map(|word| word.parse::<u32>().ok());
        let mut next = || numbers.next().flatten();
        let (inside, outside, length) = (next()?, next()?, next()?);
        let offset = user.checked_sub(inside).filter(|offset| *offset < length)?;
        outside.checked_add(offset)
    })
}

/// Whether it is a folder of this user without write access for others.
fn is_private(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|file| file.is_dir() && file.uid() == user && file.mode() & 0o022 == 0)
}

fn make_private(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    let made = builder.mode(0o700).recursive(true).create(path);
    made.map_err(|error| failed("creating", path, &error))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(name: &str) -> Record {
        let serial = SerialNumber::new(1).unwrap();
        Record {
            name: name.parse().unwrap(),
            emulated: "virt on QEMU 7.2.22".to_owned(),
            address: Ipv4Addr::new(10, 78, 1, 2),
            host: Ipv4Addr::new(10, 78, 1, 1),
            serial,
            mac: serial.mac(),
            namespace: network::namespace().unwrap(),
            link: None,
            state: BoardState::Ready,
        }
    }

    #[test]
    fn a_board_is_up_as_long_as_its_lock_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let boards = Boards::in_folder(folder.path().join("boards"));
        let name: BoardName = "a".parse().unwrap();
        assert!(boards.all().unwrap().is_empty());
        let said = boards.reach(&name).unwrap_err();
        assert_eq!(said.code, ExitCode::Peer);
        assert!(said.message.contains("linerate board up a"), "{said}");

        let home = boards.make_home(&name).unwrap();
        let lock = home.hold(&name).unwrap();
        assert_eq!(home.holder(), Some(std::process::id()));
        assert_eq!(home.hold(&name).unwrap_err().code, ExitCode::Usage);
        let mut record = record("a");
        record.state = BoardState::Starting;
        home.keep(&record).unwrap();
        assert!(
            boards
                .reach(&name)
                .unwrap_err()
                .message
                .contains("is starting")
        );
        record.state = BoardState::Ready;
        home.keep(&record).unwrap();
        assert_eq!(boards.reach(&name).unwrap(), record);
        drop(lock);

        let all = boards.all().unwrap();
        assert_eq!((all.len(), all[0].is_up), (1, false));
        let said = boards.reach(&name).unwrap_err();
        assert!(said.message.contains("supervisor is gone"), "{said}");
    }

    #[test]
    fn a_user_is_known_by_what_it_is_called_outside() {
        assert_eq!(outside("         0          0 4294967295\n", 7), Some(7));
        assert_eq!(outside("0 1000 1\n", 0), Some(1000));
        assert_eq!(outside("0 1000 1\n1 100000 65536\n", 5), Some(100_004));
        assert_eq!(outside("0 1000 1\n", 3), None);
    }

    #[test]
    fn a_board_of_another_network_is_not_taken_for_one_of_this() {
        let folder = tempfile::tempdir().unwrap();
        let boards = Boards::in_folder(folder.path().to_owned());
        let name: BoardName = "a".parse().unwrap();
        let home = boards.make_home(&name).unwrap();
        let _lock = home.hold(&name).unwrap();
        let mut record = record("a");
        record.namespace += 1;
        home.keep(&record).unwrap();
        let said = boards.reach(&name).unwrap_err();
        assert!(said.message.contains("another network namespace"), "{said}");
    }
}
