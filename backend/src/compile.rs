//! The backend's entry points: [`compile_region`] and [`compile_pieces`] turn IR into a [`RegionCode`], which is machine code
//! plus what the runtime must know to run it: where it can trap, which functions and tables it needs, and its float environment.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function as HostFunction, Signature, SourceLoc, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{Context as Codegen, FinalizedMachReloc};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Form, Function, Opcode, PureFn, Scalar, Slot, Space, Terminator, WordTable};

use crate::context::{Context, FaultKind, FaultRecord, encode_space};
use crate::embedded;
use crate::listing;
use crate::lower;
use crate::options::{BlockRow, Options, Piece, Shape, SlotShape, VECTOR_LANES, Way};

/// Why a region could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The region breaks a rule that the backend requires.
    #[error("malformed region: {0}")]
    Malformed(String),
    /// An operation that regions must not contain.
    #[error("{} in a lane region", .0.name())]
    CrossLane(Opcode),
    /// The host is not supported.
    #[error("no code for this host: {0}")]
    Host(String),
    /// The number of groups is no power of two, or does not divide the warp.
    #[error("chunks of {groups} groups do not fit warps of {lanes} lanes")]
    Groups {
        /// Groups asked for.
        groups: u8,
        /// Lanes of the warp.
        lanes: u32,
    },
    /// Cranelift rejected the code.
    #[error("code generator: {0}")]
    Codegen(String),
}

/// The float environment that code must run in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatEnv {
    /// MXCSR.FTZ and MXCSR.DAZ set; only on x86-64.
    FlushAll,
    /// No flushing; rounds to nearest even.
    Default,
}

/// How the trap handler finds the lane that a trap belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapLane {
    /// This lane of the chunk.
    Lane(u8),
    /// One of the lanes of a contiguous vector access. [`Context::vector_base`] is the host address of the chunk's
    /// first lane.
    Vector {
        /// First lane of this vector in the chunk.
        first: u8,
    },
    /// The lowest lane that takes part: the lowest of [`Context::guard_lanes`] if `guarded`, else the lowest active
    /// one.
    First {
        /// Whether the access has a guard of its own.
        guarded: bool,
    },
    /// The lane that a serialised loop runs: the lowest of [`Context::single_lanes`].
    Single,
    /// One of the lanes of a masked vector access. [`Context::guard_lanes`] holds the guard.
    Run {
        /// First lane of this vector in the chunk.
        first: u8,
        /// How many.
        lanes: u8,
        /// Bytes from lane to lane; negative if the last lane has the lowest address.
        step: i8,
        /// Whether the access has a guard of its own.
        guarded: bool,
        /// The host address of the lane that is lowest in memory. It has no index register.
        place: HostPlace,
    },
    /// One load for several lanes at one address: this lane of the chunk if it takes part, else the first lane of its
    /// 16-lane vector that does. [`Context::guard_lanes`] holds the guard.
    One {
        /// The lane.
        lane: u8,
        /// Whether the access has a guard of its own.
        guarded: bool,
        /// The lane's host address.
        place: HostPlace,
    },
    /// One of the lanes of a gather or scatter. [`Context::lane_addresses`] holds the addresses,
    /// [`Context::guard_lanes`] the guard.
    Gather {
        /// First lane that this instruction accesses.
        first: u8,
        /// Whether the addresses have 64 bits.
        wide: bool,
        /// Whether the access has a guard of its own.
        guarded: bool,
    },
}

/// A host address as an x86-64 memory operand: numbers of general registers and a displacement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HostPlace {
    /// Base register.
    pub base: u8,
    /// Index register and its scale.
    pub index: Option<(u8, u8)>,
    /// Displacement.
    pub disp: i32,
}

impl HostPlace {
    /// The address if the registers hold these values.
    fn address(&self, registers: &HostRegisters) -> u64 {
        let value = |register: u8| registers[usize::from(register % 16)];
        let index = self.index.map_or(0, |(register, scale)| value(register).wrapping_mul(scale.into()));
        value(self.base).wrapping_add(index).wrapping_add(self.disp as i64 as u64)
    }
}

/// The host's general registers at a trap, in x86-64's numbering; zeros on other hosts.
pub type HostRegisters = [u64; 16];

/// A host instruction that accesses guest memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapSite {
    /// Guest address of the instruction.
    pub pc: u32,
    /// How to find the lane.
    pub lane: TrapLane,
    /// Space accessed.
    pub space: Space,
    /// Whether it stores.
    pub store: bool,
    /// Bytes accessed by a lane.
    pub bytes: u8,
}

impl TrapSite {
    /// The guest fault that a signal at this instruction stands for. `host_address` is the address that it could not
    /// access.
    pub fn fault(&self, context: &Context, host_address: u64, registers: &HostRegisters) -> FaultRecord {
        let base = context.global_base as u64;
        let chunk = context.chunk_lane;
        let bytes = u64::from(self.bytes);
        let mut address = host_address.wrapping_sub(base);
        let lane = match self.lane {
            TrapLane::Lane(lane) => u32::from(lane),
            TrapLane::Vector { first } => {
                let offset = host_address.wrapping_sub(context.vector_base);
                let lane = (offset / bytes).clamp(u64::from(first), u64::from(first) + 3);
                address = context.vector_base.wrapping_sub(base) + lane * bytes;
                lane as u32
            }
            TrapLane::First { guarded } => {
                let lanes = guard_of(context, guarded);
                if lanes == 0 { 0 } else { lanes.trailing_zeros() }
            }
            TrapLane::Single => context.single_lanes.trailing_zeros() % 64,
            TrapLane::One { lane, guarded, place } => {
                address = place.address(registers).wrapping_sub(base);
                let guard = guard_of(context, guarded);
                let own = guard >> (lane & 48) & 0xffff;
                match guard >> (lane & 63) & 1 {
                    0 if own != 0 => u32::from(lane & 48) + own.trailing_zeros(),
                    _ => lane.into(),
                }
            }
            TrapLane::Run { first, lanes, step, guarded, place } => {
                let step = i64::from(step);
                let mut start = place.address(registers);
                if step < 0 {
                    start = start.wrapping_sub((step * (i64::from(lanes) - 1)) as u64);
                }
                let step = step as u64;
                // Extend the run downwards to the chunk's first lane.
                let start = start.wrapping_sub(base).wrapping_sub(u64::from(first).wrapping_mul(step));
                let place = |lane: u32| start.wrapping_add(u64::from(lane).wrapping_mul(step));
                let range = u32::from(first)..u32::from(first) + u32::from(lanes);
                let lane = lane_on_page(range, guard_of(context, guarded), address, bytes, place);
                address = place(lane);
                lane
            }
            TrapLane::Gather { first, wide, guarded } => {
                let place = |lane: u32| context.lane_addresses.get(lane as usize, wide);
                let lane =
                    lane_on_page(u32::from(first)..64, guard_of(context, guarded), address, bytes, place);
                address = place(lane);
                lane
            }
        };
        FaultRecord {
            kind: FaultKind::Memory,
            pc: self.pc,
            lane: chunk + lane,
            space: encode_space(self.space),
            address: context.guest_address(base.wrapping_add(address)),
            store: u32::from(self.store),
            bytes: u32::from(self.bytes),
        }
    }
}

/// The lanes of the chunk that take part in an access.
fn guard_of(context: &Context, guarded: bool) -> u64 {
    if guarded { context.guard_lanes } else { context.active >> context.chunk_lane }
}

/// The lowest lane of a guard that touches the page at which a masked access trapped. The host reports the right page,
/// but not the lane.
fn lane_on_page(
    range: std::ops::Range<u32>,
    guard: u64,
    address: u64,
    bytes: u64,
    place: impl Fn(u32) -> u64,
) -> u32 {
    let page = address & !0xfff;
    let touches = |&lane: &u32| {
        let from = place(lane);
        let last = from.wrapping_add(bytes - 1);
        guard >> lane & 1 != 0 && (from & !0xfff == page || last & !0xfff == page)
    };
    let first = range.start;
    range.filter(|&lane| lane < 64).find(touches).unwrap_or(first)
}

/// Entry of compiled code. Takes the context and the warp's frame; returns the number of the exit taken,
/// [`crate::FAULT`] or [`crate::STOPPED`].
pub type Entry = unsafe extern "C" fn(*mut Context, *mut u8) -> u64;

/// The values that a region's code may return: exit numbers below `exits`, and [`FAULT_EXIT`] plus a number below
/// `faults`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Returns {
    /// Number of exits.
    pub exits: u32,
    /// Number of guest faults.
    pub faults: u32,
}

impl Returns {
    /// The return values of a function in mask form.
    fn of(func: &Function) -> Returns {
        let mut returns = Returns::default();
        for block in &func.blocks {
            match block.term {
                Some(Terminator::Return { exit, .. }) if exit >= FAULT_EXIT => {
                    returns.faults = returns.faults.max(exit - FAULT_EXIT + 1);
                }
                Some(Terminator::Return { exit, .. }) => returns.exits = returns.exits.max(exit + 1),
                _ => {}
            }
        }
        returns
    }
}

/// Machine code of a region. It has no relocations and may lie anywhere, aligned to 16.
#[derive(Debug)]
pub struct RegionCode {
    /// The code; its entry is the first byte, of type [`Entry`].
    pub code: Vec<u8>,
    /// Instructions that may trap, by offset.
    pub traps: Vec<(u32, TrapSite)>,
    /// Functions that the code calls: [`Context::pures`] must point to them.
    pub pures: Vec<&'static PureFn>,
    /// Tables that the code looks up: [`Context::tables`] must point to a [`crate::TablePointer`] of each.
    pub tables: Vec<&'static WordTable>,
    /// For each function that was compiled (a region, or each phase): the values that the code may return.
    pub returns: Vec<Returns>,
    /// Fewest bytes of shared memory with which the code may run: grid-row code reads so many without a test.
    pub shared_reach: u32,
    /// Environment it runs in.
    pub float_env: FloatEnv,
    /// If [`Options::pcs`] asks for it: code offsets in ascending order, each with a guest address. The code from an
    /// offset to the next one belongs to the guest instruction at that address; [`NO_PC`]: to none.
    pub pcs: Vec<(u32, u32)>,
    /// The code as text, if [`Options::list`] asks for it; else empty.
    pub listing: Listing,
}

/// In [`RegionCode::pcs`]: code that belongs to no guest instruction, such as the loop over chunks, or loading and
/// storing slots.
pub const NO_PC: u32 = u32::MAX;

impl RegionCode {
    /// The instruction at this offset, if it accesses guest memory.
    pub fn trap(&self, offset: u32) -> Option<&TrapSite> {
        self.traps.binary_search_by_key(&offset, |t| t.0).ok().map(|i| &self.traps[i].1)
    }
}

/// Looks up the guest address of the code at `offset` in a table such as [`RegionCode::pcs`].
pub fn guest_pc(pcs: &[(u32, u32)], offset: u32) -> Option<u32> {
    let next = pcs.partition_point(|&(start, _)| start <= offset);
    let (_, pc) = *pcs.get(next.checked_sub(1)?)?;
    (pc != NO_PC).then_some(pc)
}

/// Code of a region as text.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Cranelift's IR, if Cranelift made the code.
    pub clif: String,
    /// Host instructions.
    pub assembly: String,
}

/// Compiles a region in mask form.
pub fn compile_region(func: &Function, options: &Options) -> Result<RegionCode, Error> {
    check(func, options)?;
    let mut code = match options.wide_vectors {
        true => crate::avx512::compile(func, options, float_env(std::iter::once(func), true))?,
        false => compile(func, options)?,
    };
    code.returns = vec![Returns::of(func)];
    Ok(code)
}

/// Compiles a region and gives its listings.
pub fn list_region(func: &Function, options: &Options) -> Result<Listing, Error> {
    Ok(compile_region(func, &Options { list: true, ..options.clone() })?.listing)
}

/// Chooses the float environment that the operations need.
fn float_env<'a>(funcs: impl Iterator<Item = &'a Function> + Clone, x86: bool) -> FloatEnv {
    let insts = |f: &'a Function| f.blocks.iter().flat_map(|b| &b.insts).map(|&i| f.inst(i));
    let all = || funcs.clone().flat_map(insts);
    // AArch64 detects tiny results before rounding, which the guests do not. So there code flushes results itself.
    let flush = x86 && all().any(lower::float::flushes) && !all().any(lower::float::needs_default_env);
    if flush { FloatEnv::FlushAll } else { FloatEnv::Default }
}

/// Compiles a kernel's phases to grid-row code ([`BlockRow`]). The first one starts at the kernel's entry.
pub fn compile_pieces(pieces: &[Piece<'_>], row: &BlockRow, options: &Options) -> Result<RegionCode, Error> {
    let wide = options.wide_vectors;
    let mut of_pieces = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let mut own = Options { groups: piece.groups, count: false, ..options.clone() };
        own.slot_shapes.clone_from(&piece.slot_shapes);
        own.apart.clone_from(&piece.apart);
        check(piece.func, &own)?;
        let known = |way: &Way| way.pieces().all(|n| n < pieces.len());
        let fewest = if wide { VECTOR_LANES } else { 4 };
        let lanes = |of: u32| of.is_power_of_two() && (fewest..=piece.func.lanes).contains(&of);
        let checked = |&(slot, SlotShape { shape, lanes: of, apart }): &(Slot, SlotShape)| {
            let ty = piece.func.slots.get(slot.index()).map(|data| data.ty);
            let scalar = if shape == Shape::Ones { Scalar::I1 } else { Scalar::I32 };
            row.whole
                && !matches!(shape, Shape::Lines { .. })
                && lanes(of)
                && apart.is_none()
                && ty.is_some_and(|ty| !ty.uniform && ty.scalar == scalar)
        };
        if !piece.checks.iter().all(checked) {
            return Err(Error::Malformed("a look at a slot that has no shape".into()));
        }
        if !piece.ways.iter().all(known) || piece.func.slots.len() != pieces[0].func.slots.len() {
            return Err(Error::Malformed("pieces that do not fit together".into()));
        }
        if !wide && piece.by_firsts.iter().any(|slots| !slots.is_empty()) {
            return Err(Error::Malformed("slots by first lanes, which vectors of 512 bits only have".into()));
        }
        of_pieces.push(own);
    }
    if pieces.is_empty() {
        return Err(Error::Malformed("a kernel without pieces".into()));
    }
    let env = float_env(pieces.iter().map(|piece| piece.func), options.target.host.x86);
    let mut code = match wide {
        true => crate::avx512::compile_pieces(pieces, row, &of_pieces, env)?,
        false => with_cranelift(options, env, |list, builder| {
            lower::lower_pieces(pieces, row, &of_pieces, env, list, builder)
        })?,
    };
    code.returns = pieces.iter().map(|piece| Returns::of(piece.func)).collect();
    Ok(code)
}

/// Compiles a region with Cranelift.
fn compile(func: &Function, options: &Options) -> Result<RegionCode, Error> {
    let env = float_env(std::iter::once(func), options.target.host.x86);
    with_cranelift(options, env, |list, builder| lower::lower(func, options, env, list, builder))
}

/// Most bytes of stack that compiled code may use. It does not probe the stack, so whoever enters it must ensure that
/// so many bytes are left, plus what the functions need that it calls.
pub const MOST_STACK_BYTES: u32 = 1 << 18;

/// Rejects code that needs more stack than the options allow.
pub(crate) fn check_stack(bytes: u32, options: &Options) -> Result<(), Error> {
    if bytes > options.most_stack_bytes.min(MOST_STACK_BYTES) {
        return Err(Error::Codegen(format!("{bytes} bytes of stack for what registers do not hold")));
    }
    Ok(())
}

/// Runs Cranelift on the function that `lower` builds. `lower` is told whether to attribute code to guest addresses.
fn with_cranelift(
    options: &Options,
    env: FloatEnv,
    lower: impl FnOnce(bool, FunctionBuilder<'_>) -> Result<lower::Lowered, Error>,
) -> Result<RegionCode, Error> {
    let list = options.list;
    let isa = options.target.isa(options.fast_compile);
    let mut sig = Signature::new(CallConv::SystemV);
    sig.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I64)]);
    sig.returns.push(AbiParam::new(types::I64));
    let mut codegen = Codegen::for_function(HostFunction::with_name_signature(Default::default(), sig));
    let mut builder_context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut codegen.func, &mut builder_context);
    let lowered = lower(list || options.pcs, builder)?;
    let clif =
        if list { listing::clif(&codegen.func.display().to_string(), &lowered.sites) } else { String::new() };
    if let Err(e) = codegen.compile(&**isa, &mut ControlPlane::default()) {
        return Err(Error::Codegen(cranelift_codegen::print_errors::pretty_error(e.func, e.inner)));
    }
    let Some(compiled) = codegen.compiled_code() else {
        return Err(Error::Codegen("no code".into()));
    };
    let frame = compiled.buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
    // Plus the saved frame pointer and the return address.
    check_stack(frame.saturating_add(16), options)?;
    let relocs: &[FinalizedMachReloc] = compiled.buffer.relocs();
    if let Some(reloc) = relocs.first() {
        return Err(Error::Codegen(format!("code has a relocation: {reloc:?}")));
    }
    let mut machine_code = compiled.code_buffer().to_vec();
    if !embedded::patch(compiled, &mut machine_code) {
        return Err(Error::Codegen("a product has an unexpected form".into()));
    }
    let locations = compiled.buffer.get_srclocs_sorted();
    let mut traps = Vec::new();
    for trap in compiled.buffer.traps() {
        let next = locations.partition_point(|l| l.start <= trap.offset);
        let site = next.checked_sub(1).map(|i| &locations[i]).filter(|l| trap.offset < l.end);
        // Without a site, a guest fault could not be told from a bug of our own.
        let Some(&site) = site.and_then(|l| lowered.sites.get(l.loc.bits() as usize)) else {
            return Err(Error::Codegen(format!("trap at {:#x} without a site", trap.offset)));
        };
        traps.push((trap.offset, site));
    }
    traps.sort_by_key(|t| t.0);
    let assembly = if list { listing::host(compiled, &machine_code, &**isa, &lowered.sites) } else { None };
    let assembly = assembly.unwrap_or_default();
    let ranges = locations.iter().map(|l| (l.start, l.end, l.loc));
    let pcs = if options.pcs { guest_pcs(ranges, &lowered.sites) } else { Vec::new() };
    Ok(RegionCode {
        code: machine_code,
        traps,
        pures: lowered.pures,
        tables: lowered.tables,
        returns: Vec::new(),
        shared_reach: 0,
        float_env: env,
        pcs,
        listing: Listing { clif, assembly },
    })
}

/// Makes the table of [`RegionCode::pcs`] from source locations (start, end), in code order.
fn guest_pcs(locations: impl Iterator<Item = (u32, u32, SourceLoc)>, sites: &[TrapSite]) -> Vec<(u32, u32)> {
    let mut pcs: Vec<(u32, u32)> = Vec::new();
    let mut note = |start: u32, pc: u32| {
        // Merge adjacent ranges of one instruction and skip empty ranges.
        if pcs.last().is_some_and(|last| last.0 == start) {
            pcs.pop();
        }
        if pcs.last().is_none_or(|last| last.1 != pc) {
            pcs.push((start, pc));
        }
    };
    let (mut known, mut last) = (0, NO_PC);
    for (start, end, location) in locations {
        if start > known {
            note(known, NO_PC);
        }
        // A marked product belongs to the guest instruction around it.
        let own = if embedded::is_mark(location) {
            last
        } else {
            listing::guest_address(location.bits(), sites).unwrap_or(NO_PC)
        };
        note(start, own);
        (known, last) = (end, own);
    }
    note(known, NO_PC);
    pcs
}

fn check(func: &Function, options: &Options) -> Result<(), Error> {
    if func.form != Form::Mask {
        return Err(Error::Malformed("not in mask form".into()));
    }
    let groups = match options.wide_vectors {
        true => matches!(options.groups, 4 | 8 | 16),
        false => matches!(options.groups, 1 | 2 | 4 | 8 | 16),
    } && u32::from(options.groups) * 4 <= func.lanes;
    if options.wide_vectors && (!options.target.has_wide_vectors() || options.checked_memory) {
        return Err(Error::Host("no vectors of 512 bits".into()));
    }
    if !groups || !matches!(func.lanes, 16 | 32 | 64) {
        return Err(Error::Groups { groups: options.groups, lanes: func.lanes });
    }
    let blocks = func.blocks.len();
    for block in &func.blocks {
        let Some(term) = &block.term else { return Err(Error::Malformed("block without terminator".into())) };
        let mut known = true;
        term.for_each_successor(|b| known &= b.index() < blocks);
        let mut value_known = true;
        term.for_each_use(|v| value_known &= v.index() < func.values.len());
        for &inst in &block.insts {
            let args = func.insts.get(inst.index()).map_or(&[][..], |i| &i.args);
            value_known &= inst.index() < func.insts.len();
            value_known &= args.iter().all(|v| v.index() < func.values.len());
        }
        if !known || !value_known {
            return Err(Error::Malformed("reference to an unknown block, instruction or value".into()));
        }
    }
    if func.entry.index() >= blocks {
        return Err(Error::Malformed("no entry block".into()));
    }
    Ok(())
}
