//! From arguments to requests.

use crate::args::{
    LatencyArgs, LengthArgs, LoginArgs, SaturateArgs, TargetArgs, TcpArgs, TrafficArgs, UdpArgs,
};
use linerate_client::Target;
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{
    Direction, Observe, Pace, SocketChoice, SpecError, Stop, TestSpec, validate,
};
use linerate_session::key::read_key;
use linerate_session::login::{Login, read_login, read_password};
use linerate_studies::run::{
    LatencyPlan, SaturatePlan, Wrap, parse_delay_goal, parse_stall, sizes,
};
use std::sync::Arc;

pub(crate) fn target(args: &TargetArgs) -> Result<Target, Failure> {
    let ip = match (args.ipv4, args.ipv6) {
        (true, _) => IpChoice::V4,
        (_, true) => IpChoice::V6,
        _ => IpChoice::Any,
    };
    let mut target = Target::new(PeerAddress::parse(&args.host)?);
    target.ip = ip;
    target.timeout = args.timeout;
    target.interface.clone_from(&args.interface);
    target.key = args.key.as_deref().map(read_key).transpose()?;
    target.far_output = args.far_output;
    target.login = login(&args.login)?;
    if target.login.is_some() && !target.far.kind().has_users() {
        let message = format!("--login: {} has no users; iperf3:// has", target.far);
        return Err(Failure::new(ExitCode::Usage, message));
    }
    Ok(target)
}

/// The user to show.
pub(crate) fn login(args: &LoginArgs) -> Result<Option<Arc<Login>>, Failure> {
    let (Some(user), Some(key)) = (&args.login, &args.login_key) else {
        return Ok(None);
    };
    let password = match &args.password_file {
        Some(file) => read_password(file)?,
        None => password()?,
    };
    let login = read_login(user, &password, key, args.login_padding)?;
    Ok(Some(Arc::new(login)))
}

fn password() -> Result<String, Failure> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read by the command line, once"
    )]
    let found = std::env::var("LINERATE_PASSWORD");
    found.map_err(|_| {
        let message = "--login: set the password as LINERATE_PASSWORD, or name a file that holds it with --password-file";
        Failure::new(ExitCode::Usage, message)
    })
}

pub(crate) fn tcp(args: &TcpArgs) -> Result<TestSpec, Failure> {
    let mut spec = TestSpec {
        payload_bytes: args.payload,
        ..TestSpec::tcp_bulk()
    };
    if let Some(rate) = args.pace {
        spec.pace = Pace::At(rate);
    }
    traffic(&mut spec, &args.traffic);
    length(&mut spec, &args.length);
    spec.socket.congestion_control.clone_from(&args.congestion);
    checked(spec)
}

pub(crate) fn udp(args: &UdpArgs) -> Result<TestSpec, Failure> {
    let mut spec = TestSpec {
        payload_bytes: args.payload,
        ..TestSpec::udp_datagrams(args.rate)
    };
    traffic(&mut spec, &args.traffic);
    length(&mut spec, &args.length);
    checked(spec)
}

pub(crate) fn saturate(args: &SaturateArgs) -> Result<SaturatePlan, Failure> {
    let mut spec = TestSpec {
        payload_bytes: args.payload,
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    traffic(&mut spec, &args.traffic);
    let profile = spec.observe == Observe::All;
    // The trials of the search are as light as any other: the sampling is a trial of its own.
    spec.observe = spec.observe.min(Observe::Counters);
    if spec.direction == Direction::Duplex {
        let message = "saturate searches one direction at a time; leave out --duplex and run it again with --reverse";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    Ok(SaturatePlan {
        loss_goals: args.loss_goal.clone(),
        delay_goal: args
            .delay_goal
            .as_deref()
            .map(parse_delay_goal)
            .transpose()?,
        min_load: args.min,
        max_load: args.max,
        width: args.width,
        budget: args.budget,
        profile,
        ..SaturatePlan::new(checked(spec)?)
    })
}

pub(crate) fn latency(args: &LatencyArgs, far: &PeerAddress) -> Result<LatencyPlan, Failure> {
    let transport = args.transport.into();
    let stall = args.open_loop.responder_stall.as_deref();
    let plan = LatencyPlan {
        transport,
        sizes: match args.sizes.as_slice() {
            [] => far.usual_sizes(transport),
            given => sizes(given, transport)?,
        },
        modes: args.wait.clone(),
        pinning: args.cpu.unwrap_or_default(),
        time: args.time,
        warm_up: args.warm_up,
        load: args.load.as_deref().map(str::parse).transpose()?,
        observe: args.observe.choice(),
        open: args.open_loop.choice(),
        rpm: args.open_loop.rpm,
        stall: stall.map(parse_stall).transpose()?,
        decompose: args.parts.decompose,
        rounds: args.turns.rounds,
        seed: args.turns.seed,
        wrap: args
            .turns
            .wrap
            .as_deref()
            .map(|text| wrap(text, args))
            .transpose()?,
        percentiles: args.closed_loop.percentile.clone(),
        transactions: args.closed_loop.bounds(),
    };
    for spec in plan.specs() {
        validate(&spec).map_err(|error| match error.setting() {
            // What is a payload elsewhere is one of several sizes here.
            "payload" => out_of_bounds("sizes", &error),
            other => out_of_bounds(other, &error),
        })?;
    }
    Ok(plan)
}

/// The wrapper, which is to start this very program.
fn wrap(text: &str, args: &LatencyArgs) -> Result<Wrap, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("--wrap: this program cannot be found to be started again: {error}");
        Failure::new(ExitCode::HostLacks, message)
    })?;
    let mut wrap = Wrap::parse(text, program)?;
    wrap.key_file.clone_from(&args.target.key);
    Ok(wrap)
}

fn traffic(spec: &mut TestSpec, args: &TrafficArgs) {
    spec.direction = match (args.reverse, args.duplex) {
        (_, true) => Direction::Duplex,
        (true, _) => Direction::Reverse,
        _ => Direction::Forward,
    };
    spec.datapath = args.datapath.clone();
    spec.pinning = args.cpu.unwrap_or_default();
    spec.socket = SocketChoice {
        send_buffer_bytes: args.send_buffer,
        receive_buffer_bytes: args.receive_buffer,
        ..SocketChoice::default()
    };
    spec.receiver_pause = args.receiver_pause;
    spec.seed = args.seed;
    spec.observe = args.observe.choice();
}

fn length(spec: &mut TestSpec, args: &LengthArgs) {
    spec.stop = Stop::After(args.time);
    spec.streams = args.streams;
    spec.warm_up = args.warm_up;
    spec.interval = args.interval;
    spec.wait = args.wait.into();
}

/// A specification that both ends will accept, or what is wrong with it.
fn checked(spec: TestSpec) -> Result<TestSpec, Failure> {
    match validate(&spec) {
        Ok(()) => Ok(spec),
        Err(error) => Err(out_of_bounds(error.setting(), &error)),
    }
}

/// `--payload 0: must be from 1 to 65507`.
fn out_of_bounds(option: &str, error: &SpecError) -> Failure {
    let message = format!("--{option} {}: must be {}", error.value, error.valid);
    Failure::new(ExitCode::Usage, message)
}
