//! A scene, live: hosts, disturbances, the peer; and the test run on it.

use crate::guard::Guard;
use crate::rivals::Rivals;
use crate::scene::{PeerAddress, Place, Scene, Step, Test};
use anyhow::{Context as _, Result, bail, ensure};
use linerate_agent::{Agent, AgentPlan, Speaking, serve};
use linerate_client::Target;
use linerate_client::address::PeerAddress as Address;
use linerate_model::run::Run;
use linerate_report::agent_event;
use linerate_studies::context::{Context, unattended};
use linerate_studies::run::{diagnose, prove, saturate, single};
use linerate_testbed::{Host, HostId, TwoHosts};
use linerate_testkit::disturbance::undisturbed;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Whether the verdict's own experiment is run, as `--prove` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Demanded,
    Waived,
}

/// What playing a scene gave.
pub(crate) struct Played {
    /// The run with its verdict.
    pub(crate) run: Run,
    /// How often the test was made again because it was disturbed.
    pub(crate) repeats: u32,
    /// Whether it was disturbed even so.
    pub(crate) is_disturbed: bool,
}

/// Builds the scene, runs its test, takes it down.
pub(crate) fn play(scene: &Scene, proof: Proof, guard: &mut Guard) -> Result<Played> {
    let test = scene.test.clone();
    on_scene(scene, guard, move |context, target| {
        measure(context, target, &test, proof)
    })
}

/// Builds the scene, does something on host A against the peer, takes it down.
pub(crate) fn on_scene<T: Send + 'static>(
    scene: &Scene,
    guard: &mut Guard,
    work: impl FnOnce(&mut Context<'_>, &Target) -> Result<T> + Send + 'static,
) -> Result<T> {
    let hosts = TwoHosts::create(scene.link.clone(), 1)?;
    let result = disturbed(&hosts, scene, guard, work);
    guard.undo()?;
    hosts
        .close()
        .map_err(|errors| anyhow::anyhow!("taking the hosts down: {errors:?}"))?;
    result
}

fn disturbed<T: Send + 'static>(
    hosts: &TwoHosts,
    scene: &Scene,
    guard: &mut Guard,
    work: impl FnOnce(&mut Context<'_>, &Target) -> Result<T> + Send + 'static,
) -> Result<T> {
    for step in &scene.setup {
        take(hosts, step, guard).with_context(|| format!("{step:?}"))?;
    }
    let far = FarSide::start(hosts.host(HostId::B), scene, guard)?;
    let rivals = Rivals::start(hosts, scene.rivals)?;
    let busy = Busy::start(&scene.busy);
    let target = far.target.clone();
    let client = move || unattended(|context: &mut Context<'_>| work(context, &target));
    let result = hosts
        .host(HostId::A)
        .spawn("client", client)?
        .join()
        .unwrap();
    busy.stop();
    rivals.stop();
    far.stop()?;
    result
}

fn take(hosts: &TwoHosts, step: &Step, guard: &mut Guard) -> Result<()> {
    match step {
        Step::Mtu(id, mtu) => Ok(hosts.set_mtu(*id, *mtu)?),
        Step::MachineSysctl(name, value) => guard.sysctl(name, value),
        Step::Program(place, program, words) => {
            let (program, words) = (*program, words.clone());
            let work = move || Command::new(program).args(words).output();
            let thread = match place {
                Place::Host(id) => hosts.host(*id).spawn("program", work)?,
                Place::Router => hosts
                    .router()
                    .context("this scene has no router")?
                    .spawn("program", work)?,
            };
            let output = thread.join().unwrap().context("it did not start")?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{}: {said}", output.status);
            Ok(())
        }
    }
}

/// What `linerate tcp` spends on what limits, unless told otherwise.
const DIAGNOSIS: Duration = Duration::from_secs(10);

/// Runs the test; a disturbed run is made again, whatever its verdict.
fn measure(
    context: &mut Context<'_>,
    target: &Target,
    test: &Test,
    proof: Proof,
) -> Result<Played> {
    let measured = undisturbed(|| test.run(context, target));
    let (repeats, is_disturbed) = (measured.repeats, measured.is_disturbed());
    let value = measured.value;
    let run = diagnose(context, target, value?, DIAGNOSIS);
    let run = match proof {
        Proof::Demanded => prove(context, target, run)?,
        Proof::Waived => run,
    };
    Ok(Played {
        run,
        repeats,
        is_disturbed,
    })
}

impl Test {
    /// Runs it, as its command does.
    pub(crate) fn run(&self, context: &mut Context<'_>, target: &Target) -> Result<Run> {
        match self {
            Self::Search(plan) => saturate(context, target, plan),
            Self::Single(spec) => single(context, target, spec),
        }
    }
}

/// Busy loops, until stopped.
struct Busy {
    running: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start(cores: &[u32]) -> Self {
        let running = Arc::new(AtomicBool::new(true));
        let spin = |core: &u32| {
            let (running, core) = (Arc::clone(&running), *core);
            thread::spawn(move || {
                linerate_sys::affinity::pin_current_thread(core).unwrap();
                while running.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        Self {
            loops: cores.iter().map(spin).collect(),
            running,
        }
    }

    fn stop(self) {
        self.running.store(false, Ordering::Relaxed);
        for busy in self.loops {
            busy.join().unwrap();
        }
    }
}

/// The peer, wherever it runs.
struct FarSide {
    target: Target,
    kind: Running,
}

enum Running {
    Process(Child),
    Thread(Agent),
}

impl FarSide {
    fn start(host: &Host, scene: &Scene, guard: &mut Guard) -> Result<Self> {
        let (port, kind) = match scene.peer {
            PeerAddress::Thread => {
                let agent = Agent::start_on(host, plan()?)?;
                (agent.port(), Running::Thread(agent))
            }
            PeerAddress::Quota(share) => {
                let (port, child) = start_process(host)?;
                guard.quota(child.id(), share)?;
                (port, Running::Process(child))
            }
        };
        let address = if scene.foreign {
            format!("{FOREIGN}://{}", host.ipv4())
        } else {
            format!("{}:{port}", host.ipv4())
        };
        Ok(Self {
            target: Target::new(Address::parse(&address)?),
            kind,
        })
    }

    fn stop(self) -> Result<()> {
        match self.kind {
            Running::Thread(agent) => agent.stop(),
            Running::Process(mut child) => {
                // It ends when its standard input does.
                drop(child.stdin.take());
                child.wait()?;
                Ok(())
            }
        }
    }
}

/// The other tool's protocol that a peer speaks, on its usual port.
const FOREIGN: &str = "iperf3";

/// Serves linerate's own protocol and the other tool's.
fn plan() -> Result<AgentPlan> {
    Ok(AgentPlan {
        speak: vec![Speaking::own(), FOREIGN.parse()?],
        ..AgentPlan::private()
    })
}

/// The argument that makes this program a peer.
pub(crate) const FAR_END: &str = "--peer";

fn start_process(host: &Host) -> Result<(u16, Child)> {
    let start = || {
        Command::new("/proc/self/exe")
            .arg(FAR_END)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
    };
    let mut child = host.spawn("peer", start)?.join().unwrap()?;
    let mut line = String::new();
    let stdout = child.stdout.take().context("invariant: it is piped")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let port = line.trim().rsplit(':').next().unwrap_or_default();
    match port.parse() {
        Ok(port) => Ok((port, child)),
        Err(_) => bail!("the peer said {line:?} instead of its address"),
    }
}

/// The main of a peer: serves until its standard input ends.
pub(crate) fn peer_main() -> Result<()> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::Relaxed);
        });
        serve(&plan()?, &stop, &mut |event| {
            // Only the first line has a reader; the others may fail.
            let _ = writeln!(std::io::stdout(), "{}", agent_event(event));
        })
    })
}
