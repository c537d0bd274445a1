//! A helper process outside the user namespace that changes what belongs to the whole machine, and
//! puts it back: also when the laboratory is killed, because its standard input then ends.

use anyhow::{Context as _, Result, bail};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The argument that makes this program a guard.
pub(crate) const GUARD: &str = "--guard";

/// Where version 1's cpu controller is mounted by custom.
const CPU_GROUPS: &str = "/sys/fs/cgroup/cpu";

/// The laboratory's end of the helper.
pub(crate) struct Guard {
    child: Child,
    ask: Option<ChildStdin>,
    answer: BufReader<ChildStdout>,
}

impl Guard {
    /// Starts the helper; call it before entering a user namespace.
    pub(crate) fn start() -> Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg(GUARD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take();
        let answer = child.stdout.take().context("invariant: it is piped")?;
        Ok(Self {
            child,
            ask,
            answer: BufReader::new(answer),
        })
    }

    /// Whether sysctls of the machine can be changed.
    pub(crate) fn has_root(&mut self) -> bool {
        self.order("may-root").is_ok()
    }

    /// Whether control groups can be given a CPU quota.
    pub(crate) fn has_quota(&mut self) -> bool {
        self.order("may-quota").is_ok()
    }

    /// Changes a sysctl until [`Guard::undo`].
    pub(crate) fn sysctl(&mut self, name: &str, value: &str) -> Result<()> {
        self.order(&format!("sysctl {name} {value}"))
    }

    /// Puts a process into a control group that may use `share` of one core, until [`Guard::undo`].
    pub(crate) fn quota(&mut self, process: u32, share: f64) -> Result<()> {
        self.order(&format!("quota {process} {share}"))
    }

    /// Puts everything back.
    pub(crate) fn undo(&mut self) -> Result<()> {
        self.order("undo")
    }

    fn order(&mut self, line: &str) -> Result<()> {
        let ask = self.ask.as_mut().context("invariant: open until dropped")?;
        writeln!(ask, "{line}")?;
        let mut answer = String::new();
        self.answer.read_line(&mut answer)?;
        match answer.trim() {
            "ok" => Ok(()),
            "" => bail!("the guard has ended"),
            why => bail!("{why}"),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.ask.take());
        let _ = self.child.wait();
    }
}

/// The main of a guard: obeys until its standard input ends, then puts everything back.
pub(crate) fn guard_main() -> Result<()> {
    let mut changes = Changes::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { break };
        let said = match obey(&line, &mut changes) {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("{error:#}").replace('\n', " "),
        };
        if writeln!(out, "{said}").is_err() {
            break;
        }
    }
    changes.undo()
}

fn obey(line: &str, changes: &mut Changes) -> Result<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["may-root"] => {
            let path = sysctl_path("net.core.netdev_max_backlog");
            let value = fs::read_to_string(&path)?;
            Ok(fs::write(path, value)?)
        }
        ["may-quota"] => {
            let group = Path::new(CPU_GROUPS).join(format!("linerate-try-{}", std::process::id()));
            fs::create_dir(&group)?;
            let has = group.join("cpu.cfs_quota_us").exists();
            fs::remove_dir(&group)?;
            anyhow::ensure!(has, "no CPU quota in {CPU_GROUPS}");
            Ok(())
        }
        ["sysctl", name, value] => changes.sysctl(name, value),
        ["quota", process, share] => changes.quota(process, share.parse()?),
        ["undo"] => changes.undo(),
        _ => bail!("no such order: {line}"),
    }
}

fn sysctl_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// What was changed, oldest first.
#[derive(Default)]
struct Changes {
    sysctls: Vec<(PathBuf, String)>,
    groups: Vec<PathBuf>,
}

impl Changes {
    fn sysctl(&mut self, name: &str, value: &str) -> Result<()> {
        let path = sysctl_path(name);
        let before = fs::read_to_string(&path)?;
        self.sysctls.push((path.clone(), before));
        fs::write(&path, value).with_context(|| format!("writing {}", path.display()))
    }

    fn quota(&mut self, process: &str, share: f64) -> Result<()> {
        const PERIOD_MICROS: f64 = 100_000.0;
        let name = format!("linerate-{}-{}", std::process::id(), self.groups.len());
        let group = Path::new(CPU_GROUPS).join(name);
        fs::create_dir(&group).with_context(|| format!("making {}", group.display()))?;
        self.groups.push(group.clone());
        fs::write(group.join("cpu.cfs_period_us"), format!("{PERIOD_MICROS}"))?;
        let quota = format!("{:.0}", PERIOD_MICROS * share);
        fs::write(group.join("cpu.cfs_quota_us"), quota)?;
        fs::write(group.join("cgroup.procs"), process).context("moving the process")
    }

    fn undo(&mut self) -> Result<()> {
        while let Some((path, before)) = self.sysctls.pop() {
            fs::write(path, before)?;
        }
        while let Some(group) = self.groups.pop() {
            let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            for process in inside.lines() {
                // One that has just ended cannot be moved and need not be.
                let _ = fs::write(Path::new(CPU_GROUPS).join("cgroup.procs"), process);
            }
            fs::remove_dir(&group).with_context(|| format!("removing {}", group.display()))?;
        }
        Ok(())
    }
}
