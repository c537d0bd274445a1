//! Keys of a plan that say which kind of test a cell is, and where it is made; a command has its own words for it.

use super::draft::{duration, read, set};
use super::{ANY, AT_PEERS, BULK, Choice, Group, Source, TestKind, TestOption, Usual, option};
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::link::EmulatedLink;

/// The key that chooses which others there are.
pub(crate) const KIND: &str = "kind";
/// The key of a cell's own peer.
pub(crate) const HOST: &str = "host";
/// The key of what is started in place of a peer.
pub(crate) const STACK: &str = "stack";

const THE_STUDYS: Usual = Usual::Words("the study's host");

/// A key of this list.
const fn key(name: &'static str, kinds: &'static [TestKind], help: &'static str) -> TestOption {
    option(name, kinds, "", help)
        .only(Source::Plan)
        .is_beside(true)
}

fn kinds() -> Vec<Choice> {
    let name = |kind: TestKind| Choice {
        name: kind.as_str(),
        help: "",
    };
    TestKind::ALL.map(name).to_vec()
}

/// The link element, which a key of it makes.
fn link(place: &mut super::Place) -> &mut EmulatedLink {
    place.link.get_or_insert_default()
}

pub(super) static PLACE: Group = Group {
    heading: "Place",
    options: &[
        key(KIND, ANY, "What is measured")
            .is_beside(false)
            .choices(kinds)
            .otherwise(Usual::Words("needed")),
        key("ip", AT_PEERS, "IP version: `4`, `6`, `any`")
            .usual("any")
            .sets(|d, v| {
                d.place.ip = match v {
                    "4" => IpChoice::V4,
                    "6" => IpChoice::V6,
                    "any" => IpChoice::Any,
                    _ => return Err("must be 4, 6 or any".to_owned()),
                };
                Ok(())
            }),
        key(HOST, AT_PEERS, "A host as on the command line, in place of the study's")
            .otherwise(THE_STUDYS)
            .sets(|d, v| {
                let host = PeerAddress::parse(v).map_err(|error| error.message);
                set(&mut d.place.host, host.map(Some))
            }),
        key("link", AT_PEERS, "L1 bit/s (`10M`) of the link element before a `board://` host, both ways")
            .otherwise(Usual::Words("the board's link as it is"))
            .page("boards.md#the-link")
            .sets(|d, v| set(&mut link(&mut d.place).rate, read(v).map(Some))),
        key("link-delay", AT_PEERS, "Its delay, one way (`20ms`)")
            .otherwise(Usual::Words("`0s`"))
            .sets(|d, v| set(&mut link(&mut d.place).delay, duration(v))),
        key("link-queue", AT_PEERS, "Bytes of its queue, one way")
            .otherwise(Usual::Words("`128K`"))
            .sets(|d, v| set(&mut link(&mut d.place).queue, read(v))),
        key(STACK, BULK, "In place of `host`: a stack that is started for each run, with options: `lwip?tcp_wnd=5840`; or the name of a table `[stacks.NAME]`")
            .otherwise(THE_STUDYS)
            .page("stacks.md")
            .sets(|d, v| set(&mut d.place.stack, read(v).map(Some))),
        key("stack-api", BULK, "The stack's interface to its program, where it has both: `raw`, `socket`")
            .otherwise(Usual::Words("`raw`"))
            .needs(&[STACK])
            .sets(|d, v| {
                d.stack_options.push(("api", v.to_owned()));
                Ok(())
            }),
        key("stack-buffers", BULK, "Sizes of the stack's buffers: `base`, `large-buffers`")
            .otherwise(Usual::Words("`base`, the kernel its own"))
            .needs(&[STACK])
            .sets(|d, v| {
                d.stack_options.push(("buffers", v.to_owned()));
                Ok(())
            }),
        key("stack-opt", BULK, "Level of optimisation of a stack that is compiled: `O0`, `Os`, `O2`, `O3`")
            .otherwise(Usual::Words("`O2`"))
            .needs(&[STACK])
            .sets(|d, v| {
                d.stack_options.push(("opt", v.to_owned()));
                Ok(())
            }),
    ],
};
