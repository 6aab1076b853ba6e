//! Signals that are none of ours do what they would have done without us. Each case is a child process,
//! which this very test binary becomes when a variable is set.

mod support;

use std::os::unix::process::ExitStatusExt;

use support::child;

const CASE: &str = "WARPJIT_SIGNAL_CASE";

unsafe extern "C" fn plain(_: i32) {
    // SAFETY: ends the process; allowed in a handler.
    unsafe { libc::_exit(43) }
}

unsafe extern "C" fn detailed(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: valid in a SA_SIGINFO handler; `_exit` as above.
    unsafe { libc::_exit(if (*info).si_addr() as usize == 0x10 { 44 } else { 45 }) }
}

fn install(handler: usize, flags: i32) {
    // SAFETY: a zeroed sigaction with a handler of the type that the flags name.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()), 0);
    }
}

fn fault() {
    // SAFETY: none; the process is to die here, and nothing of it is used after.
    unsafe { std::ptr::without_provenance::<u32>(std::hint::black_box(0x10)).read_volatile() };
}

/// The child's part.
fn misbehave(case: &str) {
    match case {
        "plain" => install(plain as *const () as usize, 0),
        "detailed" => install(detailed as *const () as usize, libc::SA_SIGINFO),
        _ => install(libc::SIG_DFL, 0),
    }
    warpjit_runtime::vm::init().expect("handlers");
    if case == "sent" {
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(libc::SIGSEGV) };
    } else {
        fault();
    }
    std::process::exit(1);
}

#[test]
fn reach_the_handler_that_was_there() {
    if let Ok(case) = std::env::var(CASE) {
        misbehave(&case);
    }
    let run = |case: &str| child("reach_the_handler_that_was_there", CASE, case);
    assert_eq!(run("plain").code(), Some(43));
    assert_eq!(run("detailed").code(), Some(44));
    assert_eq!(run("default").signal(), Some(libc::SIGSEGV));
    assert_eq!(run("sent").signal(), Some(libc::SIGSEGV));
}
