//! Tests loads at one address outside the window: code asks for each page once, as long as the memory says that it has not changed.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Executable, all_options, context, frame, read, write};
use warpjit_backend::{Context, FAULT, LaneTranslation, Options, Translator};
use warpjit_ir::Function;
use warpjit_ir::text::parse_function;

/// Loads a double word and a word, each at one address.
const LOADS: &str = "
function @f mask lanes 32 {
    slot s0: ui64 first
    slot s1: ui64 second
    slot s2: ui64 loaded
    slot s3: ui32 word
    slot s4: mask part

block0 at 0x0:
    v0: ui64 = slot.get s0
    v1: ui64 = slot.get s1
    v2: mask = slot.get s4
    v3: ui64 = translate_load.u64 global0[v0] align ALIGN
    v4: ui64 = load.u64 global0[v3] align ALIGN
    v5: ui64 = translate_load.u32 global0[v1 + 0x8] align 1
    v6: ui32 = load.u32 global0[v5] align 1
    slot.set s2, v4
    slot.set s3, v6
    return 0
}
";

const PAGE: u64 = 4096;

/// A memory with two pages, at addresses far from each other and places that change.
struct Pages {
    bytes: Vec<u8>,
    /// Where in `bytes` each page is; not there at all without.
    places: [Option<u64>; 2],
    asked: Vec<u64>,
    generation: AtomicU64,
}

const STARTS: [u64; 2] = [0x1234_5678_9000, 0x5000_0000_0000];

thread_local! {
    static PAGES: RefCell<Pages> = const { RefCell::new(Pages {
        bytes: Vec::new(),
        places: [Some(0), Some(PAGE)],
        asked: Vec::new(),
        generation: AtomicU64::new(1),
    }) };
}

struct Find;

impl Translator for Find {
    fn find(&mut self, access: &LaneTranslation) -> Option<Option<*mut u8>> {
        assert_eq!(access.value, None);
        PAGES.with_borrow_mut(|pages| {
            pages.asked.push(access.address);
            let of = STARTS.iter().position(|&start| access.address.wrapping_sub(start) < PAGE)?;
            let place = pages.places[of]?;
            let at = access.address - STARTS[of];
            if at + u64::from(access.bytes) > PAGE {
                return Some(None);
            }
            Some(Some(pages.bytes.as_mut_ptr().wrapping_add((place + at) as usize)))
        })
    }

    /// What crosses a page's end.
    fn answer(&mut self, access: &LaneTranslation) -> bool {
        // SAFETY: the buffer has eight bytes.
        unsafe { access.bounce.cast::<u64>().write(0x0102_0304_0506_0708) };
        true
    }

    fn store(&mut self, _: u64, _: u8, _: u64) {}

    fn generation(&self) -> Option<u64> {
        PAGES.with_borrow(|pages| Some(pages.generation.load(Ordering::Relaxed)))
    }
}

unsafe extern "C" fn translate(context: *mut Context) {
    // SAFETY: code passes its context.
    unsafe { (*context).each_translation(&mut Find) }
}

fn function(align: &str) -> Function {
    parse_function(&LOADS.replace("ALIGN", align), &[]).expect("parses")
}

/// Runs the function for some lanes: what it loads, and for which addresses it asks; the exit.
fn run(
    func: &Function,
    code: &Executable,
    context: &mut Context,
    (first, second): (u64, u64),
    active: u64,
) -> (u64, u32, Vec<u64>, u64) {
    let mut words = frame(func);
    write(func, &mut words, 0, 0, first);
    write(func, &mut words, 1, 0, second.wrapping_sub(8));
    (context.active, context.fuel) = (active, 1 << 40);
    let exit = code.run(context, &mut words);
    let mut asked = PAGES.with_borrow_mut(|pages| std::mem::take(&mut pages.asked));
    // Chunks ask one after the other.
    asked.dedup();
    (read(func, &words, 2, 0), read(func, &words, 3, 0) as u32, asked, exit)
}

fn options() -> impl Iterator<Item = Options> {
    all_options().into_iter().map(|options| Options { translated: true, ..options })
}

/// Memory, and a context for it.
fn begin() -> Context {
    let mut context = context();
    PAGES.with_borrow_mut(|pages| {
        pages.bytes = (0..3 * PAGE).map(|n| (n * 7 + n / 256 * 13) as u8).collect();
        pages.places = [Some(0), Some(PAGE)];
        pages.generation = AtomicU64::new(1);
        context.global_base = pages.bytes.as_mut_ptr();
        context.generation = &raw const pages.generation;
    });
    context.global_high = 0;
    context.translate = translate;
    context
}

fn word(place: u64, bytes: u64) -> u64 {
    let byte = |n: u64| u64::from((n * 7 + n / 256 * 13) as u8);
    (0..bytes).fold(0, |word, n| word | byte(place + n) << (8 * n))
}

#[test]
fn a_page_is_asked_for_once_while_nothing_changes() {
    let func = function("1");
    for options in options() {
        let mut context = begin();
        let code = Executable::compile(&func, &options);
        let [a, b] = STARTS;
        let mut go = |addresses, active| {
            let (long, word, asked, exit) = run(&func, &code, &mut context, addresses, active);
            assert_eq!(exit, 0, "{options:?}");
            (long, word, asked)
        };
        let all = 0xffff_ffff;
        // The second load is in the page of the first.
        assert_eq!(go((a, a + 100), all), (word(0, 8), word(100, 4) as u32, vec![a]), "{options:?}");
        // Nor is it asked for again later, at the page's ends, by other lanes.
        let ends = (a + PAGE - 8, a + PAGE - 8);
        assert_eq!(go(ends, 0xf0), (word(PAGE - 8, 8), word(PAGE - 8, 4) as u32, vec![]), "{options:?}");
        // What crosses the end is no page's, and the page just before is no page of it.
        let (long, _, asked) = go((a + PAGE - 7, a), all);
        assert_eq!((long, &asked[..1]), (0x0102_0304_0506_0708, &[a + PAGE - 7][..]), "{options:?}");
        // Pages by turns.
        let (long, low, asked) = go((a + 16, b + 32), all);
        assert_eq!((long, low), (word(16, 8), word(PAGE + 32, 4) as u32), "{options:?}");
        assert_eq!(asked.last(), Some(&(b + 32)), "{options:?}");
        // The page moves, and the memory says so: where it was is nobody's.
        PAGES.with_borrow_mut(|pages| {
            pages.places[1] = Some(2 * PAGE);
            pages.generation.fetch_add(1, Ordering::Relaxed);
        });
        let moved = (word(2 * PAGE + 8, 8), word(2 * PAGE + 40, 4) as u32, vec![b + 8]);
        assert_eq!(go((b + 8, b + 40), all), moved, "{options:?}");
    }
}

#[test]
fn a_page_that_has_gone_faults() {
    let func = function("1");
    for options in options() {
        let mut context = begin();
        let code = Executable::compile(&func, &options);
        let at = (STARTS[0] + 8, STARTS[0] + 8);
        assert_eq!(run(&func, &code, &mut context, at, 0xff00).3, 0, "{options:?}");
        PAGES.with_borrow_mut(|pages| {
            pages.places[0] = None;
            pages.generation.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(run(&func, &code, &mut context, at, 0xff00).3, FAULT, "{options:?}");
        assert_eq!((context.fault.lane, context.fault.address), (8, at.0), "{options:?}");
    }
}

#[test]
fn memory_that_does_not_say_when_it_changes_is_asked_each_time() {
    let func = function("1");
    for options in options() {
        let mut context = begin();
        context.generation = Context::new().generation;
        let code = Executable::compile(&func, &options);
        let a = STARTS[0];
        let (_, _, asked, exit) = run(&func, &code, &mut context, (a, a + 8), 1);
        assert_eq!((asked, exit), (vec![a, a + 8], 0), "{options:?}");
    }
}

#[test]
fn what_must_be_aligned_is_looked_at_each_time() {
    let func = function("8");
    for options in options() {
        let mut context = begin();
        let code = Executable::compile(&func, &options);
        let a = STARTS[0];
        assert_eq!(run(&func, &code, &mut context, (a, a), 0xf).3, 0, "{options:?}");
        assert_eq!(run(&func, &code, &mut context, (a + 4, a), 0xf).3, FAULT, "{options:?}");
        assert_eq!(context.fault.address, a + 4, "{options:?}");
    }
}
