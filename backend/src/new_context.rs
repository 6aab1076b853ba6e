//! What a context holds before the embedder fills it in: no memory, and the functions that compiled code calls.
//!
//! The layout is in `context.rs`, which knows none of these functions; they all know it.

use std::sync::atomic::AtomicU64;

use crate::context::{CONST_BANKS, Context, FaultRecord, LaneWords, LastPage};

/// Of a memory that never says when it changes: nothing is remembered of it.
static NO_GENERATION: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn stop(_: *mut Context) -> u32 {
    1
}

/// Serves no lane.
unsafe extern "C" fn no_device(_: *mut Context) {}

impl Context {
    /// A context without memory, lanes or fuel. Its poll function stops the code.
    pub fn new() -> Context {
        Context {
            active: 0,
            exited: 0,
            cond: 0,
            fault: FaultRecord::NONE,
            fault_lanes: 0,
            chunk_lane: 0,
            vector_base: 0,
            global_base: std::ptr::null_mut(),
            global_high: !0xffff_ffff,
            window_high: !0xffff_ffff,
            upper_start: 0,
            upper_more: 0,
            near_guards: 1,
            page_table: std::ptr::null(),
            shared_base: std::ptr::null_mut(),
            shared_bytes: 0,
            local_bytes: 0,
            local_base: std::ptr::null_mut(),
            const_banks: [std::ptr::null(); CONST_BANKS],
            pures: std::ptr::null(),
            devices: std::ptr::null(),
            call_device: no_device,
            device_fault: None,
            call_pure: crate::helpers::call_pure,
            tables: std::ptr::null(),
            fma_f64: crate::helpers::fma_f64,
            poll: stop,
            poll_preserving: crate::helpers::poll_preserving,
            flush_denormals: crate::helpers::flush_denormals,
            keep_denormals: crate::helpers::keep_denormals,
            stop: 0,
            split: 0,
            fuel: 0,
            user: std::ptr::null_mut(),
            thread_insts: 0,
            scratch: [0; 2],
            index: 0,
            guard_lanes: 0,
            poll_wide: crate::wide_helpers::poll_wide,
            access_wide: crate::wide_helpers::access_wide,
            atomic_lanes: crate::atomics::atomic_lanes,
            atomic_wide: crate::wide_helpers::atomic_wide,
            global_atomic: crate::atomics::no_global_atomic,
            translate: crate::translate::no_translation,
            translate_preserving: crate::helpers::translate_preserving,
            translate_wide: crate::wide_helpers::translate_wide,
            odd_lane: 0,
            single_lanes: 0,
            atomic: 0,
            access: 0,
            lane_addresses: LaneWords([0; 64]),
            lane_values: LaneWords([0; 64]),
            lane_others: LaneWords([0; 64]),
            block_x: 0,
            block_end: 0,
            linear_more: 0,
            warp: std::ptr::null(),
            warps_end: std::ptr::null(),
            phase: 0,
            common_exit: 0,
            exit: 0,
            insts: 0,
            row_insts: 0,
            link: 0,
            chain_left: 0,
            shared_first: std::ptr::null(),
            rebase: 0,
            ignored_bits: 0,
            new_run: 0,
            scalar_answers: crate::scalar_answers::ScalarAnswers::default(),
            generation: &raw const NO_GENERATION,
            last_page: LastPage::NONE,
            windows: std::ptr::null(),
            permit_site: 0,
            permits: crate::permits::Permits::default(),
        }
    }
}

impl Default for Context {
    fn default() -> Self {
        Context::new()
    }
}
