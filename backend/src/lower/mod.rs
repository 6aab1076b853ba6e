//! Mask form to CLIF: values of a chunk, instruction by instruction.
//!
//! A narrow value (mask, i32, f32) of a chunk is one 128-bit vector for each group of four lanes, a wide one (i64, f64)
//! two. Values that are uniform or lane-affine are one scalar ([`Form`]), made a vector where one is needed.
//! Each IR operation is emitted for all groups before the next: Cranelift keeps the order, so groups interleave.

mod across;
mod atomics;
pub(crate) mod bits;
mod chain;
mod control;
mod convert;
mod even;
mod extremes;
pub(crate) mod float;
mod in_turn;
mod int;
mod lane_rows;
mod lanes;
mod mads;
mod mask;
mod memory;
mod permit;
mod phases;
mod preload;
mod rows;
mod slot_checks;
mod translate;
mod walk;
mod wide;

use std::rc::Rc;

use cranelift_codegen::ir::{AbiParam, Signature, SourceLoc, StackSlotData, StackSlotKind};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::FunctionBuilder;
use foldhash::{HashMap, HashMapExt};
use warpjit_ir::analysis::{Cfg, FloatClasses, KnownBits, Uses};
use warpjit_ir::function::ValueDef;
use warpjit_ir::types::Scalar;
use warpjit_ir::{DeviceSite, Function, Group, Imm, Inst, InstData, Opcode, PureFn, Space, Value, WordTable};

use crate::affine::{Form, Forms};
use crate::alignment::AlignmentTest;
use crate::clif::{Emit, HostBlock, HostType, I8, I32, I32X4, I64, SigRef, StackSlot, V, element, vector};
use crate::code::FloatEnv;
use crate::demanded_lanes::DemandedLanes;
use crate::error::Error;
use crate::even_address::address_only;
use crate::flow::{Flow, HostBlocks, Order};
use crate::listing;
use crate::operands::{self, arg, malformed, result, wide};
use crate::options::{BlockRow, Link, Options, Phase};
use crate::trap::{TrapLane, TrapSite};
use float::Denormals;

/// The vectors of a value, or its one scalar.
type Parts = Rc<[V]>;

/// Where a value is.
#[derive(Clone, Debug)]
enum Kept {
    /// Nowhere: made at each use.
    Const(u64),
    /// One scalar: uniform, or the first lane's.
    Scalar(V),
    /// In vectors.
    Parts(Parts),
    /// Of a mask: a bit for each lane of the chunk, as [`Lower::bits_type`] says ([`bits`]).
    Bits(V),
}

/// Vectors of `fmad_trunc` in a region up to which they are compiled for speed.
const MOST_FAST_MADS: usize = 256;

/// What one phase of code for rows leaves for the next: all that is of the host's function, not of the phase's.
struct Carried<'a, 'b> {
    e: Emit<'b>,
    sites: Vec<TrapSite>,
    pures: Vec<&'static PureFn>,
    devices: Vec<DeviceSite>,
    tables: Vec<&'static WordTable>,
    call_buffer: Option<StackSlot>,
    lane_buffer: Option<StackSlot>,
    sigs: Signatures,
    context: V,
    of_row: Option<phases::OfRow<'a>>,
    of_chain: Option<chain::OfChain<'a>>,
}

impl<'b> Carried<'_, 'b> {
    fn new(e: Emit<'b>) -> Self {
        Carried {
            e,
            sites: Vec::new(),
            pures: Vec::new(),
            devices: Vec::new(),
            tables: Vec::new(),
            call_buffer: None,
            lane_buffer: None,
            sigs: Signatures::default(),
            context: V::from_u32(0),
            of_row: None,
            of_chain: None,
        }
    }

    /// Ends the function.
    fn finish(self, options: &Options) -> Lowered {
        let mut b = self.e.b;
        b.seal_all_blocks();
        b.finalize(options.target.isa().frontend_config());
        Lowered { sites: self.sites, pures: self.pures, devices: self.devices, tables: self.tables }
    }
}

/// Signatures of what code calls, once they are known to the function.
#[derive(Clone, Copy, Default)]
struct Signatures {
    pure: Option<SigRef>,
    poll: Option<SigRef>,
    atomic: Option<SigRef>,
    translate: Option<SigRef>,
    fma: Option<SigRef>,
    turn: Option<SigRef>,
}

/// What lowering a function gives besides the code.
pub(crate) struct Lowered {
    pub sites: Vec<TrapSite>,
    pub pures: Vec<&'static PureFn>,
    pub devices: Vec<DeviceSite>,
    pub tables: Vec<&'static WordTable>,
}

/// What is known of registers, good to the end of the block.
#[derive(Clone, Default)]
struct Known {
    /// Vectors made of scalars.
    splats: HashMap<Value, Parts>,
    /// Bits of masks, of lanes that have entered.
    mask_bits: HashMap<Value, V>,
    /// Bits of masks in vectors, whatever they say of others.
    raw_bits: HashMap<Value, V>,
    /// Tests of alignment that have held.
    aligned: Vec<AlignmentTest>,
    /// Stretches of memory whose bounds are tested.
    rows: Vec<rows::Row>,
    /// What was loaded a row of memory a lane.
    lane_rows: Vec<lane_rows::LaneRows>,
    /// Host addresses of spaces.
    bases: Vec<(Space, V)>,
    /// Where uniform slots are written.
    uniform_base: Option<V>,
}

pub(crate) struct Lower<'a, 'b> {
    e: Emit<'b>,
    f: &'a Function,
    options: &'a Options,
    groups: usize,
    forms: Forms,
    /// Known bits of the IR's values, when something has asked for them.
    known_bits: Option<Rc<KnownBits>>,
    /// What kinds of floats values can be, likewise.
    float_classes: Option<Rc<FloatClasses>>,
    /// Whether anything can see the bits of a value that is a NaN, likewise.
    nan_bits_seen: Option<Rc<Vec<bool>>>,
    /// Whether `fmad_trunc` takes the way that is fast to run and slow to compile.
    fast_mads: bool,
    /// In the fast version of multiply-adds: what must be looked at behind it.
    mads: Option<mads::FastMads>,
    /// There: tests of bounds that have held.
    inside: Vec<V>,
    /// Results of loads done before the first chunk.
    preloaded: HashMap<Value, V>,
    /// Where values are used, if that is asked for.
    uses: mads::Uses,
    /// Lanes where values matter, likewise.
    wanted: Option<Rc<DemandedLanes<'a>>>,
    /// How often each value is used.
    used: Uses,
    blocks: HostBlocks<HostBlock>,
    slot_offsets: Vec<u32>,
    values: Vec<Option<Kept>>,
    /// Scalars whose vectors are made at the definition because a deeper loop uses them.
    hoist: Vec<bool>,
    /// Masks that are kept as bits.
    bit_masks: Vec<bool>,
    /// Values that are computed where an access needs them ([`crate::even_address`]).
    address_only: Vec<bool>,
    /// Translations that are done where their access is.
    fused: Vec<bool>,
    /// Vectors made of scalars that are good wherever the scalar is.
    hoisted: HashMap<Value, Parts>,
    /// What is good to the end of the block.
    known: Known,
    /// Whether code is emitted that does not dominate the rest of the block.
    aside: bool,
    /// The host environment does not flush: operations with `ftz` do it themselves.
    explicit_flush: bool,
    /// What the host does with denormals where code is being emitted.
    env: FloatEnv,
    /// Code changes that in between ([`float::Denormals::Turned`]). At both ends of a block the host flushes.
    turns: bool,
    sites: Vec<TrapSite>,
    /// What the next access asks before it is made.
    asked: Option<permit::Asked<'a>>,
    /// The number of the next site that asks for permits.
    next_site: u32,
    /// Whether all code is attributed to guest addresses, for a listing or a profile.
    list: bool,
    /// What code that cannot trap is attributed to.
    location: SourceLoc,
    pures: Vec<&'static PureFn>,
    devices: Vec<DeviceSite>,
    tables: Vec<&'static WordTable>,
    /// Block, index, mask and byte offsets of the last look-up.
    last_offsets: Option<(HostBlock, Value, u32, Rc<[V]>)>,
    call_buffer: Option<StackSlot>,
    lane_buffer: Option<StackSlot>,
    context: V,
    /// In code for rows of blocks.
    of_row: Option<phases::OfRow<'a>>,
    /// In code for chains.
    of_chain: Option<chain::OfChain<'a>>,
    frame: V,
    /// First lane of the chunk, i64.
    lane: V,
    /// Frame address of the chunk's first lane in slot 0 of four bytes.
    frame_lane: V,
    /// Active lanes of the chunk, i32.
    bits: V,
    /// The lowest of them, i32.
    first_active: V,
    active: Parts,
    /// Whether all lanes of the chunk are.
    all_enter: bool,
    next_chunk: HostBlock,
    /// In scalar code: which lanes it goes through, and those behind this one, i64, where their bits are gone through.
    walk: Option<walk::LaneWalk>,
    left: Option<V>,
    /// The exit of the chunks before this one.
    exit_so_far: V,
    sigs: Signatures,
}

/// Lowers `f` into the empty function of `builder`.
pub(crate) fn lower(
    f: &Function,
    options: &Options,
    env: Denormals,
    list: bool,
    builder: FunctionBuilder<'_>,
) -> Result<Lowered, Error> {
    let carried = Carried::new(Emit { b: builder, host: options.target.host, folds: options.single });
    let mut lower = Lower::new(f, options, env, list, carried);
    lower.function()?;
    Ok(lower.into_carried().finish(options))
}

/// Lowers a kernel for rows of blocks, likewise; `options` by phase.
pub(crate) fn lower_phases(
    phases: &[Phase<'_>],
    row: &BlockRow,
    options: &[Options],
    env: Denormals,
    list: bool,
    builder: FunctionBuilder<'_>,
) -> Result<Lowered, Error> {
    let Some(first) = options.first() else { return Err(Error::Malformed("a kernel without phases".into())) };
    let mut carried = Carried::new(Emit { b: builder, host: first.target.host, folds: first.single });
    for (number, (phase, options)) in phases.iter().zip(options).enumerate() {
        let mut lower = Lower::new(phase.func, options, env, list, carried);
        if number == 0 {
            lower.begin_row(row, phases.len());
        }
        lower.phase(number, phase)?;
        carried = lower.into_carried();
    }
    Ok(carried.finish(first))
}

/// Lowers a chain, likewise.
pub(crate) fn lower_chain(
    links: &[Link<'_>],
    options: &Options,
    env: Denormals,
    list: bool,
    builder: FunctionBuilder<'_>,
) -> Result<Lowered, Error> {
    let mut carried = Carried::new(Emit { b: builder, host: options.target.host, folds: options.single });
    for (number, link) in links.iter().enumerate() {
        let mut lower = Lower::new(link.func, &link.options, env, list, carried);
        if number == 0 {
            lower.begin_chain(links);
        }
        lower.link(number)?;
        carried = lower.into_carried();
    }
    Ok(carried.finish(options))
}

impl<'a, 'b> Lower<'a, 'b> {
    fn new(
        f: &'a Function,
        options: &'a Options,
        env: Denormals,
        list: bool,
        carried: Carried<'a, 'b>,
    ) -> Lower<'a, 'b> {
        let Carried {
            mut e,
            sites,
            pures,
            devices,
            tables,
            call_buffer,
            lane_buffer,
            sigs,
            context,
            of_row,
            of_chain,
        } = carried;
        // Of a chain's links, some may run in one chunk of the whole warp.
        e.folds = options.single;
        let order = Order::new(f);
        let forms = match options.single {
            true => Forms::single(f),
            false => Forms::new(f, &order.blocks, &options.slot_shapes, options.has_devices()).with_clips(),
        };
        let bit_masks = match options.single {
            true => vec![false; f.values.len()],
            false => {
                let of_line =
                    |data: &InstData| bits::is_of_line(f, &forms, options.chunk_groups.into(), data);
                bits::kept_as_bits(f, &forms, &order.blocks, of_line)
            }
        };
        let hoist = hoisted_values(f, &order, &forms, &bit_masks);
        let fused = if options.single { Vec::new() } else { crate::translate::fused(f, &order.blocks) };
        let by_line =
            |data: &InstData| data.result.is_some_and(|r| bit_masks[r.index()] && data.op == Opcode::Icmp);
        let address_only = address_only(f, &forms, false, &fused, by_line);
        // A half to a third of the time to run, but twice the time to compile.
        let insts = order.blocks.iter().flat_map(|&b| &f.block(b).insts);
        let mads = insts.filter(|&&i| f.inst(i).op == Opcode::FmadTrunc).count();
        let fast_mads = !options.single
            && e.host.fma
            && (1..=MOST_FAST_MADS).contains(&(mads * usize::from(options.chunk_groups)));
        let uses = if fast_mads { mads::uses(f, &order.blocks, &address_only) } else { Vec::new() };
        let wanted = fast_mads.then(|| Rc::new(DemandedLanes::new(f, &order.blocks)));
        let none = V::from_u32(0);
        Lower {
            e,
            f,
            options,
            groups: usize::from(options.chunk_groups),
            forms,
            slot_offsets: f.frame_layout().0,
            values: vec![None; f.values.len()],
            hoist,
            bit_masks,
            address_only,
            fused,
            known_bits: None,
            float_classes: None,
            nan_bits_seen: None,
            fast_mads,
            mads: None,
            inside: Vec::new(),
            preloaded: HashMap::new(),
            uses,
            wanted,
            used: Uses::new(f),
            blocks: HostBlocks::new(f, order),
            hoisted: HashMap::new(),
            known: Known::default(),
            aside: false,
            explicit_flush: env.env() == FloatEnv::Default,
            env: env.env(),
            turns: env == Denormals::Turned,
            sites,
            asked: None,
            next_site: crate::permits::first_site(f),
            list,
            location: SourceLoc::default(),
            pures,
            devices,
            tables,
            last_offsets: None,
            call_buffer,
            lane_buffer,
            context,
            of_row,
            of_chain,
            frame: none,
            lane: none,
            frame_lane: none,
            bits: none,
            first_active: none,
            active: Rc::new([]),
            all_enter: false,
            next_chunk: HostBlock::from_u32(0),
            walk: None,
            left: None,
            exit_so_far: none,
            sigs,
        }
    }

    fn into_carried(self) -> Carried<'a, 'b> {
        let Lower {
            e,
            sites,
            pures,
            devices,
            tables,
            call_buffer,
            lane_buffer,
            sigs,
            context,
            of_row,
            of_chain,
            ..
        } = self;
        Carried {
            e,
            sites,
            pures,
            devices,
            tables,
            call_buffer,
            lane_buffer,
            sigs,
            context,
            of_row,
            of_chain,
        }
    }
}

/// Scalars, and masks kept as bits, that some deeper loop uses as a vector.
pub(crate) fn hoisted_values(f: &Function, order: &Order, forms: &Forms, bits: &[bool]) -> Vec<bool> {
    let mut hoist = vec![false; f.values.len()];
    let depth = order.loop_depths(f);
    if depth.iter().all(|&d| d == 0) {
        return hoist;
    }
    let mut defined = vec![0u32; f.values.len()];
    for (i, &b) in order.blocks.iter().enumerate() {
        let block = f.block(b);
        let results = block.insts.iter().filter_map(|&inst| f.inst(inst).result);
        for v in block.params.iter().copied().chain(results) {
            defined[v.index()] = depth[i];
        }
    }
    for (i, &b) in order.blocks.iter().enumerate() {
        for &inst in &f.block(b).insts {
            let data = f.inst(inst);
            let as_vector = match data.op {
                // Uniform guards and conditions are tested as scalars.
                Opcode::Load | Opcode::Store | Opcode::Any | Opcode::Splat => false,
                _ => data.result.is_none_or(|r| forms.of(r) == Form::Varying && !bits[r.index()]),
            };
            if as_vector {
                for (k, &a) in data.args.iter().enumerate() {
                    let scalar_count = k == 1
                        && matches!(data.op, Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl);
                    let is_scalar = forms.of(a) != Form::Varying || bits[a.index()];
                    if defined[a.index()] < depth[i] && is_scalar && !scalar_count {
                        hoist[a.index()] = true;
                    }
                }
            }
        }
    }
    hoist
}

/// A double word for each lane of the widest chunk.
const LANES_BYTES: u32 = 512;

impl Lower<'_, '_> {
    /// Vectors of a chunk of the element type.
    fn part_count(&self, scalar: Scalar) -> usize {
        if self.options.single {
            return 1;
        }
        if wide(scalar) { 2 * self.groups } else { self.groups }
    }

    /// Lanes of a chunk.
    fn lanes(&self) -> usize {
        if self.options.single { 1 } else { 4 * self.groups }
    }

    /// The type of a vector of a chunk, of the element where one lane is a chunk.
    fn part_type(&self, scalar: Scalar) -> HostType {
        if self.options.single { element(scalar) } else { vector(scalar) }
    }

    /// A bit for each lane of a chunk.
    fn full_bits(&self) -> u64 {
        u64::MAX >> (64 - self.lanes())
    }

    /// The type of a bit for each lane of a chunk.
    fn bits_type(&self) -> HostType {
        if self.lanes() > 32 { I64 } else { I32 }
    }

    /// Such bits as an i64.
    fn bits_as_long(&mut self, bits: V) -> V {
        if self.lanes() > 32 { bits } else { self.e.uextend(I64, bits) }
    }

    /// The low bits of an i64, as [`Lower::bits_type`] says; what is above the chunk's lanes is left there.
    fn bits_of_long(&mut self, long: V) -> V {
        if self.lanes() > 32 { long } else { self.e.ireduce(I32, long) }
    }

    /// The lowest lane (i32) whose bit is set.
    fn lowest_lane(&mut self, bits: V) -> V {
        if self.options.single {
            return self.e.imm(I32, 0);
        }
        let lane = self.e.ctz(bits);
        if self.lanes() > 32 { self.e.ireduce(I32, lane) } else { lane }
    }

    fn scalar_of(&self, v: Value) -> Scalar {
        self.f.ty(v).scalar
    }

    /// What is known of the bits of values.
    fn known(&mut self) -> Rc<KnownBits> {
        let f = self.f;
        self.known_bits.get_or_insert_with(|| Rc::new(KnownBits::new(f, &Cfg::order(f)))).clone()
    }

    fn is_uniform(&self, v: Value) -> bool {
        self.forms.of(v) == Form::Uniform
    }

    fn kept(&self, v: Value) -> Result<Kept, Error> {
        self.values[v.index()]
            .clone()
            .ok_or_else(|| Error::Malformed(format!("{v} used before its definition")))
    }

    /// The scalar of a uniform value, the first lane's of an affine one.
    fn scalar(&mut self, v: Value) -> Result<V, Error> {
        Ok(match self.kept(v)? {
            Kept::Const(bits) => self.e.imm(element(self.scalar_of(v)), bits),
            Kept::Scalar(s) => s,
            Kept::Bits(bits) => {
                let first = self.e.ireduce(I8, bits);
                self.e.band_imm(first, 1)
            }
            Kept::Parts(p) => {
                let first = self.e.extract(p[0], 0);
                if self.scalar_of(v) == Scalar::I1 { self.e.band_imm(first, 1) } else { first }
            }
        })
    }

    /// The vectors of a value; the scalar of the only lane where one is a chunk.
    fn parts(&mut self, v: Value) -> Result<Parts, Error> {
        if self.options.single {
            return Ok(Rc::new([self.scalar(v)?]));
        }
        let scalar = self.scalar_of(v);
        let count = self.part_count(scalar);
        let (s, of_bits) = match self.kept(v)? {
            Kept::Parts(p) => return Ok(p),
            // A constant is one load from the pool: made again at each use rather than kept in a register.
            Kept::Const(bits) => {
                let bits = if scalar == Scalar::I1 { 0u64.wrapping_sub(bits & 1) } else { bits };
                let v = self.e.imm(vector(scalar), bits);
                return Ok(vec![v; count].into());
            }
            Kept::Scalar(s) => (s, false),
            Kept::Bits(bits) => (bits, true),
        };
        if let Some(p) = self.hoisted.get(&v).or_else(|| self.known.splats.get(&v)) {
            return Ok(p.clone());
        }
        let parts = if of_bits { self.lanes_of_bits(s) } else { self.vectors_of(s, v, scalar) };
        if !self.aside {
            self.known.splats.insert(v, parts.clone());
        }
        Ok(parts)
    }

    fn vectors_of(&mut self, s: V, v: Value, scalar: Scalar) -> Parts {
        let count = self.part_count(scalar);
        let s = if scalar == Scalar::I1 {
            let word = self.e.uextend(I32, s);
            self.e.ineg(word)
        } else {
            s
        };
        let splat = self.e.splat(vector(scalar), s);
        let (stride, low16) = match self.forms.of(v) {
            Form::Affine { stride, .. } => (stride, false),
            Form::Affine16 { stride } => (stride, true),
            _ => return vec![splat; count].into(),
        };
        (0..count)
            .map(|g| {
                let lanes: [u64; 4] =
                    std::array::from_fn(|l| (stride as i64 as u64).wrapping_mul((4 * g + l) as u64));
                let ramp = self.e.lanes(I32X4, &lanes);
                let x = self.e.iadd(splat, ramp);
                if low16 { self.e.band_imm(x, 0xffff) } else { x }
            })
            .collect()
    }

    fn define(&mut self, v: Value, kept: Kept) {
        if self.hoist[v.index()] && !self.options.single {
            let parts = match kept {
                Kept::Scalar(s) => Some(self.vectors_of(s, v, self.scalar_of(v))),
                Kept::Bits(bits) => Some(self.lanes_of_bits(bits)),
                _ => None,
            };
            parts.into_iter().for_each(|parts| _ = self.hoisted.insert(v, parts));
        }
        self.values[v.index()] = Some(kept);
    }

    fn define_scalar(&mut self, v: Value, s: V) {
        self.define(v, Kept::Scalar(s));
    }

    /// Forgets what is good only within a block.
    fn forget_block(&mut self) {
        self.known = Known::default();
    }

    /// Attributes the code that follows to a trap site.
    fn at_site(&mut self, site: Option<TrapSite>) {
        let loc = match site {
            Some(site) => {
                self.sites.push(site);
                SourceLoc::new(self.sites.len() as u32 - 1)
            }
            None => self.location,
        };
        self.e.b.set_srcloc(loc);
    }

    fn site(&mut self, data: &InstData, lane: TrapLane) {
        let (space, store, bytes) = match data.imm {
            Imm::Mem(m) => (m.space, data.op == Opcode::Store, m.bytes),
            _ => return,
        };
        self.at_site(Some(TrapSite { pc: data.pc, lane, space, store, bytes }));
    }

    fn stack_slot(&mut self, bytes: u32) -> StackSlot {
        self.e.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
    }

    fn signature(&mut self, params: &[HostType], result: Option<HostType>) -> SigRef {
        let mut sig = Signature::new(CallConv::SystemV);
        sig.params.extend(params.iter().map(|&t| AbiParam::new(t)));
        sig.returns.extend(result.map(AbiParam::new));
        self.e.b.import_signature(sig)
    }

    /// Of a function that preserves every register.
    fn preserving_signature(&mut self, params: &[HostType]) -> SigRef {
        let mut sig = Signature::new(CallConv::PreserveAll);
        sig.params.extend(params.iter().map(|&t| AbiParam::new(t)));
        self.e.b.import_signature(sig)
    }

    /// Applies a scalar operation lane by lane, on values of any element types.
    fn lane_by_lane(
        &mut self,
        args: &[(Parts, Scalar)],
        out: Scalar,
        mut f: impl FnMut(&mut Self, &[V]) -> V,
    ) -> Parts {
        let per = if wide(out) { 2 } else { 4 };
        (0..self.part_count(out))
            .map(|part| {
                let mut vector_value = None;
                for l in 0..per {
                    let lane = part * per + l;
                    let scalars: Vec<V> = args
                        .iter()
                        .map(|(parts, scalar)| {
                            let n = if wide(*scalar) { 2 } else { 4 };
                            self.e.extract(parts[lane / n], lane % n)
                        })
                        .collect();
                    let x = f(self, &scalars);
                    vector_value = Some(match vector_value {
                        None => self.e.scalar_to_vector(vector(out), x),
                        Some(v) => self.e.insert(v, x, l),
                    });
                }
                vector_value.expect("at least two lanes")
            })
            .collect()
    }

    /// Attributes the code that follows to an instruction's guest address.
    fn locate(&mut self, data: &InstData) {
        self.location = match data.op {
            // Registers that come in and go out.
            Opcode::SlotGet | Opcode::SlotSet => SourceLoc::default(),
            // What passes make for themselves has address 0: of the instruction around it.
            _ if data.pc == 0 && !self.location.is_default() => self.location,
            _ => listing::location(data.pc),
        };
        self.e.b.set_srcloc(self.location);
    }

    fn inst(&mut self, inst: Inst) -> Result<(), Error> {
        let data = self.f.inst(inst);
        if self.list {
            self.locate(data);
        }
        if self.asked.as_ref().is_some_and(|asked| !asked.is_of(data) && !data.op.is_permit()) {
            return Err(Error::Malformed("a permit without its access".into()));
        }
        let whole = self.lanes() == self.f.lanes as usize;
        // Atomics and device calls have the order of lanes in any chunk; a chunk of several lanes holds whole quads.
        let of_chunk = match data.op {
            Opcode::Atomic | Opcode::CallDevice => true,
            Opcode::QuadLane => !self.options.single,
            _ => false,
        };
        if data.op.is_cross_lane() && !of_chunk && !(whole && data.op.is_in_whole_warp()) {
            return Err(Error::CrossLane(data.op));
        }
        if data.result.is_some_and(|r| self.address_only[r.index()]) {
            return Ok(());
        }
        if data.result.is_some_and(|r| self.bit_masks[r.index()]) {
            return self.bit_mask(data);
        }
        if let Some(env) = float::needed_env(data).filter(|_| self.turns) {
            self.turn_to(env);
        }
        match data.op {
            Opcode::Const => {
                let (r, bits) = operands::constant(self.f, data)?;
                self.define(r, Kept::Const(bits));
                Ok(())
            }
            Opcode::Splat | Opcode::ChunkSpread => {
                let r = result(data)?;
                let kept = self.kept(arg(data, 0)?)?;
                self.define(r, kept);
                Ok(())
            }
            Opcode::Load | Opcode::Store => match self.translation_of(data) {
                Some(translation) => self.translated_memory(data, translation),
                None => self.memory(data),
            },
            Opcode::Atomic => self.atomic(data),
            Opcode::CallDevice => self.call_device(data),
            Opcode::QuadLane => self.quad_lane(data),
            Opcode::DenyLoad | Opcode::DenyStore => self.deny(data),
            // A hint, which the other generators take.
            Opcode::Prefetch => Ok(()),
            op if op.is_translation() && self.fused.get(inst.index()) == Some(&true) => Ok(()),
            op if op.is_translation() => self.translate(data),
            op if op.is_permit() => self.permit(inst),
            Opcode::SlotGet | Opcode::SlotSet | Opcode::CallPure => self.control(data),
            Opcode::Any | Opcode::ActiveMask | Opcode::LaneBit => self.mask(data),
            Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot | Opcode::Shuffle => self.across(data),
            _ => self.pure(data),
        }
    }

    /// An operation on lanes: of scalars where the result is kept as one, else of vectors.
    fn pure(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        if self.forms.of(r) != Form::Varying {
            // The first lane's result comes from the first lane's operands, for affine values as well.
            let args = data.args.iter().map(|&a| self.scalar(a)).collect::<Result<Vec<V>, _>>()?;
            let s = self.scalar_op(data, &args)?;
            self.define_scalar(r, s);
            return Ok(());
        }
        let parts = match data.op.group() {
            Group::Int => self.int(data)?,
            Group::Float => self.float(data)?,
            Group::Convert => self.convert(data)?,
            _ if data.op == Opcode::Select => self.select(data)?,
            _ => return Err(malformed(data)),
        };
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    fn scalar_op(&mut self, data: &InstData, args: &[V]) -> Result<V, Error> {
        match data.op.group() {
            Group::Int => self.int_scalar(data, args),
            Group::Float => self.float_part(data, args),
            Group::Convert => self.convert_scalar(data, args),
            _ if data.op == Opcode::Select && args.len() == 3 => {
                Ok(self.select_scalar(data, [args[0], args[1], args[2]]))
            }
            _ => Err(malformed(data)),
        }
    }

    /// Applies an operation on vectors part by part; the operands have equally many.
    fn part_by_part(
        &mut self,
        args: &[Value],
        mut f: impl FnMut(&mut Self, &[V]) -> Result<V, Error>,
    ) -> Result<Parts, Error> {
        let args = args.iter().map(|&a| self.parts(a)).collect::<Result<Vec<Parts>, _>>()?;
        let count = args.first().map_or(0, |p| p.len());
        (0..count)
            .map(|g| {
                let part = args.iter().map(|p| p.get(g).copied()).collect::<Option<Vec<V>>>();
                f(self, &part.ok_or_else(|| Error::Malformed("operands of different widths".into()))?)
            })
            .collect()
    }

    /// Whether the value is the chunk's entry mask itself.
    fn is_active_mask(&self, v: Value) -> bool {
        match self.f.values[v.index()].def {
            ValueDef::Inst(i) => self.f.inst(i).op == Opcode::ActiveMask,
            ValueDef::Param(..) => false,
        }
    }

    /// A scalar through a vector operation: for what only exists as a sequence on vectors.
    fn through_vector(
        &mut self,
        args: &[V],
        f: impl FnOnce(&mut Self, &[V]) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let vectors: Vec<V> = args
            .iter()
            .map(|&a| {
                let ty = self.e.ty(a);
                let ty = if ty.bits() == 64 { ty.by(2) } else { ty.by(4) };
                match ty {
                    Some(ty) => self.e.scalar_to_vector(ty, a),
                    None => a,
                }
            })
            .collect();
        let v = f(self, &vectors)?;
        Ok(self.e.extract(v, 0))
    }

    /// i32 of a uniform truth value.
    fn truth_word(&mut self, s: V) -> V {
        if self.e.ty(s) == I8 { self.e.uextend(I32, s) } else { s }
    }
}
