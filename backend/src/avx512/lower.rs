//! Values of a chunk, and the operations by topic.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use iced_x86::Code;
use regalloc2::{Block as HostBlock, RegClass};
use warpjit_ir::analysis::{Cfg, FloatClasses, KnownBits, Uses};
use warpjit_ir::types::Scalar;
use warpjit_ir::{DeviceSite, Function, Group, Imm, Inst, InstData, Opcode, PureFn, Space, Value, WordTable};

use super::asm::{Asm, R, Src};
use super::code::VCode;
use super::emit::{self, Pool};
use super::uses::{extended_loads, fused_comparisons, tested_bits, words_for_vectors};
use crate::affine::{Form, Forms};
use crate::alignment::AlignmentTest;
use crate::code::FloatEnv;
use crate::error::Error;
use crate::even_address::address_only;
use crate::flow::{Flow, HostBlocks, Order};
use crate::lower::hoisted_values;
use crate::operands::{self, arg, malformed, result, wide};
use crate::options::{BlockRow, Options, Phase};
use crate::translate::fused_affine;
use crate::trap::{TrapLane, TrapSite};
use crate::vector_stride::vector_strides;

/// Where a value is.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// Nowhere: made at each use.
    Const(u64),
    /// The same in all lanes, or the first lane's, in a general register; a truth value as 0 or 1. One for the chunk, or one for
    /// each sixteen lanes.
    General(Rc<[R]>),
    /// A float that is the same in all lanes, in one vector, or in one for each sixteen lanes.
    Splat(Rc<[R]>),
    /// Vectors or masks.
    Parts(Rc<[R]>),
    /// A mask, a bit for each lane of the chunk.
    Bits(R),
}

/// What lowering gives.
pub(super) struct Lowered {
    pub code: VCode,
    pub pool: Pool,
    pub sites: Vec<TrapSite>,
    pub pures: Vec<&'static PureFn>,
    pub devices: Vec<DeviceSite>,
    pub tables: Vec<&'static WordTable>,
    pub buffer_bytes: u32,
    pub shared_reach: u32,
}

/// What is known of registers, good to the end of the block.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// Vectors made of scalars.
    pub splats: HashMap<Value, Rc<[R]>>,
    /// Guards within the lanes that entered.
    pub guards: HashMap<Value, Rc<[R]>>,
    /// Bits of masks.
    pub mask_bits: HashMap<Value, R>,
    /// Masks of bytes.
    pub byte_masks: Vec<(u64, R)>,
    /// Upper halves of masks.
    pub halves: HashMap<R, R>,
    /// Host addresses of spaces.
    pub bases: Vec<(Space, R)>,
    /// First offsets beyond what may be accessed, by space and bytes.
    pub limits: Vec<(Space, u8, R)>,
    /// Tests of alignment that have held.
    pub aligned: Vec<AlignmentTest>,
    /// Stretches of memory whose bounds are tested.
    pub rows: Vec<super::memory::Row>,
    /// What lanes side by side have stored to shared memory.
    pub held: Option<super::held::Held>,
    /// How lanes of addresses are alike.
    pub alike: Vec<super::alike::Alike>,
    /// Where lanes of even addresses start.
    pub starts: Vec<super::places::Start>,
    /// Where lines of lanes are.
    pub lines: Vec<super::by_lines::LineStart>,
    /// Where uniform slots are written.
    pub uniform_base: Option<R>,
}

pub(super) struct Lower<'a> {
    pub a: Asm,
    pub f: &'a Function,
    pub options: &'a Options,
    /// Vectors of sixteen lanes in a chunk.
    pub groups: usize,
    pub forms: Forms,
    /// What each sixteen lanes of the chunk have more than those before them, of values kept as scalars, where that is known.
    pub apart: Vec<Option<i32>>,
    /// What is known of words along lines of threads.
    pub lines: super::lines::Lines,
    /// The sixteen lanes whose scalar [`Lower::general`] gives.
    pub group: usize,
    /// Blocks that run only where all lanes of the chunk have entered.
    pub all_entered: Vec<bool>,
    /// Blocks that run only where some have not, or lack the mask that those others run under.
    pub some_lack: Vec<bool>,
    /// Sixteens behind the first that an even address's span ([`crate::even_address::EvenAddress::span`]) reaches over,
    /// a known distance from each other.
    pub span_groups: usize,
    known_bits: Option<Rc<KnownBits>>,
    /// What kinds of floats values can be, when something has asked for that.
    pub float_classes: Option<Rc<FloatClasses>>,
    pub blocks: HostBlocks<HostBlock>,
    pub slot_offsets: Vec<u32>,
    pub values: Vec<Option<Kept>>,
    /// Scalars whose vectors are made at the definition because a deeper loop uses them.
    pub hoist: Vec<bool>,
    /// Values that are computed where an access, or a tree of look-ups, needs them.
    pub address_only: Vec<bool>,
    /// Masks that are kept as bits.
    pub bit_masks: Vec<bool>,
    /// Whether sixteen words are loaded one by one rather than gathered.
    pub one_by_one: bool,
    /// How often values are used.
    pub uses: Uses,
    /// Words that loads extend to 64 bits.
    pub extended: Vec<bool>,
    /// Comparisons that only the terminator of their block uses.
    pub fused: Vec<bool>,
    /// Vectors made of scalars that are good wherever the scalar is.
    pub hoisted: HashMap<Value, Rc<[R]>>,
    /// What is good to the end of the block.
    pub known: Known,
    /// How accesses of stretches whose bounds are tested are done.
    pub bounds: super::rows::Bounds,
    /// Tests of rows that have held where all are inside.
    pub known_rows: Vec<R>,
    /// How truncating multiply-adds are written; none for the exact way.
    pub mads: Option<super::mads::Stretch>,
    /// What is known of the function for those, once it is asked for.
    pub mad_facts: Option<Rc<super::mads::Facts<'a>>>,
    pub pairs: super::lookups::Pairs,
    /// What is looked up in tables and put together at once.
    trees: super::table_trees::Trees,
    /// Accesses that have been written with the one before them.
    pub accessed: HashSet<Inst>,
    /// Translations that are done where their access is.
    pub translated: Vec<bool>,
    /// What the next access asks before it is made.
    pub asked: Option<super::permit::Asked<'a>>,
    /// The number of the next site that asks for permits, and the window of the atomic that is written.
    pub next_site: u32,
    pub own_site: u32,
    /// Loops of single lanes.
    pub single: super::single::SingleLoops,
    /// Loops that begin with loads at indices.
    pub indexed: super::indexed::IndexedLoops,
    /// Where on the stack single lanes of values are found.
    pub spreads: HashMap<Value, i32>,
    /// Uniform words that are wanted in vectors only.
    pub as_vector: Vec<bool>,
    /// Whether code is written that does not dominate the rest of the block.
    pub aside: bool,
    pub env: FloatEnv,
    /// The host environment does not flush: operations with `ftz` do it themselves.
    pub explicit_flush: bool,
    pub sites: Vec<TrapSite>,
    pub pures: Vec<&'static PureFn>,
    pub devices: Vec<DeviceSite>,
    pub tables: Vec<&'static WordTable>,
    pub buffer_bytes: u32,
    /// Of code for rows of blocks.
    pub in_row: Option<super::block_row::InRow<'a>>,
    /// What is written is the last phase.
    pub last_phase: bool,
    /// Blocks whose accesses go on where they end with the next warps and blocks of the grid ([`super::streams`]).
    pub streams: Vec<bool>,
    pub context: R,
    pub frame: R,
    /// First lane of the chunk; none where the chunk is the warp.
    pub lane: Option<R>,
    /// Frame address of the chunk's first lane in slot 0 of four bytes, and of eight.
    pub frame_lane: R,
    pub frame_wide: R,
    /// Active lanes of the chunk, a bit each.
    pub bits: R,
    pub active: Rc<[R]>,
    pub next_chunk: Option<HostBlock>,
    /// The exit of the chunks before this one.
    pub exit_so_far: R,
}

/// What code of several functions has in common.
struct Carried<'a> {
    a: Asm,
    sites: Vec<TrapSite>,
    pures: Vec<&'static PureFn>,
    devices: Vec<DeviceSite>,
    tables: Vec<&'static WordTable>,
    buffer_bytes: u32,
    in_row: Option<super::block_row::InRow<'a>>,
    context: Option<R>,
    /// Whether there are loops of single lanes.
    single: bool,
}

impl Carried<'_> {
    fn new() -> Self {
        Carried {
            a: Asm::new(),
            sites: Vec::new(),
            pures: Vec::new(),
            devices: Vec::new(),
            tables: Vec::new(),
            buffer_bytes: 0,
            in_row: None,
            context: None,
            single: false,
        }
    }

    fn finish(self) -> Lowered {
        let Carried { a, sites, pures, devices, tables, buffer_bytes, in_row, single, .. } = self;
        let shared_reach = in_row.map_or(0, |row| row.shared_reach);
        let code = VCode::new(a.blocks, a.operands, a.vregs, emit::call_clobbers(), single);
        Lowered { code, pool: a.pool, sites, pures, devices, tables, buffer_bytes, shared_reach }
    }
}

/// Lowers a region.
pub(super) fn lower(f: &Function, options: &Options, env: FloatEnv) -> Result<Lowered, Error> {
    let mut lower = Lower::new(f, options, env, Carried::new(), options.all_enter);
    lower.function()?;
    Ok(lower.into_carried().finish())
}

/// Lowers a kernel for rows of blocks; `options` by phase.
pub(super) fn lower_phases(
    phases: &[Phase<'_>],
    row: &BlockRow,
    options: &[Options],
    env: FloatEnv,
) -> Result<Lowered, Error> {
    let writes_shared = phases.iter().any(|phase| super::phases::writes_shared(phase.func));
    let mut carried = Carried::new();
    for (number, (phase, options)) in phases.iter().zip(options).enumerate() {
        let mut lower = Lower::new(phase.func, options, env, carried, row.whole);
        if number == 0 {
            lower.begin_row(row, phases.len(), writes_shared);
            if !phases
                .iter()
                .flat_map(|phase| &phase.successors)
                .any(|successor| successor.phases().any(|n| n == 0))
            {
                lower.find_streams();
            }
        }
        lower.phase(number, phase, number + 1 == phases.len())?;
        carried = lower.into_carried();
    }
    Ok(carried.finish())
}

impl<'a> Lower<'a> {
    fn new(
        f: &'a Function,
        options: &'a Options,
        env: FloatEnv,
        carried: Carried<'a>,
        whole: bool,
    ) -> Lower<'a> {
        let order = Order::new(f);
        let forms = Forms::new(f, &order.blocks, &options.slot_shapes, false);
        let uses = Uses::new(f);
        let extended = extended_loads(f, &order.blocks, &forms, &uses);
        let hoist = hoisted_values(f, &order, &forms, &vec![false; f.values.len()]);
        let fused = fused_affine(f, &order.blocks, &forms);
        let mut address_only = address_only(f, &forms, true, &fused, |_| false);
        let groups = usize::from(options.chunk_groups) / 4;
        let apart = vector_strides(f, &order.blocks, &forms, groups, &options.apart);
        let lines = super::lines::Lines::new(
            f,
            &order.blocks,
            &forms,
            &apart,
            &options.slot_shapes,
            (groups, &options.apart),
        );
        let one_by_one = super::gathers::worth_many_loads(f, &order.blocks, &forms, groups);
        let pairs = super::lookups::Pairs::new(f, &order.blocks);
        let mut trees = super::table_trees::Trees::default();
        if one_by_one {
            trees = super::table_trees::Trees::new(f, &order.blocks, &forms, &uses);
            trees.parts.iter().for_each(|v| address_only[v.index()] = true);
        }
        tested_bits(f, &order.blocks, &forms, &uses).iter().for_each(|v| address_only[v.index()] = true);
        let as_vector = words_for_vectors(f, &order.blocks, &forms);
        let (all_entered, some_lack) = super::masks::versions(f, whole);
        let mut single = super::single::SingleLoops::new(f, &order.blocks);
        let Carried { mut a, sites, pures, devices, tables, buffer_bytes, in_row, context, single: before } =
            carried;
        single.before = before;
        let none = a.gpr();
        let listed = order.blocks.clone();
        let mut lower = Lower {
            a,
            f,
            options,
            groups,
            forms,
            apart,
            lines,
            group: 0,
            all_entered,
            some_lack,
            span_groups: 0,
            known_bits: None,
            float_classes: None,
            slot_offsets: f.frame_layout().0,
            values: vec![None; f.values.len()],
            hoist,
            address_only,
            bit_masks: vec![false; f.values.len()],
            one_by_one,
            extended,
            fused: fused_comparisons(f, &order.blocks, &uses),
            uses,
            blocks: HostBlocks::new(f, order),
            hoisted: HashMap::new(),
            known: Known::default(),
            bounds: super::rows::Bounds::Tested,
            known_rows: Vec::new(),
            mads: None,
            mad_facts: None,
            pairs,
            trees,
            accessed: HashSet::new(),
            translated: fused,
            next_site: crate::permits::first_site(f),
            own_site: 0,
            asked: None,
            single,
            indexed: HashMap::new(),
            spreads: HashMap::new(),
            as_vector,
            aside: false,
            env,
            explicit_flush: env == FloatEnv::Default,
            sites,
            pures,
            devices,
            tables,
            buffer_bytes,
            in_row,
            last_phase: false,
            streams: Vec::new(),
            context: context.unwrap_or(none),
            frame: none,
            lane: None,
            frame_lane: none,
            frame_wide: none,
            bits: none,
            active: Rc::new([]),
            next_chunk: None,
            exit_so_far: none,
        };
        lower.find_bit_masks(&listed);
        lower
    }

    fn into_carried(self) -> Carried<'a> {
        let Lower { a, sites, pures, devices, tables, buffer_bytes, in_row, context, single, .. } = self;
        let single = single.before || !single.is_empty();
        Carried { a, sites, pures, devices, tables, buffer_bytes, in_row, context: Some(context), single }
    }
}

impl Lower<'_> {
    /// Vectors of a chunk of the element type.
    pub fn part_count(&self, scalar: Scalar) -> usize {
        if wide(scalar) { 2 * self.groups } else { self.groups }
    }

    /// Lanes of a chunk.
    pub fn lanes(&self) -> usize {
        16 * self.groups
    }

    pub fn scalar_of(&self, v: Value) -> Scalar {
        self.f.ty(v).scalar
    }

    /// What is known of the bits of values.
    pub fn known(&mut self) -> Rc<KnownBits> {
        let f = self.f;
        self.known_bits.get_or_insert_with(|| Rc::new(KnownBits::new(f, &Cfg::order(f)))).clone()
    }

    /// Whether a value is kept as one scalar for the chunk, the same in all lanes.
    pub fn is_one(&self, v: Value) -> bool {
        self.forms.of(v) == Form::Uniform && !self.is_by_sixteen(v)
    }

    /// Whether a value that is kept as scalars is not even over the chunk, only over each sixteen lanes.
    pub fn is_by_sixteen(&self, v: Value) -> bool {
        self.forms.of(v) != Form::Varying && self.apart[v.index()] != Some(self.stride_of(v).wrapping_mul(16))
    }

    /// What the current sixteen lanes of a value kept as one scalar have more than the first ones.
    pub fn further(&self, v: Value, group: usize) -> i32 {
        self.apart[v.index()].unwrap_or(0).wrapping_mul(group as i32)
    }

    /// How many scalars a value has that is kept as such.
    pub fn scalars(&self, v: Value) -> usize {
        if self.apart[v.index()].is_some() { 1 } else { self.groups }
    }

    /// How many scalars, which differ, it takes to tell such a value.
    pub fn spans(&self, v: Value) -> usize {
        if self.is_by_sixteen(v) { self.groups } else { 1 }
    }

    /// Writes something for each of some sixteen lanes, with the scalars of these.
    pub fn each_group<T>(
        &mut self,
        count: usize,
        mut write: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut made = Vec::with_capacity(count);
        for group in 0..count {
            self.group = group;
            let one = write(self);
            self.group = 0;
            made.push(one?);
        }
        Ok(made)
    }

    pub fn class_of(scalar: Scalar) -> RegClass {
        if scalar == Scalar::I1 { RegClass::Vector } else { RegClass::Float }
    }

    pub fn kept(&self, v: Value) -> Result<Kept, Error> {
        self.values[v.index()]
            .clone()
            .ok_or_else(|| Error::Malformed(format!("{v} used before its definition")))
    }

    /// Forgets what is good only within a block.
    pub fn forget_block(&mut self) {
        self.known = Known::default();
    }

    /// Writes code that does not dominate what follows.
    pub fn aside<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.aside, true);
        let made = write(self);
        self.aside = before;
        made
    }

    /// The number of a new trap site.
    pub fn site(&mut self, data: &InstData, lane: TrapLane) -> Option<u32> {
        let (space, bytes) = match data.imm {
            Imm::Mem(m) | Imm::Atomic(m, _) => (m.space, m.bytes),
            _ => return None,
        };
        let store = data.op != Opcode::Load;
        self.sites.push(TrapSite { pc: data.pc, lane, space, store, bytes });
        Some(self.sites.len() as u32 - 1)
    }

    /// Whether what is at the guest address 0 here is the kernel's first instruction, not what passes have made.
    fn starts_at_0(&self) -> bool {
        self.a.pc == crate::NO_PC && self.f.block(self.f.entry).pc == 0
    }

    pub fn inst(&mut self, inst: Inst) -> Result<(), Error> {
        let data = self.f.inst(inst);
        match data.op {
            // Registers in and out.
            Opcode::SlotGet | Opcode::SlotSet => self.a.pc = crate::NO_PC,
            // What passes have made belongs to what stands before.
            _ if data.pc == 0 && !self.starts_at_0() => {}
            _ => self.a.pc = data.pc,
        }
        if self.asked.as_ref().is_some_and(|asked| !asked.is_of(data) && !data.op.is_permit()) {
            return Err(Error::Malformed("a permit without its access".into()));
        }
        if self.accessed.remove(&inst) {
            return Ok(());
        }
        let whole = self.lanes() == self.f.lanes as usize;
        // Atomics and device calls have the order of lanes in any chunk, and a chunk holds whole quads.
        let of_chunk = matches!(
            data.op,
            Opcode::ChunkBallot | Opcode::ChunkValue | Opcode::Atomic | Opcode::CallDevice | Opcode::QuadLane
        );
        if data.op.is_cross_lane() && !of_chunk && !(whole && super::crosses_lanes(data.op)) {
            return Err(Error::CrossLane(data.op));
        }
        if data.result.is_some_and(|r| self.address_only[r.index()]) {
            return Ok(());
        }
        match data.op {
            Opcode::Const => {
                let (r, bits) = operands::constant(self.f, data)?;
                self.define(r, Kept::Const(bits));
                Ok(())
            }
            Opcode::Splat => {
                let (r, x) = (result(data)?, arg(data, 0)?);
                let kept = self.kept(x)?;
                self.define(r, kept);
                Ok(())
            }
            // A float of all lanes as a word that only lanes want: no way through a general register.
            Opcode::Bitcast if data.result.is_some_and(|r| self.as_vector[r.index()]) => {
                match self.kept(arg(data, 0)?)? {
                    splat @ Kept::Splat(_) => self.define(result(data)?, splat),
                    _ => self.pure(data)?,
                }
                Ok(())
            }
            Opcode::Load => self.load_or_store(data),
            Opcode::Store | Opcode::Atomic => {
                let done =
                    if data.op == Opcode::Store { self.load_or_store(data) } else { self.atomic(data) };
                if operands::is_shared(data) {
                    self.forget_held();
                }
                done
            }
            Opcode::CallDevice => self.call_device(data),
            Opcode::DenyLoad | Opcode::DenyStore => self.deny(data),
            op if op.is_translation() && self.translated[inst.index()] => Ok(()),
            Opcode::Prefetch => self.prefetch(data),
            op if op.is_translation() => self.translate(data),
            op if op.is_permit() => self.permit(inst),
            Opcode::SlotGet | Opcode::SlotSet | Opcode::CallPure => self.control(data),
            Opcode::Any | Opcode::ActiveMask | Opcode::LaneBit => self.mask(data),
            Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot | Opcode::Shuffle | Opcode::QuadLane => {
                self.across(data)
            }
            Opcode::ChunkBallot | Opcode::ChunkMask | Opcode::ChunkSpread | Opcode::ChunkValue => {
                self.single(data)
            }
            Opcode::Ixor => match data.result.and_then(|r| self.trees.of(r).cloned().map(|tree| (r, tree))) {
                Some((r, tree)) => self.table_tree(r, &tree),
                None => self.pure(data),
            },
            _ => self.pure(data),
        }
    }

    /// Whether a value is the complement of a mask of lanes that only the terminator of its block looks at.
    pub fn is_fused_complement(&self, v: Value) -> bool {
        self.fused[v.index()]
            && self.forms.of(v) == Form::Varying
            && self.f.def_inst(v).is_some_and(|data| data.op == Opcode::Inot)
    }

    /// An operation on lanes.
    pub fn pure(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        if self.is_fused_complement(r) {
            return Ok(());
        }
        if self.forms.of(r) != Form::Varying && self.general_op(data, r)? {
            return Ok(());
        }
        if self.bit_masks[r.index()] {
            return self.bit_mask(data);
        }
        let parts = if self.forms.of(r) == Form::Varying || self.is_by_sixteen(r) {
            self.vector_op(data)?
        } else {
            // What is the same in all lanes is computed for sixteen of them.
            let groups = std::mem::replace(&mut self.groups, 1);
            let parts = self.aside(|l| l.vector_op(data));
            self.groups = groups;
            parts?
        };
        self.define_vectors(r, parts);
        Ok(())
    }

    pub fn vector_op(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        match data.op.group() {
            Group::Int => self.int(data),
            Group::Float => self.float(data),
            Group::Convert => self.convert(data),
            _ if data.op == Opcode::Select => self.select(data),
            _ if data.op == Opcode::CallPure => self.special(data),
            _ => Err(malformed(data)),
        }
    }

    pub fn select(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let (c, a, b) = (arg(data, 0)?, arg(data, 1)?, arg(data, 2)?);
        let scalar = self.scalar_of(a);
        let masks = self.masks(c)?;
        if scalar == Scalar::I1 {
            let (a, b) = (self.masks(a)?, self.masks(b)?);
            return Ok((0..self.groups)
                .map(|g| {
                    let yes = self.a.k3(Code::VEX_Kandw_kr_kr_kr, masks[g], a[g]);
                    let no = self.a.k3(Code::VEX_Kandnw_kr_kr_kr, masks[g], b[g]);
                    self.a.k3(Code::VEX_Korw_kr_kr_kr, yes, no)
                })
                .collect());
        }
        let is_wide = wide(scalar);
        let masks = if is_wide { self.widen(&masks) } else { masks.to_vec() };
        let (a, b) = (self.srcs(a)?, self.regs(b)?);
        Ok(masks.iter().zip(a).zip(b.iter()).map(|((&k, a), &b)| self.blend(is_wide, k, a, b)).collect())
    }

    /// `a` where the mask holds, else `b`.
    pub fn blend(&mut self, is_wide: bool, k: R, a: Src, b: R) -> R {
        let code = match is_wide {
            true => Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
            false => Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
        };
        self.a.v3w(code, b, a, super::asm::With { mask: Some(k), ..Default::default() })
    }

    /// Masks of the element type's operations where a uniform value is in lanes.
    pub fn mask(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        match data.op {
            Opcode::ActiveMask => {
                let kept = match self.all_enter() {
                    true => Kept::Const(1),
                    false => Kept::Parts(self.active.clone()),
                };
                self.define(r, kept);
            }
            Opcode::LaneBit => {
                let all = self.general(arg(data, 0)?)?;
                let own = match self.lane {
                    Some(lane) => self.shift_right(all, lane),
                    None => all,
                };
                let kept = match self.bit_masks[r.index()] {
                    true if self.lanes() < 64 => Kept::Bits(self.a.low32(own)),
                    true => Kept::Bits(own),
                    false => Kept::Parts(self.masks_of_bits(own)),
                };
                self.define(r, kept);
            }
            _ => {
                let mask = arg(data, 0)?;
                let guard = data.args.get(1).copied();
                let s = match (self.is_one(mask), guard) {
                    _ if matches!(self.kept(mask)?, Kept::Bits(_)) => {
                        let mut bits = self.mask_bits(mask)?;
                        if let Some(guard) = guard {
                            let guard = self.mask_bits(guard)?;
                            bits = self.a.g2(true, super::scalar::AND, bits, guard);
                        }
                        self.a.test(true, bits, bits);
                        self.a.set_if(Code::Setne_rm8)
                    }
                    (true, None) => self.general(mask)?,
                    _ => {
                        let mut masks = self.masks(mask)?;
                        if let Some(guard) = guard {
                            let guard = self.masks(guard)?;
                            masks = masks
                                .iter()
                                .zip(guard.iter())
                                .map(|(&a, &b)| self.a.k3(Code::VEX_Kandw_kr_kr_kr, a, b))
                                .collect();
                        }
                        self.test_any(&masks);
                        self.a.set_if(Code::Setne_rm8)
                    }
                };
                self.define(r, Kept::General([s].into()));
            }
        }
        Ok(())
    }

    /// The lanes of one group of sixteen, of a bit for each lane of the chunk.
    pub fn bits_of_group(&mut self, bits: R, group: usize) -> R {
        let own = match group {
            0 if self.groups == 1 => return bits,
            0 => bits,
            g => self.a.shift(true, (Code::Shr_rm32_imm8, Code::Shr_rm64_imm8), bits, 16 * g as u8),
        };
        self.a.g1(Code::Movzx_r32_rm16, own, super::code::Size::D, super::code::Size::W)
    }

    /// A 64-bit register shifted right by another.
    pub fn shift_right(&mut self, a: R, by: R) -> R {
        let d = self.a.gpr();
        use super::asm::{A, With};
        use super::code::Size;
        let args = [A::Def(d, Size::Q), A::Use(a, Size::Q), A::Use(by, Size::Q)];
        self.a.put(Code::VEX_Shrx_r64_rm64_r64, &args, With::default());
        d
    }

    /// Clears ZF if any lane of the masks holds.
    pub fn test_any(&mut self, masks: &[R]) {
        match *masks {
            [k] => self.a.kortest(k, k),
            [a, b] => self.a.kortest(a, b),
            _ => {
                let pairs: Vec<R> = masks
                    .chunks(2)
                    .map(|pair| match *pair {
                        [a, b] => self.a.k3(Code::VEX_Korw_kr_kr_kr, a, b),
                        _ => pair[0],
                    })
                    .collect();
                self.test_any(&pairs);
            }
        }
    }
}

/// As many of one, or of one for each group, as a value has vectors.
pub(super) fn spread(one: &[R], count: usize) -> Rc<[R]> {
    (0..count).map(|n| one[n * one.len() / count]).collect()
}
