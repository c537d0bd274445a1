//! The events of the test as server-sent events: one stream for all tabs of a browser.
//!
//! A reader that is slow holds up nobody: events wait in the ring, and where they are gone it gets the state as it is.

use super::{Live, News};
use crate::pages::PageError;
use crate::pages::header;
use crate::site::Site;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

/// Streams at once.
const MAX_STREAMS: usize = 64;

/// Silence after which a comment says that the connection is alive.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Events on their way to one reader.
const IN_FLIGHT: usize = 16;

/// The stream.
pub(crate) async fn events(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let Some(live) = site.live.clone() else {
        return PageError::not_found("This site starts no tests.").into_response();
    };
    if live.newest.receiver_count() >= MAX_STREAMS {
        let text = "Close other windows of this site.";
        return PageError::new(StatusCode::SERVICE_UNAVAILABLE, "Too many streams", text)
            .into_response();
    }
    let seen = header(&headers, HeaderName::from_static("last-event-id"));
    let seen = seen.and_then(|id| number(live.boot.as_str(), id));
    let (sender, receiver) = mpsc::channel(IN_FLIGHT);
    tokio::spawn(feed(live, seen, sender));
    let events = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    let stream = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    ([(CACHE_CONTROL, "no-store")], stream).into_response()
}

/// The number in an event's id, if this process gave it.
fn number(boot: &str, id: &str) -> Option<u64> {
    id.strip_prefix(boot)?.strip_prefix('-')?.parse().ok()
}

/// Sends what comes until nobody reads it any more.
async fn feed(live: Arc<Live>, mut seen: Option<u64>, to: mpsc::Sender<Event>) {
    let mut newest = live.newest.subscribe();
    loop {
        let named = |id: u64| Event::default().id(format!("{}-{id}", live.boot.as_str()));
        let news = match live.news(seen) {
            News::Whole(id, state) => vec![(id, named(id).event("state").data(state))],
            News::Events(events) => {
                let each = events.into_iter();
                each.map(|one| (one.id, named(one.id).event(one.name).data(&*one.data)))
                    .collect()
            }
        };
        for (id, event) in news {
            if to.send(event).await.is_err() {
                return;
            }
            seen = Some(id);
        }
        tokio::select! {
            () = to.closed() => return,
            changed = newest.changed() => if changed.is_err() { return },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_numbers_of_this_process_count() {
        assert_eq!(number("ab12", "ab12-7"), Some(7));
        for other in ["ab1-7", "ab12-", "ab12-x", "7", ""] {
            assert_eq!(number("ab12", other), None, "{other}");
        }
    }
}
