//! Error codes that a server sends after `SERVER_ERROR`.

use crate::session::RefusalCode;

/// Codes that this server sends; the client prints its own text.
pub(super) const DURATION: i32 = 37;
pub(super) const STREAMS: i32 = 6;
pub(super) const BLOCK: i32 = 7;
pub(super) const BUFFER: i32 = 8;
pub(super) const OMIT: i32 = 12;
pub(super) const UDP_BLOCK: i32 = 20;
pub(super) const TOS: i32 = 21;
pub(super) const BOTH_WAYS: i32 = 25;
pub(super) const RATE: i32 = 27;
pub(super) const PARAMS: i32 = 114;
pub(super) const CONGESTION: i32 = 134;
pub(super) const AUTHENTICATION: i32 = 142;
pub(super) const NO_DATA: i32 = 144;
pub(super) const GUARD: i32 = 160;
pub(super) const STREAM: i32 = 201;
pub(super) const MESSAGE: i32 = 110;
pub(super) const RESULTS: i32 = 117;

/// Meaning of the codes.
const MEANINGS: &[(i32, RefusalCode, &str)] = &[
    (5, RefusalCode::Limit, "the test is longer than it allows"),
    (
        6,
        RefusalCode::Limit,
        "these are more streams than it takes",
    ),
    (7, RefusalCode::Invalid, "it does not take this --payload"),
    (8, RefusalCode::Invalid, "it does not take this buffer size"),
    (10, RefusalCode::Invalid, "it does not take this MSS"),
    (12, RefusalCode::Invalid, "it does not take this warm-up"),
    (13, RefusalCode::Unsupported, "it has not implemented this"),
    (
        20,
        RefusalCode::Invalid,
        "it does not take this --payload for UDP",
    ),
    (21, RefusalCode::Invalid, "it does not take this TOS"),
    (
        25,
        RefusalCode::Invalid,
        "it takes --reverse or --duplex, not both",
    ),
    (
        27,
        RefusalCode::Limit,
        "the total rate is above its limit (iperf3 --server-bitrate-limit)",
    ),
    (37, RefusalCode::Limit, "the test is longer than it allows"),
    (
        102,
        RefusalCode::Internal,
        "it could not listen for the data streams",
    ),
    (
        108,
        RefusalCode::Protocol,
        "it could not read the control connection",
    ),
    (
        114,
        RefusalCode::Protocol,
        "it could not read the parameters",
    ),
    (120, RefusalCode::Interrupted, "it was stopped by its user"),
    (
        121,
        RefusalCode::Busy,
        "it is busy with another test: try again later",
    ),
    (
        126,
        RefusalCode::Unsupported,
        "it does not have this congestion control",
    ),
    (
        134,
        RefusalCode::Unsupported,
        "it does not have this congestion control",
    ),
    (140, RefusalCode::Internal, "it could not set the pacing"),
    (
        141,
        RefusalCode::Limit,
        "its system gives smaller buffers than were asked for",
    ),
    (
        142,
        RefusalCode::Denied,
        "it asks for a user and password that it knows, or does not accept this host: see --login, with --login-padding pkcs1 for iperf3 before 3.17; both clocks must agree",
    ),
    (144, RefusalCode::Timeout, "no data reached it for too long"),
    (
        160,
        RefusalCode::Timeout,
        "the test took longer than it was to take",
    ),
    (
        200,
        RefusalCode::Internal,
        "it could not make a data stream",
    ),
    (
        201,
        RefusalCode::Internal,
        "it could not make a data stream",
    ),
    (
        202,
        RefusalCode::Internal,
        "it could not listen for data streams",
    ),
    (
        203,
        RefusalCode::Internal,
        "a data stream could not be connected",
    ),
    (
        204,
        RefusalCode::Internal,
        "a data stream could not be accepted",
    ),
    (
        205,
        RefusalCode::Internal,
        "writing to a data stream failed",
    ),
    (
        206,
        RefusalCode::Internal,
        "reading from a data stream failed",
    ),
];

/// The server's error as a code and a text for the user.
pub(super) fn explain(code: i32, errno: i32) -> (RefusalCode, String) {
    let known = MEANINGS.iter().find(|(known, ..)| *known == code);
    let (kind, text) = known.map_or(
        (RefusalCode::Internal, "see iperf3's own messages there"),
        |(_, kind, text)| (*kind, *text),
    );
    let errno = match errno {
        0 => String::new(),
        errno => format!(", errno {errno}"),
    };
    (kind, format!("{text} (iperf3 error {code}{errno})"))
}

/// iperf3's code for a refusal of this end.
pub(super) const fn for_refusal(code: RefusalCode) -> i32 {
    match code {
        RefusalCode::Denied => AUTHENTICATION,
        RefusalCode::Limit => DURATION,
        RefusalCode::Timeout => GUARD,
        RefusalCode::Invalid | RefusalCode::Protocol => PARAMS,
        RefusalCode::Busy
        | RefusalCode::Internal
        | RefusalCode::Interrupted
        | RefusalCode::Unsupported => STREAM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_in_words_and_the_unknown_ones_by_number() {
        let (kind, text) = explain(142, 0);
        assert_eq!(kind, RefusalCode::Denied);
        assert!(text.contains("password") && text.contains("142"), "{text}");
        let (kind, text) = explain(-7, 111);
        assert_eq!(kind, RefusalCode::Internal);
        assert!(text.contains("-7, errno 111"), "{text}");
    }
}
