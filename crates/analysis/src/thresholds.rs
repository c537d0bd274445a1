//! Every threshold of a verdict, with its unit and where its value comes from.
//!
//! How probable causes and signs are is fitted and stands in `diagnosis/likelihoods.json`; what stands here is not fitted.

/// A module of constants for each group; `value unit, source`. A source is `judged` (a choice; the text says by what),
/// `derived` (follows from what the text says) or `measured`.
macro_rules! thresholds {
    ($($group:ident { $($(#[doc = $about:literal])* $name:ident: $kind:ty = $value:expr, $unit:literal, $source:ident;)* })*) => {
        $(pub(crate) mod $group {
            $($(#[doc = $about])*
            #[doc = concat!("\n\nUnit: ", $unit, ". Source: ", stringify!($source), ".")]
            pub(crate) const $name: $kind = $value;)*
        })*
    };
}

thresholds! {
    congestion {
        /// What more windows gain at least on a link that has room.
        WITH_ROOM: f64 = 1.2, "times the rate", judged;
        /// What more windows gain at least on a link that others share: a stream that has just begun takes more than its part, up to
        /// three quarters of what one other had, and four can take no more than the link. Alone they would
        /// gain nothing (the proof of `link` asks for less than this).
        AMONG_OTHERS: f64 = 1.07, "times the rate", judged;
    }
    bucket {
        /// A longer trial takes at least this many times the shorter one's time: trials that were asked to last as long
        /// differ by a packet, and say nothing of time.
        LONGER: f64 = 2.0, "times the shorter trial's time", judged;
        /// Loads within this of each other are one load; a path may forward less the more it is overloaded.
        SAME_LOAD: f64 = 0.95, "of the load", judged;
        /// Chance of the shorter trial to pass whole if the path forwarded no more, or lost as large a share, as in the
        /// longer one.
        CHANCE: f64 = 1e-6, "probability", judged;
    }
    bursts {
        /// Of losses by chance as many must be expected of the datagrams: by chance a fifth or less is lost in 1 of 350 probes.
        EXPECTED: f64 = 10.0, "datagrams", derived;
        /// Where TCP loses in this share of its intervals, a probe of a second meets the loss.
        OFTEN: f64 = 0.5, "of the intervals", judged;
    }
    cpu {
        /// A thread above this has no time left that matters.
        HOT: f64 = 0.9, "of the trial's time", judged;
        /// A core that is this busy, in ticks of 10 ms, has no time free.
        FULL: f64 = 0.95, "of the core's time", judged;
        /// Waiting for a core for this share of the time delays a paced sender.
        RUN_DELAY_THRESHOLD: f64 = 0.1, "of the trial's time", judged;
        /// A thread that runs, or waits to run, this much of the time on a full core makes a byte stream
        /// wait: pinned beside three busy loops it was 0.66 to 0.75, on a host that is merely full up to 0.6.
        HOLDS_UP: f64 = 0.62, "of the trial's time", measured;
        /// Waiting for less than this happens on any host.
        LEAST_WAIT: f64 = 0.02, "of the trial's time", judged;
        /// A hypervisor that takes this share is felt.
        STEAL_THRESHOLD: f64 = 0.1, "of the CPU's time", judged;
        /// A quota that stops a thread for this share of the time shapes its rate.
        THROTTLED: f64 = 0.05, "of the trial's time", judged;
    }
    plateau {
        /// Received rates within this of each other are one rate; a shaper's own granularity and
        /// one-second trials stay below it.
        FLAT_RATIO: f64 = 0.02, "of the rate", judged;
        /// Stressed loads must span at least this factor for their received rates to say anything.
        SPAN_RATIO: f64 = 1.05, "times the load", judged;
        /// The most that rates which count as one may differ, when the loads differ by three times as much.
        FLAT_MOST: f64 = 0.05, "of the rate", judged;
        /// One load beyond saturation says as much as two when it is this far above the peak, and
        /// a load near it passed whole.
        FAR_RATIO: f64 = 1.5, "times the peak", judged;
        /// …and a load of at least this share of the peak passed whole.
        NEAR_RATIO: f64 = 0.7, "of the peak", judged;
    }
    delay {
        /// A queue stands when delay under load is this many times the delay without…
        QUEUE_FACTOR: f64 = 2.0, "times the delay without load", judged;
        /// …and longer by at least this: below it lie interrupts and scheduling, in nanoseconds.
        QUEUE_NANOS: f64 = 200_000.0, "ns", judged;
        /// From this share of the lowest stressed load on, a load that is carried may keep a queue of its own.
        CALM: f64 = 0.9, "of the load", judged;
    }
    load {
        /// An offered load this far below the intended one is short of it (RFC 2285 §3.5): five times what
        /// pacing on an absolute schedule leaves, and what the search takes for a sender's limit too.
        SHORT_RATIO: f64 = 0.005, "of the intended load", derived;
        /// A bound is an offered load; what was intended there may lie this little above it.
        ABOVE_BOUND: f64 = 1.001, "times the bound", judged;
        /// Below this share of an interface's bytes, other traffic is housekeeping, ACKs of the other direction, and headers that
        /// differ from those reckoned with.
        HOUSEKEEPING: f64 = 0.1, "of the interface's bytes", judged;
    }
    reader {
        /// A queue that never falls below this share of its highest is full for good: a reader that empties
        /// it from time to time brings it to zero.
        STANDING_SHARE: f64 = 0.2, "of the highest reading", judged;
        /// A reader that leaves its socket empty at least this often keeps up between its pauses.
        EMPTYING_SHARE: f64 = 0.1, "of the readings", judged;
        /// A reader that was runnable for this share of the time in which packets waited was held up by its CPU.
        HELD_UP_SHARE: f64 = 0.5, "of the time in which packets waited", judged;
        /// A reader that keeps up leaves next to nothing right after it has read (below 0.13 in runs that
        /// something else limited); one that does not, left 0.4 and more.
        UNREAD: f64 = 0.25, "of the window", measured;
        /// A thread that was runnable for less than this was not kept busy by what it does.
        RESTS: f64 = 0.5, "of the trial's time", judged;
    }
    retransmissions {
        /// From this share of needless retransmissions on, reordering made them and not loss.
        NEEDLESS: f64 = 0.5, "of the retransmissions", judged;
        /// When one segment in twenty goes out twice for nothing, its sender takes reordering for loss all
        /// the time; then a longer RTT is that of the segments which were held back.
        RETREATING: f64 = 0.05, "of the segments", judged;
    }
    window {
        /// Windows that differ by less show nothing: more than a few steps of congestion avoidance.
        SPREAD: f64 = 1.2, "times the smallest window", judged;
        /// Below this the rate hardly follows, and it is below [`FOLLOWS`] whatever chance did.
        STANDS: f64 = 0.25, "exponent", judged;
        /// Above this the rate follows the window.
        FOLLOWS: f64 = 0.75, "exponent", judged;
    }
    link {
        /// A queue that stands keeps at least this share of its delay when only the packets change.
        QUEUE_LEFT: f64 = 0.1, "of the delay", judged;
        /// A paced stream of which this much arrived in time left nothing behind; a full link would leave the
        /// send buffer full.
        CARRIED: f64 = 0.995, "of what was sent", judged;
    }
    tcp {
        /// Loss that holds TCP back for less of the time is not what limits.
        LEAST_SHARE: f64 = 0.2, "of the trial's time", judged;
    }
    place {
        /// A place that explains less than this share of the loss is not a limit, but noise beside one.
        LEAST_SHARE: f64 = 0.1, "of the loss", judged;
    }
    policer {
        /// A queue of fewer packets than these is none that a link would have.
        SHORTEST_QUEUE: f64 = 4.0, "packets", judged;
    }
    ceiling {
        /// From this share of the ceiling on, a result cannot be told from it.
        NEAR: f64 = 0.9, "of the ceiling", judged;
    }
    device {
        /// A device that drops this share of what was lost, by its own counters, is what limits.
        MOST: f64 = 0.5, "of the lost packets", judged;
        /// A frame that takes less than this many times what it takes over a wire may be delayed by a disturbed host: over a
        /// bare wire beside other programs it was up to 1.7.
        CLEARLY: f64 = 2.0, "times the wire's", measured;
        /// A sender that ran for less than this share of its time was disturbed…
        DISTURBED: f64 = 0.95, "of the time", judged;
        /// …and its frames cost more even of its own time (caches, deferred interrupts): only this many times the wire's is the
        /// device's.
        BESIDE_OTHERS: f64 = 1.5, "times the wire's", judged;
    }
    exclusion {
        /// Of the run's greatest rate: a queue lets what it holds pass after a probe's end, which may be as much as fits through the
        /// link in that second, and a quarter is left to what the two measure differently.
        FAR_MORE: f64 = 2.5, "times the rate", derived;
        /// From this share of the intended load on, it was sent.
        SENT: f64 = 0.99, "of the intended load", judged;
        /// So much of the loss may be without a place: counters of hosts are read a moment before or after the test.
        UNPLACED: f64 = 0.01, "of the loss", judged;
        /// A path that keeps its rate loses less than half of it under a higher load; a stall of half a trial is rare.
        FALLS: f64 = 0.5, "of the rate", judged;
        /// An interface that sends less than this is not full for longer than a burst.
        FULL_AT: f64 = 0.5, "of the interface's speed", judged;
        /// What a window or a buffer allows, by readings ten times a second, may be exceeded by so much.
        ALLOWED: f64 = 1.1, "times the rate", judged;
        /// A limit gains a tenth when it is relieved.
        LEAST_GAIN: f64 = 1.1, "times the rate", derived;
    }
    weight {
        /// A suspect with this share of the weight is supported.
        SUPPORTED: f64 = linerate_model::run::Weighed::SUPPORTED, "probability", judged;
        /// One with less is no answer.
        LIKELY: f64 = 0.5, "probability", judged;
        /// A suspect with this share of the weight is the answer.
        SURE: f64 = 0.97, "probability", judged;
        /// Information by which a probe is expected to be worth its time, at least.
        LEAST_GAIN: f64 = 0.02, "bits of information per second of trial time", judged;
    }
    contention {
        /// A host has hardly any time left when its cores are busy for this share of it.
        FULL: f64 = 0.85, "of the cores' time", judged;
        /// Busy for this share, whatever they do, its cores may be what loses packets between them.
        IDLE_FREE: f64 = 0.95, "of the cores' time", judged;
        /// Of all its cores, taken by other programs: more than what a test has of two.
        TAKEN: f64 = 0.6, "of the cores' time", judged;
    }
    half_load {
        /// Loss that comes with the rate is so many times that at half of it.
        FAR_LESS: f64 = 5.0, "times the loss", judged;
    }
    next_limit {
        /// A rate that is higher by less is the limit's own, measured twice.
        LEAST_GAIN: f64 = 1.05, "times the rate", judged;
        /// Further up than this, too much changes on the way.
        GREATEST_GAIN: f64 = 10.0, "times the rate", judged;
    }
    others {
        /// Programs that use less than this of one core are any host's.
        LEAST_CORES: f64 = 0.25, "cores", judged;
        /// From this share of a host's cores on it is said what other programs used.
        SAID: f64 = 0.25, "of the cores' time", judged;
    }
    outcome {
        /// Loss below this is none.
        LOSSLESS: f64 = 0.0005, "of the datagrams", judged;
        /// Bursts overflow a socket by less than this, whatever limits.
        LITTLE: f64 = 0.01, "of the datagrams", judged;
        /// From this loss on, what was not sent would be lost too.
        LOSSY: f64 = 0.1, "of the datagrams", judged;
        /// From this share of what was intended on, the rate was carried.
        CARRIED: f64 = 1.25 / 1.5, "of the intended load", derived;
        /// So much of what was intended may be missing from what was sent.
        MISSING: f64 = 0.1, "of the intended load", judged;
        /// A sending thread that slept in its calls for this share of the time was held back by what takes its packets.
        BLOCKED: f64 = 0.3, "of the trial's time", judged;
        /// A multiple of the share that is lost at half the rate, and some more for chance, is the same share.
        SAME: f64 = 2.5, "times the loss", judged;
        /// So much more than that multiple is the same share too.
        CHANCE: f64 = 0.002, "of the datagrams", judged;
        /// Of losses by chance as many must be expected for none to say that they come with the rate: by chance there is none in
        /// 1 of 150 such trials.
        EXPECTED: f64 = 5.0, "datagrams", derived;
    }
    queue {
        /// Packets that wait before a link that has a queue; before a policer none does.
        QUEUED_PACKETS: f64 = 2.0, "packets", judged;
        /// A receiver that waited for a core for this share of the time made waits of its own, but for the first datagram that it
        /// read each time.
        LATE: f64 = 0.1, "of the trial's time", judged;
        /// A queue that is expected to show less than this is not seen: where the load is a multiple of what gets through, or
        /// little more.
        SEEN: f64 = 0.2, "packet times", judged;
        /// Less than this share of the jitter that is expected behind a queue is none.
        NO_QUEUE: f64 = 0.25, "of what is expected", judged;
        /// From here on it is a queue, up to a multiple that something else makes.
        QUEUE: [f64; 2] = [0.6, 2.0], "of what is expected", judged;
        /// From this multiple of the jitter at half the load on, it is not the host's.
        ABOVE_HALF: f64 = 3.0, "times the jitter at half the load", judged;
    }
    rate {
        /// A rate this much higher has risen: twice what two trials of one path differ by.
        RISEN: f64 = 1.25, "times the rate", derived;
        /// A rate this much lower has fallen.
        FALLEN: f64 = 0.8, "of the rate", derived;
        /// Loss that a change can halve.
        LOSSY: f64 = 0.005, "of the datagrams", judged;
    }
    reach {
        /// With less room above what arrived, no growth can be told from chance.
        LEAST_GAIN: f64 = 1.05, "times the received rate", judged;
        /// A change that relieves a limit closes half of what is missing at least.
        PART: f64 = 0.5, "of what is missing", judged;
    }
    return_path {
        /// More datagrams a second than an ordinary host sends and receives on one core.
        FASTEST: f64 = 150_000.0, "packet/s", judged;
        /// Fewer in a probe say little.
        FEWEST: f64 = 20.0, "datagrams", judged;
        /// A path that carries half as many again loses fewer.
        LOSSY: f64 = 0.1, "of the datagrams", judged;
    }
    shaper {
        /// A byte stream takes this share of a rate that limits it, and more.
        REACHED: f64 = 0.93, "of the rate that it lets pass", judged;
    }
    signs {
        /// Of the readings this share shows an application that had given all it had.
        APP_LIMITED: f64 = 0.3, "of the readings", judged;
        /// Of a receiver's space, held by bytes that its application had not read.
        UNREAD: [f64; 2] = [0.05, 0.25], "of the receiver's space", judged;
        /// Below this share of the segments few were sent again.
        FEW_AGAIN: f64 = 0.003, "of the segments", judged;
        /// Edges of the share; one congestion control (BBR) has a window of twice what it carries.
        USED: [f64; 2] = [0.3, 0.6], "of the window", judged;
        /// Others that take this share of what the test leaves them, and more, had been waiting for it: they fill the link.
        FILLS: f64 = 0.3, "of the link", judged;
        /// The delay grew where it is so many times that of the calm part.
        LEAST_GROWTH: f64 = 1.1, "times the delay", judged;
        /// The mean round trip is so many times the least behind a queue that holds more than the path.
        STANDING: f64 = 2.0, "times the least round trip", judged;
    }
    thread {
        /// A thread that waited for a core for this share of the time was late now and then.
        LATE: f64 = 0.12, "of the trial's time", judged;
        /// A thread that waited for a core for this share of the time was short of CPU time.
        STARVED: f64 = 0.35, "of the trial's time", judged;
        /// A quota that stops a thread for this share leaves it short of CPU time.
        THROTTLED_MUCH: f64 = 0.25, "of the trial's time", judged;
        /// Share of the time in which a thread that is short of CPU time would run: less, and it sleeps for other reasons.
        RUNNABLE: f64 = 0.4, "of the trial's time", judged;
        /// Share of the time in which a thread that never rests runs or would run.
        ALWAYS: f64 = 0.9, "of the trial's time", judged;
        /// From these shares of the time in its calls on, a thread is held up by what is behind them: partly, and mostly.
        HELD_UP: [f64; 2] = [0.15, 0.5], "of the trial's time", judged;
    }
}
