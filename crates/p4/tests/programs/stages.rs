//! Time stamps and depths by stage, copies that are cut, and queues that fill while egress waits.

use crate::program::{Run, frame};
use linerate_model::dut::DutStage;
use linerate_p4::{CloneSession, Entity, Replica, Time, UpdateKind};

const MICROSECOND: u64 = 1_000;

/// A number from the header of time stamps.
fn stamp(packet: &[u8], at: usize, bytes: usize) -> u64 {
    packet[at..at + bytes]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[test]
fn packets_tell_when_they_came_how_long_they_waited_and_behind_how_many() {
    let mut run = Run::new("timestamps");
    for at in [10, 12, 17] {
        run.switch
            .receive(0, &frame(2, 1), at * MICROSECOND, &mut ());
    }
    let mut sent = Vec::new();
    for now in [20, 40, 70] {
        assert!(run.switch.work(
            now * MICROSECOND,
            &mut |_, bytes| sent.push(bytes.to_vec()),
            &mut ()
        ));
    }
    assert!(!run.switch.work(71 * MICROSECOND, &mut |_, _| {}, &mut ()));
    let told: Vec<_> = sent
        .iter()
        .map(|packet| {
            [(14, 6), (20, 4), (24, 4), (28, 3), (31, 3), (34, 6)]
                .map(|(at, bytes)| stamp(packet, at, bytes))
        })
        .collect();
    assert_eq!(
        told,
        [
            [10, 10, 10, 0, 2, 20],
            [12, 12, 28, 1, 1, 40],
            [17, 17, 53, 2, 0, 70]
        ]
    );
}

/// Median, largest and number of the times in each stage.
fn stages(run: &Run) -> [[u64; 3]; 3] {
    let told: Vec<_> = run.switch.stages().collect();
    assert!(told.iter().map(|(stage, _)| *stage).eq(DutStage::ALL));
    let told: Vec<_> = told
        .iter()
        .map(|(_, times)| [times.quantile_nanos(0.5), times.max_nanos(), times.len()])
        .collect();
    told.try_into().expect("three stages")
}

/// Whether two times are equal as far as histograms tell them apart.
fn is_about(told: u64, nanos: u64) -> bool {
    told.abs_diff(nanos) * 100 <= nanos
}

#[test]
fn a_queue_is_seen_for_as_long_as_it_holds_packets() {
    let mut run = Run::new("timestamps");
    for at in [10, 12, 17] {
        run.switch
            .receive(0, &frame(2, 1), at * MICROSECOND, &mut ());
    }
    for now in [20, 40, 70] {
        let now = now * MICROSECOND;
        run.switch.work(now, &mut |_, _| {}, &mut ());
    }
    let [ingress, [median, longest, packets], egress] = stages(&run);
    // As the packets tell themselves: 10, 28 and 53 µs.
    assert!(is_about(median, 28 * MICROSECOND), "{median}");
    assert!(is_about(longest, 53 * MICROSECOND), "{longest}");
    assert_eq!((ingress, packets, egress), ([0, 0, 3], 3, [0, 0, 3]));
}

/// A clock that stands still but for what each stage takes, one after the other.
struct Steps<'a> {
    now: u64,
    took: std::slice::Iter<'a, u64>,
}

impl Time for Steps<'_> {
    fn begin(&mut self) -> u64 {
        self.now
    }

    fn end(&mut self) -> u64 {
        self.now += self.took.next().expect("a stage");
        self.now
    }
}

/// Lets a packet through by such a clock.
fn pass(run: &mut Run, packet: &[u8], took: &[u64]) {
    let took = took.iter();
    let mut time = Steps { now: 0, took };
    run.switch.receive(4, packet, &mut time, &mut ());
    while run.switch.work(&mut time, &mut |_, _| {}, &mut ()) {}
    assert_eq!(time.took.len(), 0);
}

#[test]
fn each_copy_waits_for_those_before_it() {
    let mut run = Run::new("mirror");
    run.control("add watched ethernet.type:0x88b5 as_it_came()");
    let replica = |instance| Replica { port: 1, instance };
    let session = CloneSession {
        replicas: vec![replica(1), replica(2)],
        truncate: None,
    };
    run.write(UpdateKind::Insert, Entity::Session { id: 1, session }, 0);
    pass(&mut run, &frame(2, 1), &[250, 200, 200, 200]);
    let [ingress, [median, longest, packets], egress] = stages(&run);
    assert_eq!([ingress, egress], [[250, 250, 3], [200, 200, 3]]);
    assert!(is_about(longest, 400), "{longest}");
    assert_eq!((median, packets), (200, 3));
}

#[test]
fn a_packet_that_is_recirculated_has_the_times_of_all_its_passes() {
    let mut run = Run::new("recirculate");
    let mut packet = frame(2, 1)[..14].to_vec();
    packet.extend([0x01, 0x02, 0x85]);
    pass(&mut run, &packet, &[300, 200, 310, 210, 320, 220]);
    let [ingress, queue, egress] = stages(&run);
    assert!(is_about(ingress[0], 930), "{ingress:?}");
    assert!(is_about(egress[0], 630), "{egress:?}");
    assert_eq!([ingress[2], egress[2]], [1, 1]);
    assert_eq!(queue, [0, 0, 1]);
}

#[test]
fn a_session_cuts_its_clones_and_sends_each_of_its_replicas() {
    let mut run = Run::new("mirror");
    run.control("add watched ethernet.type:0x88b5 as_it_came()");
    let replica = |port| Replica { port, instance: 0 };
    let session = CloneSession {
        replicas: vec![replica(8), replica(9)],
        truncate: Some(20),
    };
    run.write(UpdateKind::Insert, Entity::Session { id: 1, session }, 0);
    let mut sent = run.send(4, &frame(2, 1), 0);
    sent.sort();
    let lengths: Vec<_> = sent
        .iter()
        .map(|(port, bytes)| (*port, bytes.len()))
        .collect();
    assert_eq!(lengths, [(1, 60), (8, 20), (9, 20)]);
    // The port that the packet came in at, kept through the clone.
    assert_eq!(stamp(&sent[1].1, 10, 2) & 0x1ff, 4);
}
