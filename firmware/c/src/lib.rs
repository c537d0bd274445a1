//! The responder for C: what `include/responder.h` declares.
//!
//! Every function takes the pointer that `linerate_responder_init` gave, and memory that is the caller's for the time
//! of the call; the header says the rest.
#![cfg_attr(target_os = "none", no_std)]

mod convert;

use convert::{Address, Settings, bytes, room};
use core::ffi::{c_int, c_void};
use linerate_responder::{Instant, Port, Reply, Responder, Signal};

/// What the header promises to be enough.
const SIZE: usize = 12288;
const _: () = assert!(size_of::<Responder>() <= SIZE && align_of::<Responder>() <= 8);

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// The responder behind the caller's pointer.
///
/// # Safety
/// `responder` came of `linerate_responder_init`, and nobody else uses it now.
unsafe fn this<'a>(responder: *mut Responder) -> &'a mut Responder {
    // SAFETY: the caller's word.
    unsafe { &mut *responder }
}

const fn at(now: u64) -> Instant {
    Instant::from_nanos(now)
}

/// # Safety
/// `memory` has `size` bytes that are the responder's from now on; `config` points to one whose texts stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_responder_init(
    memory: *mut c_void,
    size: usize,
    config: *const Settings,
) -> *mut Responder {
    let place = memory.cast::<Responder>();
    if size < size_of::<Responder>() || !place.is_aligned() || place.is_null() || config.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: not null, and the caller's word.
    let config = unsafe { &*config }.config();
    // SAFETY: aligned and large enough, seen above.
    unsafe { place.write(Responder::new(config)) };
    place
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_poll(responder: *mut Responder, now: u64) {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.poll(at(now));
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_deadline(responder: *mut Responder, now: u64) -> u64 {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.deadline(at(now)).as_nanos()
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_count(responder: *mut Responder, signal: c_int, value: u64) {
    let signal = usize::try_from(signal).ok();
    if let Some(signal) = signal.and_then(|signal| Signal::ALL.get(signal)) {
        // SAFETY: the caller's word.
        unsafe { this(responder) }.count(*signal, value);
    }
}

/// # Safety
/// As of every function here; `client` points to an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_control_opened(
    responder: *mut Responder,
    now: u64,
    client: *const Address,
) {
    // SAFETY: the caller's word.
    let client = unsafe { &*client }.socket();
    // SAFETY: the caller's word.
    unsafe { this(responder) }.control_opened(at(now), client.ip());
}

/// # Safety
/// As of every function here; `data` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_control_received(
    responder: *mut Responder,
    now: u64,
    data: *const c_void,
    length: usize,
) {
    // SAFETY: the caller's word.
    let data = unsafe { bytes(data, length) };
    // SAFETY: the caller's word.
    unsafe { this(responder) }.control_received(at(now), data);
}

/// # Safety
/// As of every function here; `data` has room for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_control_output(
    responder: *mut Responder,
    data: *mut c_void,
    length: usize,
) -> usize {
    // SAFETY: the caller's word.
    let data = unsafe { room(data, length) };
    // SAFETY: the caller's word.
    unsafe { this(responder) }.control_output(data)
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_control_wants_close(responder: *mut Responder) -> c_int {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.control_wants_close().into()
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_control_closed(responder: *mut Responder, now: u64) {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.control_closed(at(now));
}

/// # Safety
/// As of every function here; `from` points to an address, `data` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_datagram_received(
    responder: *mut Responder,
    now: u64,
    port: c_int,
    from: *const Address,
    data: *mut c_void,
    length: usize,
) -> c_int {
    let port = if port == 0 { Port::Receive } else { Port::Send };
    // SAFETY: the caller's word.
    let from = unsafe { &*from }.socket();
    // SAFETY: the caller's word.
    let data = unsafe { room(data, length) };
    // SAFETY: the caller's word.
    let responder = unsafe { this(responder) };
    let reply = responder.datagram_received(at(now), port, from, data);
    (reply == Reply::SendBack).into()
}

/// # Safety
/// As of every function here; `data` has room for `length` bytes, `to` for an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_datagram_output(
    responder: *mut Responder,
    now: u64,
    data: *mut c_void,
    length: usize,
    to: *mut Address,
) -> usize {
    // SAFETY: the caller's word.
    let data = unsafe { room(data, length) };
    // SAFETY: the caller's word.
    let responder = unsafe { this(responder) };
    let Some((length, goes)) = responder.datagram_output(at(now), data) else {
        return 0;
    };
    // SAFETY: the caller's word.
    unsafe { to.write(Address::from_socket(goes)) };
    length
}

/// # Safety
/// As of every function here; `from` points to an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_opened(
    responder: *mut Responder,
    from: *const Address,
) -> c_int {
    // SAFETY: the caller's word.
    let from = unsafe { &*from }.socket();
    // SAFETY: the caller's word.
    unsafe { this(responder) }.stream_opened(from.ip()).into()
}

/// # Safety
/// As of every function here; `data` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_received(
    responder: *mut Responder,
    now: u64,
    data: *mut c_void,
    length: usize,
) -> c_int {
    // SAFETY: the caller's word.
    let data = unsafe { room(data, length) };
    // SAFETY: the caller's word.
    let reply = unsafe { this(responder) }.stream_received(at(now), data);
    (reply == Reply::SendBack).into()
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_output(
    responder: *mut Responder,
    now: u64,
    room: usize,
) -> usize {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.stream_output(at(now), room)
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_ended(responder: *mut Responder) {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.stream_ended();
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_wants_close(responder: *mut Responder) -> c_int {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.stream_wants_close().into()
}

/// # Safety
/// As of every function here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_stream_closed(responder: *mut Responder) {
    // SAFETY: the caller's word.
    unsafe { this(responder) }.stream_closed();
}
