//! From a region to machine code, with what the runtime must know of it.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Function as HostFunction, Signature, SourceLoc, types};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::{Context as Codegen, FinalizedMachReloc};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use warpjit_ir::{Form, Function, Scalar, Slot};

use crate::code::{FloatEnv, Listing, NO_PC, RegionCode, Returns, check_stack};
use crate::error::Error;
use crate::listing;
use crate::lower;
use crate::lower::float::Denormals;
use crate::options::{BlockRow, Link, Options, Phase, Successor};
use crate::shape::{Shape, SlotShape, VECTOR_LANES};
use crate::trap::TrapSite;

/// Compiles a region in mask form.
pub fn compile_region(func: &Function, options: &Options) -> Result<RegionCode, Error> {
    check(func, options)?;
    let mut code = match options.wide_vectors {
        _ if options.eight_lanes => crate::avx512::eight::compile(func, options)?,
        true => crate::avx512::compile(func, options, float_env(std::iter::once(func)))?,
        false => compile(func, options)?,
    };
    code.returns = vec![Returns::of(func)];
    Ok(code)
}

/// Compiles a region and gives its listings.
pub fn list_region(func: &Function, options: &Options) -> Result<Listing, Error> {
    Ok(compile_region(func, &Options { list: true, ..options.clone() })?.listing)
}

/// Chooses the float environment that the operations need, for vectors of 512 bits.
fn float_env<'a>(funcs: impl Iterator<Item = &'a Function> + Clone) -> FloatEnv {
    let insts = |f: &'a Function| f.blocks.iter().flat_map(|b| &b.insts).map(|&i| f.inst(i));
    let all = || funcs.clone().flat_map(insts);
    let flush = all().any(lower::float::flushes) && !all().any(lower::float::needs_default_env);
    if flush { FloatEnv::FlushAll } else { FloatEnv::Default }
}

/// Compiles a kernel's phases to grid-row code ([`BlockRow`]). The first one starts at the kernel's entry.
pub fn compile_phases(phases: &[Phase<'_>], row: &BlockRow, options: &Options) -> Result<RegionCode, Error> {
    let wide = options.wide_vectors;
    let mut of_phases = Vec::with_capacity(phases.len());
    for phase in phases {
        let mut own = Options { chunk_groups: phase.chunk_groups, count: false, ..options.clone() };
        own.slot_shapes.clone_from(&phase.slot_shapes);
        own.apart.clone_from(&phase.apart);
        check(phase.func, &own)?;
        let known = |successor: &Successor| successor.phases().all(|n| n < phases.len());
        let fewest = if wide { VECTOR_LANES } else { 4 };
        let lanes = |of: u32| of.is_power_of_two() && (fewest..=phase.func.lanes).contains(&of);
        let checked = |&(slot, SlotShape { shape, lanes: of, apart }): &(Slot, SlotShape)| {
            let ty = phase.func.slots.get(slot.index()).map(|data| data.ty);
            let scalar = if shape == Shape::Ones { Scalar::I1 } else { Scalar::I32 };
            row.whole
                && !matches!(shape, Shape::Lines { .. })
                && lanes(of)
                && apart.is_none()
                && ty.is_some_and(|ty| !ty.uniform && ty.scalar == scalar)
        };
        if !phase.checks.iter().all(checked) {
            return Err(Error::Malformed("a look at a slot that has no shape".into()));
        }
        if !phase.successors.iter().all(known) || phase.func.slots.len() != phases[0].func.slots.len() {
            return Err(Error::Malformed("phases that do not fit together".into()));
        }
        if !wide && phase.by_firsts.iter().any(|slots| !slots.is_empty()) {
            return Err(Error::Malformed("slots by first lanes, which vectors of 512 bits only have".into()));
        }
        of_phases.push(own);
    }
    if phases.is_empty() {
        return Err(Error::Malformed("a kernel without phases".into()));
    }
    let funcs = phases.iter().map(|phase| phase.func);
    let mut code = match wide {
        true => crate::avx512::compile_phases(phases, row, &of_phases, float_env(funcs))?,
        false => {
            let vectors = funcs.zip(of_phases.iter().map(|own| u64::from(own.chunk_groups)));
            let env = Denormals::choose(vectors, options.target.host.x86);
            with_cranelift(options, env.env(), |list, builder| {
                lower::lower_phases(phases, row, &of_phases, env, list, builder)
            })?
        }
    };
    code.returns = phases.iter().map(|phase| Returns::of(phase.func)).collect();
    Ok(code)
}

/// Compiles several regions of a kernel to one function, which goes from one to the next without returning: a *chain*. It starts with
/// [`crate::Context::link`] and returns where [`LinkExit`] says, or at the end of a link when [`crate::Context::chain_left`] is used up.
///
/// Where there are vectors of 128 bits only. `options`: what all links have in common.
///
/// [`LinkExit`]: crate::LinkExit
pub fn compile_chain(links: &[Link<'_>], options: &Options) -> Result<RegionCode, Error> {
    if links.is_empty() {
        return Err(Error::Malformed("a chain without links".into()));
    }
    for link in links {
        check(link.func, &link.options)?;
        let passages = link.exits.iter().flat_map(|exit| [&exit.next, &exit.taken]).flatten();
        let known = |to: usize| to < links.len();
        let checked = |(slot, known): &(Slot, SlotShape)| {
            let ty = link.func.slots.get(slot.index()).map(|data| data.ty);
            let scalar = |ty: warpjit_ir::Type| ty.scalar == Scalar::I32 || ty.scalar == Scalar::I1;
            let lanes = known.lanes.is_power_of_two() && known.lanes <= link.func.lanes;
            let shape = match known.shape {
                Shape::Ones => known.lanes == 1 || known.lanes >= 4,
                Shape::Lines { .. } => false,
                Shape::Uniform | Shape::Affine(_) | Shape::Packed(_) => known.lanes >= 4,
            };
            lanes && shape && known.apart.is_none() && ty.is_some_and(scalar)
        };
        let fits = passages.clone().all(|passage| known(passage.to))
            && link.otherwise.is_none_or(known)
            && link.checks.iter().chain(passages.flat_map(|passage| &passage.checks)).all(checked)
            && link.func.slots.len() == links[0].func.slots.len();
        if !fits || link.options.wide_vectors || link.options.eight_lanes || link.options.may_wait {
            return Err(Error::Malformed("links that do not fit together".into()));
        }
    }
    let vectors =
        |link: &Link<'_>| if link.options.single { 1 } else { u64::from(link.options.chunk_groups) };
    let env = Denormals::choose(links.iter().map(|link| (link.func, vectors(link))), options.target.host.x86);
    let mut code = with_cranelift(options, env.env(), |list, builder| {
        lower::lower_chain(links, options, env, list, builder)
    })?;
    code.returns = links.iter().map(|link| Returns::of(link.func)).collect();
    Ok(code)
}

/// Compiles a region with Cranelift.
fn compile(func: &Function, options: &Options) -> Result<RegionCode, Error> {
    let vectors = if options.single { 1 } else { u64::from(options.chunk_groups) };
    let env = Denormals::choose(std::iter::once((func, vectors)), options.target.host.x86);
    with_cranelift(options, env.env(), |list, builder| lower::lower(func, options, env, list, builder))
}

/// Runs Cranelift on the function that `lower` builds. `lower` is told whether to attribute code to guest addresses.
fn with_cranelift(
    options: &Options,
    env: FloatEnv,
    lower: impl FnOnce(bool, FunctionBuilder<'_>) -> Result<lower::Lowered, Error>,
) -> Result<RegionCode, Error> {
    let list = options.list;
    let isa = options.target.isa();
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
    check_stack(frame.saturating_add(16), options.most_stack_bytes)?;
    let relocs: &[FinalizedMachReloc] = compiled.buffer.relocs();
    if let Some(reloc) = relocs.first() {
        return Err(Error::Codegen(format!("code has a relocation: {reloc:?}")));
    }
    let machine_code = compiled.code_buffer().to_vec();
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
        devices: lowered.devices,
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
    let mut known = 0;
    for (start, end, location) in locations {
        if start > known {
            note(known, NO_PC);
        }
        note(start, listing::guest_address(location.bits(), sites).unwrap_or(NO_PC));
        known = end;
    }
    note(known, NO_PC);
    pcs
}

fn check(func: &Function, options: &Options) -> Result<(), Error> {
    if func.form != Form::Mask {
        return Err(Error::Malformed("not in mask form".into()));
    }
    let fits = match options.wide_vectors {
        true => matches!(options.chunk_groups, 4 | 8 | 16),
        false => matches!(options.chunk_groups, 1 | 2 | 4 | 8 | 16),
    } && u32::from(options.chunk_groups) * 4 <= func.lanes;
    if options.wide_vectors && (!options.target.has_wide_vectors() || options.checked_memory) {
        return Err(Error::Host("no vectors of 512 bits".into()));
    }
    if options.eight_lanes && (!options.target.has_middle_vectors() || options.wide_vectors) {
        return Err(Error::Host("no vectors of 256 bits".into()));
    }
    if !fits || !matches!(func.lanes, 16 | 32 | 64) {
        return Err(Error::Groups { groups: options.chunk_groups, lanes: func.lanes });
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
