//! Tests loads of shared memory that has no more than a few bytes: a vector of words would reach beyond its end.

use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

use super::common::{Random, all_options, frame, read, write};
use super::{Memory, compiled};

#[test]
fn each_byte_of_a_small_shared_memory_is_read() {
    for (kind, bytes, signed) in
        [("u8", 1, false), ("s8", 1, true), ("u16", 2, false), ("s16", 2, true), ("u32", 4, false)]
    {
        for far in ["", " far"] {
            let text = format!(
                "function @small mask lanes 32 {{
    slot s0: i32 place
    slot s1: i32 result

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = load.{kind} shared[v0] align 1{far}
    slot.set s1, v1
    return 0
}}
"
            );
            let func = parse_function(&text, &[]).unwrap_or_else(|e| panic!("{e}: {text}"));
            verify(&func).expect("valid");
            for options in all_options() {
                for size in 0..=9 {
                    let mut random = Random(u64::from(size) + 1);
                    let memory = Memory { shared_bytes: size, ..Memory::new(&mut random, 32, 3) };
                    let mut words = frame(&func);
                    let places: [usize; 32] = std::array::from_fn(|_| random.below(12));
                    for (lane, place) in places.into_iter().enumerate() {
                        write(&func, &mut words, 0, lane, place as u64);
                    }
                    let got = compiled(&func, &options, &words, &memory, u32::MAX.into());
                    for (lane, place) in places.into_iter().enumerate() {
                        let mut want = [0; 4];
                        if place + bytes <= size as usize {
                            want[..bytes].copy_from_slice(&memory.shared[place..place + bytes]);
                            let is_negative = signed && want[bytes - 1] & 0x80 != 0;
                            want[bytes..].fill(if is_negative { 0xff } else { 0 });
                        }
                        let want = u64::from(u32::from_le_bytes(want));
                        let got = read(&func, &got.frame, 1, lane);
                        assert_eq!(got, want, "{kind}{far} at {place} of {size} bytes, {options:?}");
                    }
                }
            }
        }
    }
}
