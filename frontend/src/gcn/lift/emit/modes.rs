//! Chooses how to lift a float operation, by what is known of MODE (rounding and denormals).
//!
//! If MODE is known to round to nearest and to keep or flush all denormals, which is how compilers leave it, the operation
//! becomes IR operations. Otherwise it becomes a call of a pure function, with MODE as first argument.

use warpjit_ir::{IntCC, Opcode, PureFn, Value};

use crate::gcn::lift::analysis::statics::Mode;
use crate::gcn::lift::emit::Emit;
use crate::gcn::numeric::{Width, pure};

/// What a float operation becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum FloatLowering {
    /// IR operations that flush denormals or keep them.
    Plain {
        /// Whether they flush.
        ftz: bool,
    },
    /// Calls of the numerics.
    Call,
}

const FLUSHING: FloatLowering = FloatLowering::Plain { ftz: true };

impl Emit<'_> {
    /// How arithmetic of a format is done here.
    pub(in crate::gcn::lift) fn lowering(&self, width: Width) -> FloatLowering {
        let Mode::Known(mode) = self.mode() else { return FloatLowering::Call };
        let single = width == Width::Single;
        let (round, denormals) =
            if single { (mode.round32, mode.denorm32) } else { (mode.round64, mode.denorm64) };
        match (round, denormals) {
            (0, 3) => FloatLowering::Plain { ftz: false },
            (0, 0) => FLUSHING,
            _ => FloatLowering::Call,
        }
    }

    /// How it is done where denormals are zeros whatever MODE says: `v_mad`, `v_mac`.
    pub(in crate::gcn::lift) fn flushing_lowering(&self, width: Width) -> FloatLowering {
        match self.mode() {
            Mode::Known(mode) if width == Width::Single && mode.round32 == 0 => FLUSHING,
            Mode::Known(mode) if width != Width::Single && mode.round64 == 0 => FLUSHING,
            _ => FloatLowering::Call,
        }
    }

    /// Whether f32 arithmetic flushes here. Where it does, operations for which that makes no difference are emitted as
    /// flushing too, so that nothing keeps the code round them from running in the host's flushing mode.
    pub(in crate::gcn::lift) fn flushes_single(&self) -> bool {
        self.lowering(Width::Single) == FLUSHING
    }

    /// Whether results of a format are rounded to nearest for certain.
    pub(in crate::gcn::lift) fn rounds_to_nearest(&self, width: Width) -> bool {
        self.flushing_lowering(width) == FLUSHING
    }

    /// The first argument of a function that depends on MODE: MODE's low half and a form.
    pub(in crate::gcn::lift) fn mode_arg(&mut self, form: u32) -> Value {
        match self.mode() {
            Mode::Known(mode) => {
                let rounding = u32::from(mode.round32) | u32::from(mode.round64) << 2;
                let denormals = u32::from(mode.denorm32) << 4 | u32::from(mode.denorm64) << 6;
                let flags = u32::from(mode.dx10_clamp) << 8 | u32::from(mode.ieee) << 9;
                self.b.i32(rounding | denormals | flags | form << pure::FORM)
            }
            Mode::Dynamic => {
                let mode = self.mode_bits();
                let mode = self.and_const(mode, 0xffff);
                if form == 0 {
                    return mode;
                }
                let form = self.b.i32(form << pure::FORM);
                self.b.ior(mode, form)
            }
        }
    }

    /// Calls a function that depends on MODE.
    pub(in crate::gcn::lift) fn call_mode(
        &mut self,
        callee: &'static PureFn,
        form: u32,
        args: &[Value],
    ) -> Value {
        let mut all = vec![self.mode_arg(form)];
        all.extend(args);
        self.b.call_pure(callee, &all)
    }

    /// An IR operation, or the function that stands for it in other modes.
    pub(in crate::gcn::lift) fn arithmetic(
        &mut self,
        width: Width,
        op: Opcode,
        callee: &'static PureFn,
        args: &[Value],
    ) -> Value {
        match self.lowering(width) {
            FloatLowering::Plain { ftz } => self.b.float(op, args, ftz),
            FloatLowering::Call => self.call_mode(callee, 0, args),
        }
    }

    /// Whether a bit of MODE's denormal fields is off: known, or as a truth value.
    fn flushes(&mut self, width: Width, bit: u32) -> Result<bool, Value> {
        match self.mode() {
            Mode::Known(mode) => {
                let denormals = if width == Width::Single { mode.denorm32 } else { mode.denorm64 };
                Ok(denormals >> bit & 1 == 0)
            }
            Mode::Dynamic => {
                let shift = if width == Width::Single { 4 } else { 6 };
                let mode = self.mode_bits();
                let bit = self.and_const(mode, 1 << (shift + bit));
                let zero = self.b.i32(0);
                Err(self.b.icmp(IntCC::Eq, bit, zero))
            }
        }
    }

    /// An f32 or f64 source as the operation sees it: denormals are zeros if MODE says so.
    pub(in crate::gcn::lift) fn flush_source(&mut self, width: Width, value: Value) -> Value {
        self.flush_if(width, 0, value)
    }

    /// An f32 or f64 result: as [`Emit::flush_source`].
    pub(in crate::gcn::lift) fn flush_result(&mut self, width: Width, value: Value) -> Value {
        self.flush_if(width, 1, value)
    }

    fn flush_if(&mut self, width: Width, bit: u32, value: Value) -> Value {
        match self.flushes(width, bit) {
            Ok(false) => value,
            Ok(true) => self.b.fflush(value),
            Err(flushes) => {
                let flushed = self.b.fflush(value);
                self.b.select(flushes, flushed, value)
            }
        }
    }

    /// The bits of an f16 source as the operation sees it.
    pub(in crate::gcn::lift) fn flush_half_source(&mut self, bits: Value) -> Value {
        let flushes = match self.flushes(Width::Half, 0) {
            Ok(false) => return bits,
            Ok(true) => None,
            Err(flushes) => Some(flushes),
        };
        let exponent = self.and_const(bits, 0x7c00);
        let zero = self.b.i32(0);
        let mut denormal = self.b.icmp(IntCC::Eq, exponent, zero);
        if let Some(flushes) = flushes {
            denormal = self.b.iand(denormal, flushes);
        }
        let sign = self.and_const(bits, 0x8000);
        self.b.select(denormal, sign, bits)
    }
}

impl Emit<'_> {
    /// MODE at the current instruction.
    pub(in crate::gcn::lift) fn mode(&self) -> Mode {
        self.own.statics.float_mode()
    }
}
