//! The code of a texture instruction: arguments to the mailbox, changes from the quad, the call, results.

use warpjit_ir::{DeviceFn, DeviceSite, Imm, Opcode, Slot, Type, Value};

use super::{CHANGES, COORDINATES, HANDLE, LAYER, LEVEL, OFFSETS, ORIGIN, REFERENCE, SAMPLE};
use crate::simt::Emitter;

/// The sources of a texture instruction.
#[derive(Default)]
pub(crate) struct Arguments {
    /// Coordinates, or all sources of Tesla's.
    pub(crate) coordinates: Vec<Value>,
    pub(crate) layer: Option<Value>,
    pub(crate) reference: Option<Value>,
    pub(crate) level: Option<Value>,
    pub(crate) offsets: Vec<Value>,
    pub(crate) handle: Option<Value>,
    pub(crate) sample: Option<Value>,
    /// Changes that the instruction has itself: of each coordinate along x, then along y.
    pub(crate) changes: Option<[Vec<Value>; 2]>,
    /// Registers of the coordinates, where their changes are those between the lanes of a quad; `None`: a register that is not there.
    pub(crate) quad: Vec<Option<Slot>>,
}

/// Temporaries that carry what lanes 0, 1 and 2 have of a coordinate.
const FIRST_TEMP: usize = 10;

impl<O> Emitter<'_, O> {
    /// Calls a device for the lanes of the guard, in a block of its own.
    pub(crate) fn call_device(&mut self, callee: &'static DeviceFn, params: u64, mailbox: u32) {
        self.isolated(|e| {
            let args: Vec<Value> = e.guard.into_iter().collect();
            let site = DeviceSite { callee, params, mailbox };
            e.b.push(Opcode::CallDevice, &args, Imm::Device(site), None);
        });
    }

    /// Puts arguments into the mailbox and calls the texture unit for the lanes of the guard.
    pub(crate) fn call_texture(
        &mut self,
        callee: &'static DeviceFn,
        params: u64,
        mailbox: u32,
        arguments: &Arguments,
    ) {
        let put = |e: &mut Self, word: u32, value: Value| {
            let bits = e.b.splat(value);
            e.set_lane_memory(mailbox + 4 * word, bits);
        };
        let lists = [(COORDINATES, &arguments.coordinates), (OFFSETS, &arguments.offsets)];
        for (first, list) in lists {
            for (word, &value) in (first..).zip(list) {
                put(self, word, value);
            }
        }
        let single = [
            (LAYER, arguments.layer),
            (REFERENCE, arguments.reference),
            (LEVEL, arguments.level),
            (HANDLE, arguments.handle),
            (SAMPLE, arguments.sample),
        ];
        for (word, value) in single {
            if let Some(value) = value {
                put(self, word, value);
            }
        }
        if let Some(changes) = &arguments.changes {
            let zero = self.b.i32(0);
            for (first, list) in CHANGES.into_iter().zip(changes) {
                for (n, &value) in (0..).zip(list) {
                    put(self, first + n, value);
                    put(self, ORIGIN + n, zero);
                }
            }
        } else if !arguments.quad.is_empty() {
            self.quad_changes(mailbox, &arguments.quad);
        }
        self.call_device(callee, params, mailbox);
    }

    /// Word `n` of a mailbox.
    pub(crate) fn mailbox_word(&mut self, mailbox: u32, n: u32) -> Value {
        self.lane_memory(mailbox + 4 * n)
    }

    /// What registers are from pixel to pixel. What counts is what the lanes of the quad have in the register now, whether they are
    /// active or not.
    fn quad_changes(&mut self, mailbox: u32, registers: &[Option<Slot>]) {
        let temps: Vec<[Slot; 3]> = (0..registers.len())
            .map(|n| [0, 1, 2].map(|lane| self.temp(Type::I32, FIRST_TEMP + 3 * n + lane)))
            .collect();
        self.isolated(|e| {
            for (register, temps) in registers.iter().zip(&temps) {
                let value = match register {
                    Some(slot) => e.b.get(*slot),
                    None => e.b.i32(0),
                };
                for (lane, temp) in (0..).zip(temps) {
                    let there = e.b.push(Opcode::QuadLane, &[value], Imm::Bits(lane), Some(Type::I32));
                    if let Some(there) = there {
                        e.put_in_all_lanes(*temp, there);
                    }
                }
            }
        });
        for (n, temps) in (0..).zip(&temps) {
            for (first, &temp) in [ORIGIN, CHANGES[0], CHANGES[1]].into_iter().zip(temps) {
                let bits = self.get(temp);
                self.set_lane_memory(mailbox + 4 * (first + n), bits);
            }
        }
    }
}
