//! Replaces accesses through windows to global memory (Tesla's g0[] to g15[]) by accesses to the address space, behind a bounds
//! test.
//!
//! A window is a part of the address space: the access becomes one at the window's start plus the guest's address, and a lane
//! outside the window faults before it. Code depends on the kind of each window ([`Window`]). Its start and end differ from
//! launch to launch, so code reads them from a const bank that no guest names ([`BANK`]).

use warpjit_ir::entities::{Block, Inst, Value};
use warpjit_ir::function::{Form, Function, Imm, InstData};
use warpjit_ir::opcodes::{IntCC, MemAccess, Opcode, Space};
use warpjit_ir::types::{Scalar, Type};

/// Windows that a guest can name.
pub const WINDOWS: usize = 16;

/// The const bank with the [`WindowWords`] of each window, one after another.
pub const BANK: u8 = 17;

/// Bytes of a row of a tile.
pub const TILE_WIDTH: u32 = 64;

/// A window that is not the whole address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Window {
    /// The window does not exist: every access to it faults.
    None,
    /// A contiguous range of at least [`FEWEST`] bytes, whose start is a multiple of [`ALIGNED`].
    Linear,
    /// An image in tiles of 64 bytes by `4 << tile_mode` rows. A guest address is `y << 16 | x`. The start is a
    /// multiple of [`ALIGNED`].
    Tiled,
    /// A window that compiled code does not support: only the interpreter accesses it.
    Other,
}

/// Bytes of the smallest linear window that compiled code supports: those of the widest access.
pub const FEWEST: u64 = 8;

/// Alignment of a window's start. With it, a guest address in the window has the same alignment as its address in the
/// address space.
pub const ALIGNED: u64 = 16;

/// The description of a window that compiled code reads from the const bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowWords {
    /// Where it begins in the address space.
    pub start: u32,
    /// Offset of its last byte from the start (linear windows).
    pub last: u32,
    /// Bytes of a row. This and the following fields describe tiled windows.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tiles from one row of tiles to the next.
    pub tiles: u32,
    /// Binary logarithm of a tile's rows.
    pub rows: u32,
}

impl WindowWords {
    /// Bytes of one description in the bank.
    pub const BYTES: usize = 32;

    /// The description as it is stored in the bank.
    pub fn to_bytes(self) -> [u8; WindowWords::BYTES] {
        let words = [self.start, self.last, self.width, self.height, self.tiles, self.rows];
        let mut bytes = [0; WindowWords::BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Indices of the words of [`WindowWords`].
#[derive(Clone, Copy)]
enum Word {
    Start,
    Last,
    Width,
    Height,
    Tiles,
    Rows,
}

/// The window that an access in the address space came through. After this pass, an access names its window as
/// `Global(n)` with `n` beyond the guest's windows. A denied access names the window itself and has the guest's
/// address.
pub fn through(space: Space) -> Option<u8> {
    match space {
        Space::Global(n) if usize::from(n) >= WINDOWS => Some(n - WINDOWS as u8),
        _ => None,
    }
}

/// The window of an access of global memory.
fn window_of(func: &Function, inst: Inst, windows: &[Window; WINDOWS]) -> Option<Window> {
    match func.mem_access(inst)?.space {
        Space::Global(n) => Some(windows.get(usize::from(n)).copied().unwrap_or(Window::None)),
        _ => None,
    }
}

/// Whether [`run`] can take the windows out of a function: addresses have 32 bits, and no window that is accessed is [`Window::Other`].
pub fn can(func: &Function, windows: &[Window; WINDOWS]) -> bool {
    let fits = |inst: Inst| {
        let data = func.inst(inst);
        window_of(func, inst, windows).is_none_or(|window| {
            let known = matches!(data.op, Opcode::Load | Opcode::Store | Opcode::Atomic);
            known && window != Window::Other && func.ty(data.args[0]).scalar == Scalar::I32
        })
    };
    func.form == Form::Mask && func.block_ids().flat_map(|b| &func.block(b).insts).all(|&inst| fits(inst))
}

/// Takes the windows out of a function in mask form; `false`, with the function as it was, if it [cannot](can).
pub fn run(func: &mut Function, windows: &[Window; WINDOWS]) -> bool {
    if !can(func, windows) {
        return false;
    }
    for block in func.block_ids() {
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            if let Some(window) = window_of(func, inst, windows) {
                let data = func.inst(inst).clone();
                let through = Through { func, block, data: &data }.access(window);
                *func.inst_mut(inst) = through;
            }
            func.block_mut(block).insts.push(inst);
        }
    }
    true
}

/// An access through a window.
struct Through<'a> {
    func: &'a mut Function,
    /// Where operations are appended.
    block: Block,
    data: &'a InstData,
}

impl Through<'_> {
    /// Appends what tests the address; gives the access in the address space.
    fn access(&mut self, window: Window) -> InstData {
        let (mut data, values) = (self.data.clone(), self.values());
        let (Imm::Mem(mut mem) | Imm::Atomic(mut mem, _)) = data.imm else { return data };
        let Space::Global(number) = mem.space else { return data };
        let address = data.args[0];
        let place = self.with_offset(address, mem);
        match window {
            Window::Linear => {
                let last = self.word(mem, Word::Last);
                let most = self.plus(last, 1u32.wrapping_sub(mem.bytes.into()));
                let beyond = self.compare(IntCC::Ugt, place, most);
                self.deny(mem, place, beyond);
                let start = self.word(mem, Word::Start);
                // The offset stays with the access.
                data.args[0] = self.two(Opcode::Iadd, address, start);
            }
            Window::Tiled => {
                let (beyond, inside) = self.tiled(mem, place);
                self.deny(mem, place, beyond);
                data.args[0] = inside;
                mem.offset = 0;
            }
            Window::None | Window::Other => {
                let always = self.make(Opcode::Const, &[], Imm::Bits(1), Scalar::I1);
                self.deny(mem, place, always);
                // No lane gets past the fault, so the access needs no lanes.
                let never = self.make(Opcode::Const, &[], Imm::Bits(0), Scalar::I1);
                data.args.truncate(values);
                data.args.push(never);
            }
        }
        mem.space = Space::Global(number.wrapping_add(WINDOWS as u8));
        data.imm = match data.imm {
            Imm::Atomic(_, op) => Imm::Atomic(mem, op),
            _ => Imm::Mem(mem),
        };
        data
    }

    /// Operands of the access before its guard.
    fn values(&self) -> usize {
        match self.data.op {
            Opcode::Load => 1,
            Opcode::Store => 2,
            _ => self.data.atomic_operands(),
        }
    }

    /// Computes whether an access to an image lies outside it or crosses the end of a tile's row, and its address in
    /// the address space.
    fn tiled(&mut self, mem: MemAccess, address: Value) -> (Value, Value) {
        let last = u32::from(mem.bytes) - 1;
        let x = self.with(Opcode::Iand, address, 0xffff);
        let y = self.with(Opcode::Ushr, address, 16);
        let column = self.with(Opcode::Iand, x, TILE_WIDTH - 1);
        let (width, height) = (self.word(mem, Word::Width), self.word(mem, Word::Height));
        let end = self.plus(x, last);
        let row_end = self.plus(column, last);
        let edge = self.constant(TILE_WIDTH);
        let right = self.compare(IntCC::Uge, end, width);
        let below = self.compare(IntCC::Uge, y, height);
        let across = self.compare(IntCC::Uge, row_end, edge);
        let outside = self.make(Opcode::Ior, &[right, below], Imm::None, Scalar::I1);
        let outside = self.make(Opcode::Ior, &[outside, across], Imm::None, Scalar::I1);

        let (tiles, rows) = (self.word(mem, Word::Tiles), self.word(mem, Word::Rows));
        let one = self.constant(1);
        let count = self.two(Opcode::Ishl, one, rows);
        let most = self.plus(count, u32::MAX);
        let tile_row = self.two(Opcode::Ushr, y, rows);
        let row = self.two(Opcode::Iand, y, most);
        let in_row = self.with(Opcode::Ushr, x, TILE_WIDTH.trailing_zeros());
        let above = self.two(Opcode::Imul, tile_row, tiles);
        let tile = self.two(Opcode::Iadd, above, in_row);
        // The tile rows above it, then its own, then the bytes within the tile.
        let before = self.two(Opcode::Ishl, tile, rows);
        let all = self.two(Opcode::Iadd, before, row);
        let bytes = self.with(Opcode::Ishl, all, TILE_WIDTH.trailing_zeros());
        let inside = self.two(Opcode::Iadd, bytes, column);
        let start = self.word(mem, Word::Start);
        (outside, self.two(Opcode::Iadd, inside, start))
    }

    /// Makes the lanes of the access for which `bad` holds fault here.
    fn deny(&mut self, mem: MemAccess, address: Value, bad: Value) {
        let mut args = vec![address, bad];
        args.extend(self.data.args.get(self.values()));
        let op = if self.data.op == Opcode::Load { Opcode::DenyLoad } else { Opcode::DenyStore };
        let inst =
            self.func.make_inst(op, &args, Imm::Mem(MemAccess { offset: 0, ..mem }), None, self.data.pc);
        self.func.block_mut(self.block).insts.push(inst);
    }

    /// A word of the window of an access.
    fn word(&mut self, of: MemAccess, word: Word) -> Value {
        let Space::Global(window) = of.space else { return self.constant(0) };
        let offset = usize::from(window) * WindowWords::BYTES + 4 * word as usize;
        let mem = MemAccess {
            space: Space::Const(BANK),
            bytes: 4,
            signed: false,
            offset: offset as i32,
            far: false,
            align: 1,
            align_offset: 0,
        };
        let zero = self.constant(0);
        self.make(Opcode::Load, &[zero], Imm::Mem(mem), Scalar::I32)
    }

    fn with_offset(&mut self, address: Value, mem: MemAccess) -> Value {
        if mem.offset == 0 { address } else { self.plus(address, mem.offset as u32) }
    }

    fn plus(&mut self, a: Value, n: u32) -> Value {
        self.with(Opcode::Iadd, a, n)
    }

    fn with(&mut self, op: Opcode, a: Value, n: u32) -> Value {
        let n = self.constant(n);
        self.two(op, a, n)
    }

    fn two(&mut self, op: Opcode, a: Value, b: Value) -> Value {
        self.make(op, &[a, b], Imm::None, Scalar::I32)
    }

    fn compare(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.make(Opcode::Icmp, &[a, b], Imm::Int(cc), Scalar::I1)
    }

    fn constant(&mut self, n: u32) -> Value {
        self.make(Opcode::Const, &[], Imm::Bits(n.into()), Scalar::I32)
    }

    /// Appends an operation, the same for all lanes if its operands are.
    fn make(&mut self, op: Opcode, args: &[Value], imm: Imm, scalar: Scalar) -> Value {
        let uniform = args.iter().all(|&a| self.func.ty(a).uniform);
        let inst = self.func.make_inst(op, args, imm, Some(Type { scalar, uniform }), self.data.pc);
        self.func.block_mut(self.block).insts.push(inst);
        Value::new(self.func.values.len() - 1)
    }
}
