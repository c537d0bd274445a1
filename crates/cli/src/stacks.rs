//! Stacks as peers: what has to be there before the first of them is started.

use crate::context::{cache_folder, this_program};
use crate::terminal;
use linerate_client::address::PeerAddress;
use linerate_model::consent::{Allowed, Consent, Foreign};
use linerate_model::exit::Failure;
use linerate_stacks::Places;
use linerate_studies::plan::StudyPlan;

/// A plan of a file, to be carried out; what it starts on this host is shown first.
pub(crate) fn allowed(
    plan: Foreign<StudyPlan>,
    consent: Consent,
) -> Result<Allowed<StudyPlan>, Failure> {
    let programs = plan.programs();
    let plan = plan.allow(consent)?;
    for program in programs {
        terminal::note(&format!("the plan starts: {program}"));
    }
    Ok(plan)
}

/// Makes what peers that are stacks need, and enters the network in which they are started; nothing if there are none.
/// Call it while the process has one thread.
pub(crate) fn ready<'a>(
    peers: impl IntoIterator<Item = &'a mut PeerAddress>,
) -> Result<(), Failure> {
    let mut places = None;
    for peer in peers.into_iter().filter(|peer| peer.is_stack()) {
        let places = match &places {
            Some(places) => places,
            None => places.insert(Places {
                cache: cache_folder()?,
                own: this_program()?,
            }),
        };
        peer.prepare(places, &mut |line| terminal::note(line))?;
    }
    match places {
        // Whatever has to be fetched has been.
        Some(_) => linerate_studies::enter_network_of_stacks(),
        None => Ok(()),
    }
}
