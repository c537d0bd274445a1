//! Options of what stands between two ports.

use super::draft::{duration, read, set};
use super::search::loss_goals;
use super::{Group, HelpLevel, MAX_FILE_BYTES, SWITCH as ONLY, Source, Usual, flag, list, option};
use crate::run::DeviceChoice;
use linerate_frames::{FrameHeaders, template_param};
use linerate_model::spec::{DatapathChoice, Direction, FrameLengths};
use linerate_sys::bounded;
use linerate_testbed::duts;
use std::path::Path;

pub(super) static DEVICE: Group = Group {
    heading: "Device",
    options: &[
        option("ports", ONLY, "A,B", "The two interfaces that the device is between; or three to 16, each of which sends to all others")
            .only(Source::Plan)
            .otherwise(Usual::Words("needed, or `dut`"))
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.ports, DeviceChoice::ports(v).map(Some))),
        option("port-b", ONLY, "HOST", "The host of port B, if it is not this one, as HOST of other commands: it runs `linerate serve`, or `ssh://HOST`")
            .shown(HelpLevel::Short)
            .excludes(&["dut"])
            .otherwise(Usual::Words("this host"))
            .is_beside(true)
            .page("switch.md")
            .sets(|d, v| set(&mut d.device.host_b, DeviceChoice::host_b(v).map(Some))),
        option("dut", ONLY, "KIND", "Start a device of this kind and measure it, in place of two interfaces: `bridge`, `router,rules=100`; or set up the one between them: `p4runtime://HOST:9559`")
            .shown(HelpLevel::Short)
            .is_beside(true)
            .page("devices.md")
            .names_file(|v| v.parse().is_ok_and(|choice| duts::names_file(&choice)))
            .sets(|d, v| set(&mut d.device.started, DeviceChoice::started(v).map(Some))),
        list("frame-size", ONLY, "BYTES", "Lengths of frames, from destination address to FCS; or a mix that repeats: `imix`, a genome of RFC 6985 (`aaabg`), or `7x64,4x594,1x1518`")
            .also("frame-sizes")
            .shown(HelpLevel::Short)
            .usual("64,512,1518")
            .usual_in_plans("64")
            .is_beside(true)
            .sets(|d, v| {
                let sizes = FrameLengths::list(v).map_err(|error| error.to_string());
                set(&mut d.device.frame_sizes, sizes)
            }),
        flag("reverse", ONLY, "From port B to port A")
            .short('R')
            .shown(HelpLevel::Short)
            .excludes(&["duplex"])
            .sets(|d, _| set(&mut d.spec.direction, Ok(Direction::Reverse))),
        flag("duplex", ONLY, "Both ways at once: a goal is met if both ways meet it")
            .aliases(&["bidir", "full-duplex"])
            .shown(HelpLevel::Short)
            .sets(|d, _| set(&mut d.spec.direction, Ok(Direction::Duplex))),
        flag("both", ONLY, "From A to B, then from B to A")
            .shown(HelpLevel::Short)
            .excludes(&["reverse", "duplex"])
            .only(Source::CommandLine)
            .sets(|d, _| set(&mut d.both, Ok(true))),
        option("flows", ONLY, "N", "Flows, each with pseudo-random addresses and ports (RFC 4814), to 1000000")
            .shown(HelpLevel::Short)
            .usual("1")
            .is_beside(true)
            .sets(|d, v| {
                d.device.param(DatapathChoice::FLOWS, v);
                Ok(())
            }),
        option("headers", ONLY, "STACK", "Headers between Ethernet and the frames' packet, from outside inwards: `vlan=100,pcp=5`, `qinq=100/200`, `mpls=16/17`, `gre`, `vxlan=5`")
            .shown(HelpLevel::Short)
            .otherwise(Usual::Words("none"))
            .is_beside(true)
            .page("switch.md#headers")
            .sets(|d, v| {
                d.device.param(FrameHeaders::HEADERS, v);
                Ok(())
            }),
        option("l4", ONLY, "TRANSPORT", "Transport of the frames' packet: `udp`, or `tcp` (data segments that open no connection)")
            .usual("udp")
            .is_beside(true)
            .sets(|d, v| {
                d.device.param(FrameHeaders::L4, v);
                Ok(())
            }),
        option("template", ONLY, "FILE", "Bytes that each frame begins with: in hexadecimal, or the first packet of a pcap. Number and time come behind them, or at byte N: `FILE,offset=N`")
            .excludes(&["headers", "l4"])
            .otherwise(Usual::Words("none"))
            .is_beside(true)
            .page("switch.md#headers")
            .names_file(|_| true)
            .sets(|d, v| {
                d.device.param(FrameHeaders::TEMPLATE, &template(v)?);
                Ok(())
            }),
        option("b-template", ONLY, "FILE", "The same of frames from port B, of the same length")
            .needs(&["template"])
            .otherwise(Usual::Words("--template"))
            .is_beside(true)
            .page("switch.md#headers")
            .names_file(|_| true)
            .sets(|d, v| {
                d.device.param(FrameHeaders::B_TEMPLATE, &template(v)?);
                Ok(())
            }),
        option("generator", ONLY, "WHO", "Who makes and counts frames: `kernel`, programs in it; or this process, by `af-xdp` or `af-packet`")
            .usual("kernel")
            .is_beside(true)
            .page("af-xdp.md#a-device-between-two-ports")
            .sets(|d, v| {
                d.device.param(DatapathChoice::GENERATOR, v);
                Ok(())
            }),
        flag("ipv6", ONLY, "Frames of IPv6 in place of IPv4")
            .short('6')
            .is_beside(true)
            .sets(|d, _| {
                d.device.is_ipv6 = true;
                Ok(())
            }),
        list("delay-load", ONLY, "SHARE", "Shares of the throughput at which delay is measured after the search; 0 is the lowest load")
            .usual("0,10%,50%,90%")
            .is_beside(true)
            .sets(|d, v| {
                let shares = v.split(',').filter(|share| !share.is_empty());
                let shares = shares.map(|share| read(share.trim()));
                set(&mut d.search.delay_loads, shares.collect())
            }),
        option("warm-up", ONLY, "WARM_UP", "Send for this long at the start of each trial without counting; counters of the device count it")
            .usual("100ms")
            .sets(|d, v| set(&mut d.spec.warm_up, duration(v))),
        option("line-rate", ONLY, "RATE", "Highest load to try, in bit/s at L1")
            .otherwise(Usual::Words("the slower port's speed, else 100G"))
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.line_rate, read(v).map(Some))),
        option("min-frame-rate", ONLY, "RATE", "Lowest load to try, in frames per second")
            .usual("1000")
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.lowest, read(v))),
        list("loss-goal", ONLY, "LOSS_GOAL", "Loss ratios to search for, each a goal of its own: 0 finds the NDR, 0.5% the PDR")
            .shown(HelpLevel::Short)
            .usual("0,0.5%")
            .sets(loss_goals),
        option("budget", ONLY, "BUDGET", "Most trial time of each frame size and direction")
            .usual("30s")
            .sets(|d, v| set(&mut d.search.budget, duration(v))),
        option("a-to", ONLY, "MAC", "Where frames from port A go: a router's port")
            .excludes(&["dut"])
            .otherwise(Usual::Words("port B"))
            .is_beside(true)
            .sets(|d, v| {
                d.device.param("a-to", v);
                Ok(())
            }),
        option("b-to", ONLY, "MAC", "Where frames from port B go: a router's port")
            .excludes(&["dut"])
            .otherwise(Usual::Words("port A"))
            .is_beside(true)
            .sets(|d, v| {
                d.device.param("b-to", v);
                Ok(())
            }),
        option("neighbours", ONLY, "HOW", "How frames find their next hop: `static`, by the MAC addresses given; or `resolve`, by ARP and neighbour discovery, while both ports answer for their own addresses")
            .shown(HelpLevel::Short)
            .usual("static")
            .is_beside(true)
            .page("switch.md#routers")
            .sets(|d, v| set(&mut d.device.neighbours, v.parse())),
        option("a-gateway", ONLY, "ADDRESS", "With `--neighbours resolve`, the router's address at port A")
            .otherwise(Usual::Words("port B's own"))
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.gateways[0], read(v).map(Some))),
        option("b-gateway", ONLY, "ADDRESS", "With `--neighbours resolve`, the router's address at port B")
            .otherwise(Usual::Words("port A's own"))
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.gateways[1], read(v).map(Some))),
        option("a-ip", ONLY, "ADDRESS", "IP address of port A's frames")
            .excludes(&["dut"])
            .otherwise(Usual::Words("`198.18.0.1`, `2001:2::1`"))
            .is_beside(true)
            .sets(|d, v| {
                d.device.param("a-ip", v);
                Ok(())
            }),
        option("b-ip", ONLY, "ADDRESS", "IP address of port B's frames")
            .excludes(&["dut"])
            .otherwise(Usual::Words("`198.18.0.2`, `2001:2::2`"))
            .is_beside(true)
            .sets(|d, v| {
                d.device.param("b-ip", v);
                Ok(())
            }),
        option("diagnose", ONLY, "TIME", "After each search, probe what limits it for at most this long: short trials with one thing changed each. 0s leaves it out")
            .usual("5s")
            .usual_in_plans("0s")
            .page("report.md#what-was-probed")
            .is_beside(true)
            .sets(|d, v| set(&mut d.after.diagnose, duration(v))),
    ],
};

/// Reads the file of `FILE` or `FILE,offset=N`.
fn template(text: &str) -> Result<String, String> {
    let (file, offset) = match text.rsplit_once(",offset=") {
        Some((file, offset)) => (file, Some(read(offset)?)),
        None => (text, None),
    };
    let bytes = bounded::read_file(Path::new(file), MAX_FILE_BYTES)
        .map_err(|error| format!("reading {file}: {error}"))?;
    template_param(&bytes, offset).map_err(|error| format!("{file}: {error}"))
}
