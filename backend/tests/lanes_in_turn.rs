//! Tests accesses of lanes on a line that leave the window: to pages that the runtime finds, each somewhere else, that cross from one page
//! to the next, or of which one is not there. Each lane's access is done here, the lowest lane first, and must be as in compiled code.

mod common;

use std::cell::RefCell;

use common::{Executable, Random, all_options, context, frame, read, write};
use warpjit_backend::{Context, FAULT, LaneTranslation, Options, Shape, Translator};
use warpjit_ir::Function;
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

const LANES: usize = 64;
const PAGE: u64 = 4096;
/// Guest address of the first page.
const START: u64 = 0x2345_6789_a000;
/// Places of pages in host memory, in another order; a page that is not there.
const PLACES: [Option<u64>; 6] = [Some(3), Some(0), Some(5), None, Some(1), Some(2)];

/// The place of a byte.
fn place(address: u64) -> Option<usize> {
    let page = address.checked_sub(START)? / PAGE;
    let at = (*PLACES.get(page as usize)?)?;
    Some((at * PAGE + address % PAGE) as usize)
}

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Find;

impl Translator for Find {
    fn find(&mut self, access: &LaneTranslation) -> Option<Option<*mut u8>> {
        let last = access.address + u64::from(access.bytes) - 1;
        let (from, _) = (place(access.address)?, place(last)?);
        // What crosses a page is in no one place.
        let whole = access.address / PAGE == last / PAGE;
        Some(whole.then(|| BYTES.with_borrow_mut(|bytes| bytes.as_mut_ptr().wrapping_add(from))))
    }

    fn answer(&mut self, access: &LaneTranslation) -> bool {
        if let Some(value) = access.value {
            self.store(access.address, access.bytes, value);
            return true;
        }
        let value = load(access.address, access.bytes).expect("found before");
        // SAFETY: the buffer has eight bytes.
        unsafe { access.bounce.cast::<u64>().write(value) };
        true
    }

    fn store(&mut self, address: u64, bytes: u8, value: u64) {
        store(address, bytes, value).expect("found before");
    }
}

fn load(address: u64, bytes: u8) -> Option<u64> {
    BYTES.with_borrow(|all| {
        (0..u64::from(bytes))
            .try_fold(0, |word, n| Some(word | u64::from(all[place(address + n)?]) << (8 * n)))
    })
}

fn store(address: u64, bytes: u8, value: u64) -> Option<()> {
    BYTES.with_borrow_mut(|all| {
        let places: Option<Vec<usize>> = (0..u64::from(bytes)).map(|n| place(address + n)).collect();
        for (n, at) in places?.into_iter().enumerate() {
            all[at] = (value >> (8 * n)) as u8;
        }
        Some(())
    })
}

unsafe extern "C" fn translate(context: *mut Context) {
    // SAFETY: code passes its context.
    unsafe { (*context).each_translation(&mut Find) }
}

#[derive(Debug)]
struct Line {
    bytes: u8,
    stores: bool,
    stride: i32,
    signed: bool,
    minus: bool,
    /// Highest bits of an address that the device ignores.
    ignores: bool,
    guarded: bool,
    /// What clips the words by a bound: `smin`, `smax`, `umin`, `umax`, or nothing.
    clip: &'static str,
}

impl Line {
    /// A lane's word, given what it is on the line.
    fn clipped(&self, word: u32, bound: u32) -> u32 {
        match self.clip {
            "smin" => (word as i32).min(bound as i32) as u32,
            "smax" => (word as i32).max(bound as i32) as u32,
            "umin" => word.min(bound),
            "umax" => word.max(bound),
            _ => word,
        }
    }

    fn func(&self) -> Function {
        let (wide, bits) = (if self.bytes == 8 { "i64" } else { "i32" }, 8 * u32::from(self.bytes));
        let guard = if self.guarded { " if v4" } else { "" };
        let (translation, access) = match self.stores {
            true => ("translate_store", format!("store.u{bits} global0[v11], v3 align 1{guard}")),
            false => ("translate_load", format!("v12: {wide} = load.u{bits} global0[v11] align 1{guard}")),
        };
        let value = if self.stores { ", v3" } else { "" };
        let loaded = if self.stores { "" } else { "slot.set s2, v12" };
        let address = if self.ignores { "v10" } else { "v7" };
        let (word, clip) = match self.clip {
            "" => ("v0", String::new()),
            op => ("v14", format!("v13: ui32 = slot.get s4\n v14: i32 = {op} v0, v13")),
        };
        let text = format!(
            "function @line mask lanes {LANES} {{
                slot s0: i32 word
                slot s1: ui64 base
                slot s2: {wide} value
                slot s3: mask guard
                slot s4: ui32 bound
            block0 at 0x10:
                v0: i32 = slot.get s0
                v1: ui64 = slot.get s1
                v3: {wide} = slot.get s2
                v4: mask = slot.get s3
                {clip}
                v5: i64 = {} {word}
                v7: i64 = {} v1, v5
                v8: ui64 = const 0x8
                v9: i64 = ishl v7, v8
                v10: i64 = sshr v9, v8
                v11: i64 = {translation}.u{bits} global0[{address} + 0x20]{value} align 1{guard}
                {access}
                {loaded}
                return 0
            }}",
            if self.signed { "sext" } else { "zext" },
            if self.minus { "isub" } else { "iadd" },
        );
        let func = parse_function(&text, &[]).unwrap_or_else(|e| panic!("{self:?}: {e}\n{text}"));
        verify(&func).unwrap_or_else(|e| panic!("{self:?}: {e}\n{text}"));
        func
    }

    fn address(&self, base: u64, word: u32) -> u64 {
        let far = if self.signed { word as i32 as i64 as u64 } else { word.into() };
        let address = if self.minus { base.wrapping_sub(far) } else { base.wrapping_add(far) };
        let seen = if self.ignores { ((address << 8) as i64 >> 8) as u64 } else { address };
        seen.wrapping_add(0x20)
    }
}

fn options() -> Vec<Options> {
    let mut list = all_options();
    let widest: Vec<Options> = list
        .iter()
        .filter(|options| options.chunk_groups == 8)
        .map(|options| Options { chunk_groups: 16, ..options.clone() })
        .collect();
    list.extend(widest);
    list
}

#[test]
fn lanes_elsewhere_are_as_one_after_the_other() {
    let all = options();
    let mut random = Random(0x7072);
    let (mut faults, mut crossings) = (0, 0);
    for round in 0..1400 {
        let mut any = |list: &[i32]| list[random.below(list.len())];
        let bytes = any(&[1, 2, 4, 4, 8]);
        let line = Line {
            bytes: bytes as u8,
            stores: any(&[0, 1]) == 1,
            stride: any(&[bytes, bytes, bytes, -bytes, 2 * bytes, 3, -5, 60]),
            signed: any(&[0, 1]) == 1,
            minus: any(&[0, 0, 1]) == 1,
            ignores: any(&[0, 1]) == 1,
            guarded: any(&[0, 1]) == 1,
            clip: ["", "", "smin", "smax", "umin", "umax"][any(&[0, 1, 2, 3, 4, 5]) as usize],
        };
        let func = line.func();
        let mut options = all[round % all.len()].clone();
        options.translated = true;
        options.slot_shapes = vec![None; 5];
        options.apart = vec![None; 5];
        options.slot_shapes[0] = Some(Shape::Affine(line.stride));
        options.apart[0] = Some(16 * line.stride);
        let code = Executable::compile(&func, &options);
        for _ in 0..4 {
            BYTES.with_borrow_mut(|all| *all = (0..6 * PAGE).map(|_| random.next() as u8).collect());
            let back = (line.stride as u32).wrapping_mul(random.below(LANES) as u32);
            let first = [random.next() as u32, 0u32.wrapping_sub(back), 0x8000_0000u32.wrapping_sub(back), 0]
                [random.below(4)];
            let on_line = |lane: usize| first.wrapping_add((line.stride as u32).wrapping_mul(lane as u32));
            // Near where some lane is, or where the first or the last one is.
            let near = on_line([0, LANES - 1, random.below(LANES)][random.below(3)]);
            let bound = near.wrapping_add(random.below(3) as u32).wrapping_sub(1);
            let word = |lane: usize| line.clipped(on_line(lane), bound);
            // Some lane is near a page's start.
            let lane = random.below(LANES);
            let page = [1, 1, 2, 3, 4, 5, 6][random.below(7)];
            let near = START + page * PAGE + random.below(24) as u64 - 12;
            let mut base = near.wrapping_sub(line.address(0, word(lane)));
            if line.ignores {
                base ^= random.next() << 56;
            }
            let active = [u64::MAX, u64::MAX << 1, random.next()][random.below(3)];
            let guard = if line.guarded { random.next() | random.next() } else { u64::MAX };
            let mut words = frame(&func);
            let values: Vec<u64> = (0..LANES).map(|_| random.next()).collect();
            for (lane, &value) in values.iter().enumerate() {
                write(&func, &mut words, 0, lane, on_line(lane).into());
                write(&func, &mut words, 2, lane, value);
                write(&func, &mut words, 3, lane, guard >> lane & 1);
            }
            write(&func, &mut words, 1, 0, base);
            write(&func, &mut words, 4, 0, bound.into());
            let mut context = context();
            context.active = active;
            context.translate = translate;
            context.global_base = BYTES.with_borrow_mut(|bytes| bytes.as_mut_ptr());
            context.global_high = 0;
            let before = BYTES.with_borrow(Vec::clone);
            let exit = code.run(&mut context, &mut words);
            let got = BYTES.with_borrow_mut(|bytes| std::mem::replace(bytes, before));
            let say = || {
                format!(
                    "{first:x} {bound:x} {base:x} active {active:x} guard {guard:x} {line:?} {options:?}\n{func}"
                )
            };
            let mut fault = None;
            for lane in (0..LANES).filter(|lane| (active & guard) >> lane & 1 != 0) {
                let address = line.address(base, word(lane));
                crossings += u32::from(address / PAGE != (address + u64::from(line.bytes) - 1) / PAGE);
                let done = match line.stores {
                    true => store(address, line.bytes, values[lane]),
                    false => load(address, line.bytes).map(|value| {
                        // What a chunk loads that is left by a fault is not stored.
                        if exit == 0 {
                            assert_eq!(read(&func, &words, 2, lane), value, "lane {lane}: {}", say());
                        }
                    }),
                };
                if done.is_none() {
                    fault = Some((lane as u32, address));
                    break;
                }
            }
            faults += u32::from(fault.is_some());
            match fault {
                None => assert_eq!(exit, 0, "{}", say()),
                Some(fault) => {
                    assert_eq!(exit, FAULT, "{}", say());
                    assert_eq!((context.fault.lane, context.fault.address), fault, "{}", say());
                    assert_eq!((context.fault.pc, context.fault.is_store()), (0x10, line.stores));
                }
            }
            assert!(BYTES.with_borrow(|want| *want == got), "memory: {}", say());
        }
    }
    assert!(faults > 250 && crossings > 250, "{faults} {crossings}");
}
