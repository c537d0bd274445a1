//! Frames with any headers, of any length, to any neighbour, through devices: every one is counted.

use crate::command::{measured, of_both_ends, rows, tried};
use crate::conformance::need;
use linerate_model::run::{Run, Trial};
use linerate_model::sample::StreamWork;
use linerate_model::spec::Direction;
use linerate_model::{Layer, PacketRate};

/// Every way to make and count frames.
const GENERATORS: &[&str] = &["kernel", "af-xdp", "af-packet"];

/// A search at a load that every way and device carries, with these options beside.
fn carried(options: &[(&str, &str)]) -> Run {
    let usual = [
        ("loss-goal", "0"),
        ("line-rate", "2M"),
        ("min-frame-rate", "200"),
        ("budget", "1s"),
        ("delay-load", ""),
        ("diagnose", "0s"),
    ];
    measured(&[&usual, options].concat())
}

/// Every frame that the ends sent passed the device and came, and the frames have this length.
fn assert_exact(run: &Run, frame_bytes: f64, about: &str) {
    let (forwarding, parts) = rows(run);
    assert!(!parts[0].trials.is_empty(), "{about}");
    for trial in &parts[0].trials {
        let device = trial
            .measured()
            .and_then(|measured| measured.device.as_ref());
        let [a, b] = &device.unwrap().counted.ports[..] else {
            panic!("a device has two ports");
        };
        let [sent, came] = of_both_ends(trial);
        assert!(sent > 0, "{about}");
        assert_eq!(
            [sent, came],
            [sent; 2],
            "{about}, trial {}: {}",
            trial.index,
            counts(trial)
        );
        assert_eq!(
            [a.received.get(), b.sent.get()],
            [sent, came],
            "{about}, trial {}",
            trial.index
        );
    }
    let rate = PacketRate::from_pps(1000.0);
    for (layer, gap) in [(Layer::L2, 0.0), (Layer::L1, 20.0)] {
        let found = forwarding[0].bit_rate(layer, rate).as_f64();
        let wanted = rate.pps() * (frame_bytes + gap) * 8.0;
        assert!(
            (found / wanted - 1.0).abs() < 1e-6,
            "{about}: {found} at {layer}"
        );
    }
}

fn counts(trial: &Trial) -> String {
    format!("{:?}", trial.packets())
}

/// Any headers over a wire, by every way to make and count frames.
pub(crate) fn frames_with_any_headers_are_counted_by_every_generator() {
    let stacks = [
        ("vlan=100,pcp=5", "udp", "80"),
        ("qinq=100/200", "tcp", "96"),
        ("mpls=16/17", "udp", "80"),
        (
            "vlan=7,vxlan=5,a=192.0.2.1,b=192.0.2.2,vlan=3",
            "udp",
            "300",
        ),
        ("gre=7,mpls=3", "tcp", "200"),
    ];
    for (at, generator) in GENERATORS.iter().enumerate() {
        // Each by the kernel, whose program is made for it; each of the others by one of the two ways of this process.
        let own = stacks
            .iter()
            .enumerate()
            .filter(|(stack, _)| at == 0 || stack % 2 == at % 2);
        for (_, (headers, l4, bytes)) in own {
            let run = carried(&[
                ("dut", "wire"),
                ("headers", headers),
                ("l4", l4),
                ("frame-size", bytes),
                ("generator", generator),
                // Only the kernel's has several.
                ("flows", if at == 0 { "100" } else { "1" }),
            ]);
            let about = format!("{headers} {l4} by {generator}");
            assert_exact(&run, bytes.parse().unwrap(), &about);
        }
    }
}

/// Frames of both ways at once are told apart and counted, by those that have both ways.
pub(crate) fn both_ways_at_once_are_counted_apart() {
    for generator in ["kernel", "af-packet"] {
        let run = carried(&[
            ("dut", "bridge"),
            ("duplex", "true"),
            ("frame-size", "128"),
            ("generator", generator),
        ]);
        let (_, parts) = rows(&run);
        let mut ways = [0_u64; 2];
        for trial in &parts[0].trials {
            let [sent, came] = of_both_ends(trial);
            assert_eq!(sent, came, "{generator}, trial {}", trial.index);
            ways[usize::from(trial.direction == Direction::Reverse)] += sent;
        }
        assert!(ways.iter().all(|sent| *sent > 0), "{generator}: {ways:?}");
    }
}

/// A mix of lengths behind a header: every frame is counted, at its place in the mix.
pub(crate) fn a_mix_behind_headers_is_counted_at_its_places() {
    for generator in GENERATORS {
        let run = carried(&[
            ("dut", "wire"),
            ("headers", "vlan=100"),
            ("frame-size", "3x70+1x1518"),
            ("generator", generator),
        ]);
        assert_exact(&run, (3.0 * 70.0 + 1518.0) / 4.0, generator);
        let (forwarding, parts) = rows(&run);
        assert!(forwarding[0].mix.as_ref().unwrap().losses.is_empty());
        for trial in &parts[0].trials {
            let streams = trial.raw().iter().flat_map(|report| &report.streams);
            let places = streams.filter_map(|stream| match &stream.work {
                StreamWork::DatagramReceiver(receiver) => Some(receiver.by_place.clone()),
                _ => None,
            });
            let [places] = &places.collect::<Vec<_>>()[..] else {
                panic!("one stream");
            };
            let received = trial.packets().unwrap().received.unwrap().get();
            let wanted = (0..4).map(|place| (received + 3 - place) / 4);
            let places: Vec<_> = places.iter().map(|count| count.get()).collect();
            assert_eq!(places, wanted.collect::<Vec<_>>(), "{generator}");
        }
    }
}

/// A bridge of the kernel keeps a tag beside the frame, and its port gives it to a program without.
pub(crate) fn a_tag_that_a_bridge_takes_off_is_no_matter() {
    for generator in GENERATORS {
        for ipv6 in [false, true] {
            let mut options = vec![
                ("dut", "bridge"),
                ("headers", "vlan=100,pcp=3"),
                ("frame-size", "128"),
                ("generator", generator),
            ];
            if ipv6 {
                options.push(("ipv6", "true"));
            }
            assert_exact(
                &carried(&options),
                128.0,
                &format!("{generator}, IPv6: {ipv6}"),
            );
        }
    }
}

/// A switch whose port B belongs to a VLAN takes the tag off towards it, and puts it on the other way.
pub(crate) fn a_tag_that_a_switch_takes_off_or_puts_on_is_no_matter() {
    need("ovs");
    for generator in GENERATORS {
        let options = |way: &'static [(&str, &str)]| {
            let own = [
                ("dut", "ovs,vlan=100"),
                ("frame-size", "128"),
                ("generator", *generator),
            ];
            [&own, way].concat()
        };
        let forth = options(&[("headers", "vlan=100")]);
        assert_exact(&carried(&forth), 128.0, generator);
        let back = carried(&options(&[("reverse", "true")]));
        let (_, parts) = rows(&back);
        assert!(!parts[0].trials.is_empty(), "{generator}");
        for trial in &parts[0].trials {
            let [sent, came] = of_both_ends(trial);
            assert!(sent > 0, "{generator}");
            assert_eq!(sent, came, "{generator}, back, trial {}", trial.index);
        }
    }
}

/// Frames of 9000 bytes, by the ways that make them; the others say which do.
pub(crate) fn long_frames_are_counted_or_refused_with_the_way_that_makes_them() {
    for dut in ["wire", "bridge"] {
        for generator in ["af-xdp", "af-packet"] {
            for headers in if dut == "wire" { ["vlan=9"] } else { [""] } {
                let run = carried(&[
                    ("dut", dut),
                    ("frame-size", "9000"),
                    ("line-rate", "20M"),
                    ("min-frame-rate", "50"),
                    ("headers", headers),
                    ("generator", generator),
                ]);
                assert_exact(&run, 9000.0, &format!("{dut} by {generator}, {headers}"));
            }
        }
    }
    let refused = tried(&[
        ("dut", "wire"),
        ("frame-size", "9000"),
        ("generator", "kernel"),
    ]);
    let refused = format!("{:#}", refused.unwrap_err());
    assert!(refused.contains("af-xdp"), "{refused}");
}

/// A template of bytes that no header is, and of a captured frame.
pub(crate) fn a_template_goes_before_number_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.hex");
    // An experimental EtherType, then noise.
    let text = "02:00:00:00:00:02 02:00:00:00:00:01 88b5 # to, from, type\n0102 0304 05\n";
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();
    for generator in GENERATORS {
        let run = carried(&[
            ("dut", "wire"),
            ("template", file),
            ("frame-size", "90"),
            ("generator", generator),
        ]);
        assert_exact(&run, 90.0, generator);
    }
    // A switch that learns: the way back is to the other address.
    let back = folder.path().join("back.hex");
    let text = text.replace(
        "02:00:00:00:00:02 02:00:00:00:00:01",
        "02:00:00:00:00:01 02:00:00:00:00:02",
    );
    std::fs::write(&back, text).unwrap();
    let both = carried(&[
        ("dut", "bridge"),
        ("template", file),
        ("b-template", back.to_str().unwrap()),
        ("frame-size", "90"),
        ("duplex", "true"),
    ]);
    let (_, parts) = rows(&both);
    for trial in &parts[0].trials {
        let [sent, came] = of_both_ends(trial);
        assert!(
            sent > 0 && sent == came,
            "{:?}: {}",
            trial.direction,
            counts(trial)
        );
    }
}

/// A router that knows nobody, and ports that answer and ask: nothing is configured by hand. All is exact but for nothing.
pub(crate) fn a_router_is_found_by_arp_and_by_neighbour_discovery() {
    for (ipv6, a, b) in [
        (false, "198.18.0.1", "198.19.0.1"),
        (true, "2001:2:0:1::1", "2001:2:0:2::1"),
    ] {
        let mut options = vec![
            ("dut", "router,neighbours=learned"),
            ("neighbours", "resolve"),
            ("a-gateway", a),
            ("b-gateway", b),
            ("frame-size", "128"),
        ];
        if ipv6 {
            options.push(("ipv6", "true"));
        }
        assert_exact(&carried(&options), 128.0, &format!("router, IPv6: {ipv6}"));
    }
    let bridge = carried(&[
        ("dut", "bridge"),
        ("neighbours", "resolve"),
        ("headers", "vlan=5"),
        ("frame-size", "128"),
    ]);
    assert_exact(&bridge, 128.0, "bridge, each port asks for the other");
}

/// Nobody has the address: the error says where, which, and what was sent.
pub(crate) fn an_address_that_nobody_has_is_told_with_what_was_asked() {
    let refused = tried(&[
        ("dut", "router,neighbours=learned"),
        ("neighbours", "resolve"),
        ("a-gateway", "198.18.0.77"),
        ("b-gateway", "198.19.0.1"),
        ("frame-size", "128"),
    ]);
    let refused = format!("{:#}", refused.unwrap_err());
    for part in [
        "198.18.0.77",
        "port-a",
        "who has 198.18.0.77, tell 198.18.0.2 (ARP)",
        "--a-gateway",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}
