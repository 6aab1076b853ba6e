//! Tests slots of which consecutive 16-lane vectors differ by a known constant: addresses and values computed from them.

use warpjit_backend::Shape;
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

use super::common::{Random, all_options, frame, read, write};
use super::{Memory, compiled, interpreted, seeds};

/// Slots with a shape.
const EVEN: usize = 4;
/// Slots for results.
const RESULTS: usize = 6;

/// Words of slots with shapes, added, shifted and masked, as addresses and as results.
fn random_addresses(random: &mut Random) -> String {
    let mut text = "function @sixteens mask lanes 32 {\n".to_owned();
    for slot in 0..EVEN + RESULTS {
        text += &format!("    slot s{slot}: i32 r{slot}\n");
    }
    text += "\nblock0 at 0x0:\n";
    let mut count = 0;
    let mut push = |line: String| {
        text += &format!("    v{count}: i32 = {line}\n");
        count += 1;
        count - 1
    };
    let mut words: Vec<usize> = (0..EVEN).map(|slot| push(format!("slot.get s{slot}"))).collect();
    for n in 0..24 {
        // The last ones rather, and those with a shape.
        let mut any = || words[words.len() - 1 - random.below(words.len().min(EVEN + n % 7))];
        let (a, b) = (any(), any());
        let constant = [1, 2, 4, 8, 16, 64, 3, 0xffff, 0x3ff, 0xffff_0000, 0xfc, u32::MAX][random.below(12)];
        let line = match random.below(10) {
            0 | 1 => format!("iadd v{a}, v{b}"),
            2 => format!("isub v{a}, v{b}"),
            3 => format!("ineg v{a}"),
            4 => {
                let c = push(format!("const {constant:#x}"));
                format!("imul v{a}, v{c}")
            }
            5 => {
                let c = push(format!("const {:#x}", random.below(7)));
                format!("ishl v{a}, v{c}")
            }
            6 => {
                let c = push(format!("const {:#x}", [16, 17, 20, 4][random.below(4)]));
                format!("ushr v{a}, v{c}")
            }
            7 | 8 => {
                let c = push(format!("const {constant:#x}"));
                let (a, c) = if random.below(2) == 0 { (a, c) } else { (c, a) };
                format!("iand v{a}, v{c}")
            }
            // Mostly outside of shared memory, which gives 0.
            _ => {
                let space = ["shared", "const2", "shared"][random.below(3)];
                let far = if space == "shared" { ["", " far"][random.below(2)] } else { "" };
                let kind = ["u32", "u8", "s16", "u32"][random.below(4)];
                let low = push("const 0x1fc".to_owned());
                let near = match random.below(3) {
                    0 => a,
                    _ => push(format!("iand v{a}, v{low}")),
                };
                format!("load.{kind} {space}[v{near} + {:#x}] align 1{far}", 4 * random.below(9))
            }
        };
        words.push(push(line));
    }
    for slot in 0..RESULTS {
        let word = words[words.len() - 1 - random.below(10)];
        text += &format!("    slot.set s{}, v{word}\n", EVEN + slot);
    }
    let (place, word) = (words[random.below(words.len())], words[words.len() - 1]);
    text += &format!("    store.u32 shared[v{place}] align 1, v{word}\n    return 0\n}}\n");
    text.replace(&format!("] align 1, v{word}"), &format!("], v{word} align 1"))
}

#[test]
fn sixteens_a_known_distance_apart_are_as_if_nobody_knew() {
    let wide: Vec<_> = all_options().into_iter().filter(|o| o.wide_vectors && o.chunk_groups > 4).collect();
    if wide.is_empty() {
        return;
    }
    for seed in seeds(1500) {
        let mut random = Random(seed);
        let text = random_addresses(&mut random);
        let func = parse_function(&text, &[]).unwrap_or_else(|e| panic!("{e}: {text}"));
        verify(&func).expect("valid");
        let mut options = wide[seed as usize % wide.len()].clone();
        let step = [4, 1, 16, -4][random.below(4)];
        options.slot_shapes = vec![
            Some(Shape::Affine(step)),
            Some(Shape::Uniform),
            Some(Shape::Packed([1, 4][random.below(2)])),
            Some(Shape::Uniform),
        ];
        let far = [0, 16, 64, 4, -64, 1 << 20, i32::MIN + 5, 0x1_0000];
        let mut apart = [0; EVEN];
        apart.iter_mut().for_each(|apart| *apart = far[random.below(far.len())]);
        apart[2] = [0, 0x1_0000, 0x30_0000, 0x7000_0000][random.below(4)];
        options.apart = apart.map(Some).to_vec();
        let known = random.below(EVEN + 2);
        if known < EVEN {
            options.apart[known] = None;
        }
        for _ in 0..3 {
            let memory = Memory::new(&mut random, 32, 3);
            let mut words = frame(&func);
            words.iter_mut().for_each(|word| *word = random.next() as u32);
            for (slot, apart) in apart.iter().enumerate() {
                let first = match slot {
                    // Neither half may carry.
                    2 => random.next() as u32 & 0x0fff_0f00,
                    _ => random.next() as u32 & [0xfc, 0x3ff, u32::MAX][random.below(3)],
                };
                let steps = match options.slot_shapes[slot] {
                    Some(Shape::Affine(step) | Shape::Packed(step)) => step,
                    _ => 0,
                };
                for lane in 0..32 {
                    let within = steps.wrapping_mul(lane % 16);
                    let further = apart.wrapping_mul(lane / 16);
                    let word = first.wrapping_add(within as u32).wrapping_add(further as u32);
                    write(&func, &mut words, slot, lane as usize, word.into());
                }
            }
            let active = if random.below(3) == 0 { random.next() & 0xffff_ffff } else { 0xffff_ffff };
            let got = compiled(&func, &options, &words, &memory, active);
            let want = interpreted(&func, &options, &words, &memory, active);
            let say = || format!("seed {seed}, apart {:?}, active {active:x}\n{text}", options.apart);
            assert_eq!(got.result, want.result, "{}", say());
            for (slot, lane) in (EVEN..EVEN + RESULTS).flat_map(|slot| (0..32).map(move |lane| (slot, lane)))
            {
                let (a, b) = (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                assert_eq!(a, b, "slot {slot}, lane {lane}, {}", say());
            }
            assert!(got.memory == want.memory, "memory, {}", say());
        }
    }
}
