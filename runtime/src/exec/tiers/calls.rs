//! What compiled code calls back for: whether to go on, atomics of global memory, device calls, and addresses outside of the window.
//! In: the context of the call, whose `user` names a [`Poll`].

use std::sync::atomic::{AtomicU64, Ordering};

use warpjit_backend::{Context, LaneTranslation, Permits, Permitter, Translator, in_host_floats};
use warpjit_ir::{DeviceCall, DeviceFault};

use crate::Memory;
use crate::exec::carried;
use crate::exec::memory::{Device, View};
use crate::exec::setup::Plan;
use crate::vm::Suspender;

/// Back edges between two polls.
pub(super) const FUEL: i64 = 1 << 16;
/// Polls that a region may take after a higher block has faulted.
const LATE_LOOKS: u32 = 1 << 10;

/// What running code polls now and then.
pub trait StopPoll {
    /// Whether the launch is over for this block.
    fn stop(&self) -> bool;
    /// Whether a higher block has faulted, so that this one gets a limited time.
    fn is_late(&self) -> bool;
    /// Asked wherever a warp has reached the end of a block or region, if the launch may be paused ([`Plan::may_pause`]):
    /// whether it is to stop there, to be saved.
    fn pause(&self) -> bool {
        false
    }
    /// Whether [`StopPoll::pause`] has said so.
    fn is_paused(&self) -> bool {
        false
    }
}

/// The target of a context's `user` pointer while compiled code runs.
pub(super) struct Poll<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) memory: &'a Memory,
    pub(super) plan: &'a Plan,
}

/// What to do when the fuel is spent.
pub(super) enum Asked<'a> {
    /// Poll the launch whether to go on. The number counts polls after a higher block has faulted.
    StopPoll(&'a dyn StopPoll, u32),
    /// Suspend the call. Its resumer polls, and refills the fuel.
    Suspend(Suspender),
}

impl<'a> Poll<'a> {
    pub(super) fn new(stop_poll: &'a dyn StopPoll, view: &View<'a>) -> Poll<'a> {
        Poll { asked: Asked::StopPoll(stop_poll, 0), memory: view.memory, plan: view.plan }
    }
}

/// Called by compiled code when its fuel is spent.
pub(super) unsafe extern "C" fn poll(context: *mut Context) -> u32 {
    // SAFETY: compiled code passes its context, whose `user` names the Poll of the call that runs; nothing else uses either meanwhile.
    let asked = unsafe { &mut (*(*context).user.cast::<Poll<'_>>()).asked };
    let (stop_poll, late_looks) = match asked {
        Asked::StopPoll(stop_poll, late_looks) => (*stop_poll, late_looks),
        Asked::Suspend(suspender) => {
            let suspender = *suspender;
            // SAFETY: the context's code has called this, and nothing here is to be dropped.
            unsafe { suspender.suspend() };
            return 0;
        }
    };
    *late_looks += u32::from(stop_poll.is_late());
    // SAFETY: as above.
    unsafe { (*context).fuel = FUEL };
    u32::from(*late_looks > LATE_LOOKS || stop_poll.stop())
}

/// Called by compiled code for an atomic of global memory.
pub(super) unsafe extern "C" fn global_atomic(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    let memory = poll.memory;
    let mut last = None;
    context.each_atomic(|x| {
        let old = carried::catch(|| memory.guest_atomic(x.address, x.bytes, x.op, x.value, x.new).ok());
        last = Some((x.address, x.bytes));
        old.flatten()
    });
    if let (Some((address, bytes)), 0) = (last, context.odd_lane) {
        context.permit_atomics(&mut Permitting(memory), address, bytes);
    }
}

/// Called by compiled code for a device call.
pub(super) unsafe extern "C" fn call_device(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    // SAFETY: the context's code is in a device call.
    let (site, lanes) = unsafe { context.device_call() };
    let count = poll.plan.lanes as usize;
    let bytes = (context.local_bytes as usize).next_multiple_of(4) * count;
    // SAFETY: the context's local memory is the warp's, of that size, and nothing else uses it while its code waits for this call.
    let local = unsafe { std::slice::from_raw_parts_mut(context.local_base, bytes) };
    if poll.plan.samplers.serve_again(&site, local, count, lanes) {
        context.end_device_call(None);
        return;
    }
    let mut access = Device { plan: poll.plan, memory: poll.memory, local, lanes: count, site: Some(&site) };
    let mut call = DeviceCall { params: site.params, mailbox: site.mailbox, lanes, access: &mut access };
    let lane = lanes.trailing_zeros();
    let done = in_host_floats(|| carried::catch(|| (site.callee.run)(&mut call)));
    // The panic is thrown where this fault arrives.
    let fault = done.unwrap_or(Err(DeviceFault::Memory { lane, address: 0, store: false }));
    let fault = fault.err();
    context.end_device_call(fault);
}

/// Called by compiled code for an access outside the window.
pub(super) unsafe extern "C" fn translate(context: *mut Context) {
    // SAFETY: as in `poll`.
    let (context, poll) = unsafe { (&mut *context, &*(*context).user.cast::<Poll<'_>>()) };
    match context.asks_for_permits() {
        true => context.each_permit(&mut Permitting(poll.memory)),
        false => context.each_translation(&mut Translations(poll.memory)),
    }
}

/// Answers requests for permits.
struct Permitting<'a>(&'a Memory);

impl Permitter for Permitting<'_> {
    fn permitted_range(&mut self, permits: &mut Permits, access: (u64, u8, bool)) -> Option<(u64, u64)> {
        let (address, bytes, stores) = access;
        carried::catch(|| self.0.permitted_range(permits, address, bytes, stores)).flatten()
    }

    fn store(&mut self, address: u64, bytes: u8, value: u64) {
        // Cannot fail but where the page has gone since it was permitted.
        let _ = carried::catch(|| self.0.guest_store(address, bytes, value));
    }

    fn open(&mut self, permits: &mut Permits, site: u32, range: (u64, u64)) {
        self.0.open_window(permits, site, range);
    }
}

/// Answers requests for translations.
struct Translations<'a>(&'a Memory);

impl Translator for Translations<'_> {
    fn generation(&self) -> Option<u64> {
        Some(self.0.generation().load(Ordering::SeqCst))
    }

    fn find(&mut self, access: &LaneTranslation) -> Option<Option<*mut u8>> {
        let stores = access.value.is_some();
        carried::catch(|| self.0.host_address(access.address, access.bytes, stores).ok()).flatten()
    }

    fn answer(&mut self, access: &LaneTranslation) -> bool {
        // SAFETY: the bounce is eight bytes of the context, aligned, that nothing else uses meanwhile.
        let bounce = unsafe { AtomicU64::from_ptr(access.bounce.cast()) };
        let answered = carried::catch(|| self.0.answer(access.address, access.bytes, access.value, bounce));
        answered.is_some_and(|answered| answered.is_ok())
    }

    fn store(&mut self, address: u64, bytes: u8, value: u64) {
        // Cannot fail: the address has been translated, so it is mapped.
        let _ = carried::catch(|| self.0.guest_store(address, bytes, value));
    }
}
