//! Permits: what compiled code knows of the memory that it may access where a guest's address is the host's
//! ([`warpjit_ir::passes::permit`]).
//!
//! Code asks before each access. It remembers the range of memory that the runtime has named last at this *site*: a [`Window`] of a table
//! that belongs to one context. A site that finds its lanes inside goes on; else cold code calls the runtime, which looks at each lane
//! ([`Context::each_permit`]), and opens the window anew. So mostly an access costs two comparisons with memory, and its form over the
//! lanes stays what it is.
//!
//! Where code tests how lanes lie before it accesses them at once, the access asks by itself ([`access_behind`]): where they lie as it
//! wants, of the first lane's address, for all that lies between the first lane's and the last's; where they do not, of each lane. So the
//! access has two sites, and no way to it leads past both.
//!
//! A window is as good as what was mapped when it was opened. Who unmaps memory closes the windows of all contexts that run
//! ([`Windows::close`]), from any thread. A window has its bounds in two forms, for scalars and for vectors. Of each, others write one
//! word alone, and closing it closes the form; a test reads no more than one form. Between the comparison and its access code may find its
//! window closed behind it, as code that looks a page up may find the page gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

use warpjit_ir::{Block, Function, Inst, InstData, Opcode, Value};

use crate::context::{Context, FAULT_OF_PAGE};
use crate::error::Error;
use crate::operands::{MemoryOperands, is_load};

/// Sites of one span and kind, loads or stores, in a table.
const SITES: u32 = 16;

/// Powers of two that a span is rounded up to: 1 to 4096 bytes. What spans more is asked lane by lane.
const SPANS: u32 = 13;

/// Windows of a table.
const WINDOWS: usize = (2 * SITES * SPANS) as usize;

/// Most bytes from the first to the last of what permits that stand together are for.
const MOST_SPAN: i64 = 1024;

/// The farthest that lanes side by side may be from each other for one comparison, if no window ([`SPANS`]) is too small for all of them.
pub(crate) const MOST_STEP: u64 = 1 << 12;

/// In [`Context::atomic`] of a request: it is for a permit.
pub(crate) const PERMIT: u32 = 1 << 1;

/// There: the permit of another access stands behind it, and both come before the first of the accesses.
pub(crate) const MORE: u32 = 1 << 2;

/// Added to addresses and limits, so that signed comparisons order them as unsigned ones would: vectors of 128 bits have no others.
const BIAS: u64 = 1 << 63;

/// A range of memory that a site may access.
#[derive(Debug)]
#[repr(C)]
pub struct Window {
    /// For vectors: where it begins, less [`BIAS`]. Only the context's own thread looks at it.
    start: AtomicU64,
    /// For vectors: an access that begins so many bytes behind the start, less [`BIAS`], is none any more. The lowest number: there is no
    /// memory.
    limit: AtomicI64,
    /// For scalars: where it begins. Only the context's own thread looks at it.
    from: AtomicU64,
    /// For scalars: an access that begins there is none any more, nor are those behind. 0: there is no memory.
    past: AtomicU64,
}

/// The place of a window's limit in it.
pub(crate) const LIMIT: i32 = 8;

/// The places of what a scalar is compared with: of where the window begins, and of where accesses begin that are behind it.
pub(crate) const FROM: i32 = 16;
pub(crate) const PAST: i32 = 24;

impl Window {
    fn close(&self) {
        self.limit.store(i64::MIN, Ordering::Relaxed);
        self.past.store(0, Ordering::Relaxed);
    }
}

/// The windows of a context.
#[derive(Debug)]
pub struct Windows(Box<[Window]>);

impl Windows {
    fn new() -> Windows {
        let closed = || Window {
            start: AtomicU64::new(0),
            limit: AtomicI64::new(i64::MIN),
            from: AtomicU64::new(0),
            past: AtomicU64::new(0),
        };
        Windows((0..WINDOWS).map(|_| closed()).collect())
    }

    /// Closes all of them. Code of the context that has not compared yet asks the runtime.
    pub fn close(&self) {
        self.0.iter().for_each(Window::close);
    }
}

/// A range that nothing is in.
const NOTHING: (u64, u64) = (1, 0);

/// Ranges that one may access, from and to addresses, that do not touch.
type Ranges = Vec<(u64, u64)>;

/// What a context has been permitted. Only its own thread uses it, but for [`Permits::windows`].
#[derive(Debug, Default)]
pub struct Permits {
    windows: Option<Arc<Windows>>,
    /// The state of the memory that the ranges and windows are of.
    pub generation: u64,
    /// Ranges that have been found out: for loads, and for stores.
    pub known: [Ranges; 2],
    /// Stores whose permits have been given, but not yet those of stores behind them that stand together with them: address, bytes, value.
    together: Vec<(u64, u8, u64)>,
}

impl Clone for Permits {
    /// No permits: each context has windows of its own, which one thread opens.
    fn clone(&self) -> Permits {
        Permits::default()
    }
}

impl Permits {
    /// The windows, to be closed by others.
    pub fn windows(&mut self) -> Arc<Windows> {
        self.windows.get_or_insert_with(|| Arc::new(Windows::new())).clone()
    }

    /// Forgets all permits: now those of memory in this state are given.
    pub fn renew(&mut self, generation: u64) {
        self.generation = generation;
        self.known.iter_mut().for_each(Vec::clear);
        if let Some(windows) = &self.windows {
            windows.close();
        }
    }

    /// Opens the window of a site (by its number) for a range, unless `is_current` says afterwards that the memory has changed
    /// since that was found out. Whether it is open.
    ///
    /// Who changes the memory says so before he closes windows ([`Windows::close`]), with a fence in between, as there is one here between
    /// opening and `is_current`. So either that sees the change, or the window is closed behind its opening.
    pub fn open(&self, site: u32, (start, end): (u64, u64), is_current: impl FnOnce() -> bool) -> bool {
        let Some(window) = self.windows.as_ref().and_then(|windows| windows.0.get(site as usize)) else {
            return false;
        };
        // No code looks meanwhile. What others close here is closed again, or the change is seen, below.
        window.close();
        let limit = (end - start).saturating_sub(span_of(site) - 1);
        window.start.store(start.wrapping_sub(BIAS), Ordering::Relaxed);
        window.limit.store(limit.wrapping_sub(BIAS) as i64, Ordering::Relaxed);
        window.from.store(start, Ordering::Relaxed);
        window.past.store(start + limit, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_current = is_current();
        if !is_current {
            window.close();
        }
        is_current
    }
}

/// Which window a site has that accesses so many bytes from an address on: sites that share one access no more bytes than its span, and
/// either none of them stores or all do, so that what may only be read is open to loads alone. `None`: no window is for so many.
fn site(number: u32, bytes: u64, stores: bool) -> Option<u32> {
    let span = bytes.max(1).next_power_of_two().trailing_zeros();
    let kind = 2 * span + u32::from(stores);
    (span < SPANS).then_some(kind * SITES + number % SITES)
}

/// The window of the next site of a function, which counts its sites in `next`; see [`site`].
pub(crate) fn next_site(next: &mut u32, bytes: u64, stores: bool) -> Option<u32> {
    let site = site(*next, bytes, stores)?;
    *next += 1;
    Some(site)
}

/// The number of a function's first site: functions begin at different ones, because they share the windows.
pub(crate) fn first_site(f: &Function) -> u32 {
    f.block(f.entry).pc.wrapping_mul(0x9e37_79b9) >> 28
}

/// Most bytes that are accessed at a site with this window.
fn span_of(site: u32) -> u64 {
    1 << (site / SITES / 2)
}

/// The place of a site's window in the table.
pub(crate) fn place(site: u32) -> i32 {
    site as i32 * size_of::<Window>() as i32
}

/// The permits that stand together from one of a block on, itself first, as many as a window is for; none if it stands behind such a one.
///
/// # Errors
///
/// The permit stands in another block.
pub(crate) fn together(f: &Function, block: Block, inst: Inst) -> Result<Vec<&InstData>, Error> {
    let insts = &f.block(block).insts;
    let at = insts.iter().position(|&other| other == inst);
    let at = at.ok_or_else(|| Error::Malformed("a permit of another block".into()))?;
    let own = f.inst(inst);
    let guard = |data: &InstData| data.args.get(if data.op == Opcode::PermitStore { 2 } else { 1 }).copied();
    let same = |other: &InstData| {
        (other.op, other.args.first(), guard(other)) == (own.op, own.args.first(), guard(own))
    };
    let before = insts[..at].iter().rev().take_while(|&&other| same(f.inst(other))).count();
    let mut group: Vec<&InstData> = Vec::new();
    for (n, &other) in
        insts.iter().enumerate().skip(at - before).take_while(|&(_, &other)| same(f.inst(other)))
    {
        group.push(f.inst(other));
        let (from, to) = reach(&group)?;
        if to - from > MOST_SPAN && group.len() > 1 {
            // Of accesses that were removed, permits of several groups are neighbours.
            let next = group.pop();
            if n > at {
                return Ok(if std::ptr::eq(group[0], own) { group } else { Vec::new() });
            }
            group = next.into_iter().collect();
        }
    }
    Ok(if group.first().is_some_and(|&first| std::ptr::eq(first, own)) { group } else { Vec::new() })
}

/// The access that permits stand in front of, where it is the first that they are for, and nothing is between.
pub(crate) fn access_behind<'a>(
    f: &'a Function,
    block: Block,
    inst: Inst,
    all: &[&InstData],
) -> Option<&'a InstData> {
    let insts = &f.block(block).insts;
    let at = insts.iter().position(|&other| other == inst)?;
    let (first, access) = (*all.first()?, f.inst(*insts.get(at + all.len())?));
    let op = if first.op == Opcode::PermitStore { Opcode::Store } else { Opcode::Load };
    (access.op == op && access.args == first.args && access.imm == first.imm).then_some(access)
}

/// Permits that stand together: what is asked before the first of their accesses. `R` is a register of a code generator.
pub(crate) struct Asked<'a, R> {
    /// Never none.
    pub all: Vec<&'a InstData>,
    pub address: Value,
    pub guard: Option<Value>,
    /// The lanes that take part.
    pub bits: R,
    /// Where the accesses begin and end, from the address on.
    pub reach: (i64, i64),
    /// The access that asks by itself; it has not been written yet.
    pub access: Option<&'a InstData>,
}

impl<R> Asked<'_, R> {
    /// Whether it is this access that asks.
    pub fn is_of(&self, data: &InstData) -> bool {
        self.access.is_some_and(|access| std::ptr::eq(access, data))
    }

    /// Whether stores are asked for; see [`site`].
    pub fn stores(&self) -> bool {
        !self.all.iter().all(|data| is_load(data.op))
    }

    /// The window of one lane's accesses, the next of the function's.
    pub fn next_site(&self, next: &mut u32) -> Result<u32, Error> {
        let site = next_site(next, (self.reach.1 - self.reach.0) as u64, self.stores());
        site.ok_or_else(|| Error::Malformed("permits that are far from each other".into()))
    }

    /// The same for all that lies between some lanes' accesses, and where that begins, from an address on. Lanes' addresses are so far from
    /// it as `lowest` and `highest` say. `None`: no window is for so many bytes.
    pub fn next_site_of(&self, next: &mut u32, (lowest, highest): (i64, i64)) -> Option<(u32, i64)> {
        let (low, high) = (self.reach.0 + lowest, self.reach.1 + highest);
        Some((next_site(next, (high - low) as u64, self.stores())?, low))
    }
}

/// Where the accesses of such permits begin and end, from their address on.
pub(crate) fn reach(all: &[&InstData]) -> Result<(i64, i64), Error> {
    let mut reach: Option<(i64, i64)> = None;
    for data in all {
        let mem = MemoryOperands::of(data)?.mem;
        let (from, to) = (i64::from(mem.offset), i64::from(mem.offset) + i64::from(mem.bytes));
        let (low, high) = reach.unwrap_or((from, to));
        reach = Some((low.min(from), high.max(to)));
    }
    reach.ok_or_else(|| Error::Malformed("no permits".into()))
}

/// Answers requests for permits: the embedder's memory.
pub trait Permitter {
    /// The range of memory, from and to, around an access of 1, 2, 4 or 8 bytes that a lane may make; `None`: it may not.
    fn permitted_range(&mut self, permits: &mut Permits, access: (u64, u8, bool)) -> Option<(u64, u64)>;

    /// Stores a value at an address that has been permitted.
    fn store(&mut self, address: u64, bytes: u8, value: u64);

    /// Opens the window of the site `site` for a range that it has given just before, unless the memory has changed since.
    fn open(&mut self, permits: &mut Permits, site: u32, range: (u64, u64));
}

impl Context {
    /// Whether a request of compiled code is for permits.
    pub fn asks_for_permits(&self) -> bool {
        self.atomic & PERMIT != 0
    }

    /// Looks at each lane that takes part in the access that compiled code has described, the lowest lane first.
    ///
    /// The first lane that may not access its memory, or whose address is misaligned, faults. Then lower lanes still do their stores,
    /// because lanes execute in order, and higher lanes do nothing. Before them come the stores whose permits stand in front of this one:
    /// they are done by all lanes.
    pub fn each_permit(&mut self, memory: &mut impl Permitter) {
        let (access, request) = (self.access, self.atomic);
        let bytes = (access >> 12 & 15) as u8;
        let stores = access >> 17 & 1 != 0;
        let (low, part) = (u64::from(request >> 8 & 0xff).wrapping_sub(1), u64::from(request >> 16));
        self.odd_lane = 0;
        let guard = self.guard_lanes;
        // Those of the last two lanes that were not in the one before: mostly the others are there, too.
        let mut found = [NOTHING; 2];
        for lane in (0..64).filter(|lane| guard >> lane & 1 != 0) {
            let address = self.lane_addresses.get(lane, true);
            let aligned = address.wrapping_sub(part) & low == 0;
            let is_in =
                |(from, to): (u64, u64)| from <= address && to.saturating_sub(address) >= bytes.into();
            let range = match found.into_iter().find(|&range| is_in(range)) {
                _ if !aligned => None,
                Some(range) => Some(range),
                None => {
                    let generation = self.permits.generation;
                    let range = memory.permitted_range(&mut self.permits, (address, bytes, stores));
                    if self.permits.generation != generation {
                        // What earlier lanes have found is of the memory as it was.
                        found = [NOTHING; 2];
                    }
                    range
                }
            };
            let Some(range) = range else {
                for (address, bytes, value) in std::mem::take(&mut self.permits.together) {
                    memory.store(address, bytes, value);
                }
                self.odd_lane = lane as u32 + 1;
                self.fault.address = address;
                self.fault_lanes = if aligned { FAULT_OF_PAGE } else { 0 };
                return;
            };
            if range != found[0] {
                found = [range, found[0]];
            }
            if stores {
                self.permits.together.push((address, bytes, self.lane_values.get(lane, bytes == 8)));
            }
        }
        if request & MORE == 0 {
            self.permits.together.clear();
        }
        if let (true, Some(site)) = (found[0] != NOTHING, self.permit_site.checked_sub(1)) {
            memory.open(&mut self.permits, site, found[0]);
        }
    }

    /// Opens the window of the atomics that compiled code has asked to be executed, if it has one, around one that has been.
    pub fn permit_atomics(&mut self, memory: &mut impl Permitter, address: u64, bytes: u8) {
        if let (false, Some(site)) = (self.windows.is_null(), self.permit_site.checked_sub(1))
            && let Some(range) = memory.permitted_range(&mut self.permits, (address, bytes, true))
        {
            memory.open(&mut self.permits, site, range);
        }
    }

    /// Lets code find this context's windows, and others close them.
    pub fn begin_permits(&mut self) -> Arc<Windows> {
        let windows = self.permits.windows();
        self.windows = windows.0.as_ptr();
        self.permit_site = 0;
        self.permits.together.clear();
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits() -> Permits {
        let mut permits = Permits::default();
        permits.windows();
        permits
    }

    /// What code does with a scalar, and with a vector.
    fn is_inside(permits: &Permits, site: u32, address: u64) -> bool {
        let window = &permits.windows.as_ref().unwrap().0[site as usize];
        let behind = address.wrapping_sub(window.start.load(Ordering::Relaxed)) as i64;
        let of_vector = behind < window.limit.load(Ordering::Relaxed);
        let (from, past) = (window.from.load(Ordering::Relaxed), window.past.load(Ordering::Relaxed));
        assert_eq!(of_vector, from <= address && address < past, "{address:#x}");
        of_vector
    }

    #[test]
    fn a_window_holds_what_is_inside_as_a_whole() {
        let permits = permits();
        let site = site(3, 64, false).unwrap();
        for address in [0, 0x1000, 1 << 63, u64::MAX] {
            assert!(!is_inside(&permits, site, address), "{address:#x} of a window that was never open");
        }
        assert!(permits.open(site, (0x1000, 0x3000), || true));
        for (address, expected) in [
            (0x1000, true),
            (0xfff, false),
            (0x3000 - 64, true),
            (0x3000 - 63, false),
            (0x3000, false),
            (0, false),
            (u64::MAX, false),
            (0x1000 + (1 << 63), false),
            (0x2fff + (1 << 63), false),
            (1 << 63, false),
        ] {
            assert_eq!(is_inside(&permits, site, address), expected, "{address:#x}");
        }
        permits.windows.as_ref().unwrap().close();
        assert!(!is_inside(&permits, site, 0x1000));
    }

    #[test]
    fn a_window_is_open_only_while_the_memory_is_as_it_was_found() {
        let permits = permits();
        let site = site(0, 4, false).unwrap();
        assert!(!permits.open(site, (0x1000, 0x2000), || false));
        assert!(!is_inside(&permits, site, 0x1000));
        // Too small for what a site accesses.
        let wide = super::site(0, 4096, false).unwrap();
        assert!(permits.open(wide, (0x1000, 0x1800), || true));
        assert!(!is_inside(&permits, wide, 0x1000));
    }

    #[test]
    fn sites_that_share_a_window_access_no_more_than_its_span() {
        for bytes in 1..=4096 {
            for number in [0, 1, 15, 16, 1000] {
                let [load, store] = [false, true].map(|stores| site(number, bytes, stores).unwrap());
                for site in [load, store] {
                    assert!((site as usize) < WINDOWS && span_of(site) >= bytes, "{bytes}");
                }
                assert_eq!([load, store].map(|site| site / SITES % 2), [0, 1], "{bytes}");
            }
        }
        assert_eq!(site(0, 4097, true), None);
    }

    /// Memory of two ranges. The first goes when the second is asked for, if it is to.
    struct Two {
        goes: bool,
        stored: Vec<(u64, u64)>,
        opened: Vec<(u64, u64)>,
    }

    impl Permitter for Two {
        fn permitted_range(&mut self, permits: &mut Permits, access: (u64, u8, bool)) -> Option<(u64, u64)> {
            let all = [(0x1000, 0x2000), (0x5000, 0x6000)];
            let at = all.iter().position(|(from, to)| *from <= access.0 && access.0 + 4 <= *to)?;
            if at == 1 && self.goes {
                permits.renew(7);
            }
            (at == 1 || permits.generation != 7).then_some(all[at])
        }

        fn store(&mut self, address: u64, _: u8, value: u64) {
            self.stored.push((address, value));
        }

        fn open(&mut self, _: &mut Permits, _: u32, range: (u64, u64)) {
            self.opened.push(range);
        }
    }

    /// Asks for stores of words at some addresses, the value being the lane's number plus `value`; gives the lane that faults.
    fn ask(
        context: &mut Context,
        memory: &mut Two,
        addresses: &[u64],
        value: u64,
        more: bool,
    ) -> Option<u32> {
        for (lane, &address) in addresses.iter().enumerate() {
            context.lane_addresses.set(lane, true, address);
            context.lane_values.set(lane, false, value + lane as u64);
        }
        context.guard_lanes = (1 << addresses.len()) - 1;
        (context.access, context.atomic) = (4 << 12 | 1 << 17, 4 << 8 | PERMIT | if more { MORE } else { 0 });
        context.permit_site = 1;
        context.each_permit(memory);
        context.odd_lane.checked_sub(1)
    }

    #[test]
    fn lanes_below_a_fault_have_stored_and_so_have_stores_before() {
        let new = || Two { goes: false, stored: Vec::new(), opened: Vec::new() };
        let (mut context, mut memory) = (Context::new(), new());
        assert_eq!(ask(&mut context, &mut memory, &[0x1000, 0x5000, 0x1ffc], 10, true), None);
        assert_eq!(ask(&mut context, &mut memory, &[0x1004, 0x5004, 0x2000], 20, false), Some(2));
        assert_eq!(memory.stored, [(0x1000, 10), (0x5000, 11), (0x1ffc, 12), (0x1004, 20), (0x5004, 21)]);
        assert_eq!((context.fault.address, context.fault_lanes), (0x2000, FAULT_OF_PAGE));
        // What has been permitted as a whole is done by the stores themselves.
        let mut memory = new();
        assert_eq!(ask(&mut context, &mut memory, &[0x1000, 0x5000], 10, true), None);
        assert_eq!(ask(&mut context, &mut memory, &[0x1004, 0x5004], 20, false), None);
        // A misaligned lane faults before one that is nowhere.
        assert_eq!(ask(&mut context, &mut memory, &[0x1000, 0x1006, 0x3000], 30, false), Some(1));
        assert_eq!((memory.stored, context.fault_lanes), (vec![(0x1000, 30)], 0));
        assert_eq!(memory.opened.last(), Some(&(0x5000, 0x6000)));
    }

    #[test]
    fn what_lanes_have_found_is_forgotten_with_a_change() {
        let mut memory = Two { goes: true, stored: Vec::new(), opened: Vec::new() };
        let mut context = Context::new();
        let found = ask(&mut context, &mut memory, &[0x1000, 0x1004, 0x5000, 0x1008, 0x5004], 0, false);
        assert_eq!((found, memory.stored.len()), (Some(3), 3));
        assert!(memory.opened.is_empty());
    }

    #[test]
    fn a_clone_has_windows_of_its_own() {
        let mut permits = permits();
        let mut other = permits.clone();
        assert!(!Arc::ptr_eq(&permits.windows(), &other.windows()));
    }
}
