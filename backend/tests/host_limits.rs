//! Tests what code demands of its host: no more stack than the limit, and only instructions of CPU features that the cache key
//! names.

use std::fmt::Write;

use warpjit_backend::{Error, HostLevel, MOST_STACK_BYTES, Options, Target, compile_region};
use warpjit_ir::text::parse_function;

/// A function that has so many registers of 64 lanes in hand at a time: it puts the last into the place of the first, and so on.
fn reverses(registers: usize) -> warpjit_ir::Function {
    let mut text = String::from("function @reverses mask lanes 64 {\n");
    for n in 0..registers {
        writeln!(text, "    slot s{n}: i32 r{n}").expect("text");
    }
    text += "\nblock0 at 0x0:\n";
    for n in 0..registers {
        writeln!(text, "    v{n}: i32 = slot.get s{n}").expect("text");
    }
    for n in 0..registers {
        writeln!(text, "    slot.set s{n}, v{}", registers - 1 - n).expect("text");
    }
    text += "    return 0\n}\n";
    parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Options of a chunk of 64 lanes, for both generators and two hosts.
fn of_whole_warps() -> Vec<Options> {
    let mut list = Vec::new();
    for (triple, level) in
        [("x86_64-unknown-linux-gnu", HostLevel::Sse41), ("aarch64-unknown-linux-gnu", HostLevel::Native)]
    {
        let mut options = Options::new(Target::triple(triple, level).expect("a host"));
        options.chunk_groups = 16;
        list.push(options);
    }
    let target = Target::host(HostLevel::Native).expect("a host");
    if target.has_wide_vectors() {
        let mut options = Options::new(target);
        (options.chunk_groups, options.wide_vectors) = (16, true);
        list.push(options);
    }
    list
}

#[test]
fn frames_are_limited() {
    // 256 bytes each, in vectors of any width; what registers hold need not be on the stack.
    let func = reverses(100);
    for options in of_whole_warps() {
        assert_eq!(options.most_stack_bytes, MOST_STACK_BYTES);
        let with = |most_stack_bytes| compile_region(&func, &Options { most_stack_bytes, ..options.clone() });
        let code = with(256 * 100 + 2048).expect("all of them, and what the frame has besides");
        assert!(!code.code.is_empty());
        match with(256 * (100 - 8)) {
            Err(Error::Codegen(reason)) => {
                let bytes: u32 =
                    reason.split(' ').next().and_then(|first| first.parse().ok()).expect("a number");
                assert!(bytes > 256 * (100 - 8) && reason.contains("bytes of stack"), "{reason}");
            }
            other => panic!("{:?}", other.map(|code| code.code.len())),
        }
    }
}

/// Some of everything: words, double words, floats, counts of bits, tests, lanes of their own, memory.
const EVERYTHING: &str = "
function @everything mask lanes 64 {
    slot s0: i32 a
    slot s1: i32 b
    slot s2: i64 c
    slot s3: f32 x
    slot s4: f64 y
    slot s5: mask m

block0 at 0x40:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i64 = slot.get s2
    v3: f32 = slot.get s3
    v4: f64 = slot.get s4
    v5: i32 = load.u32 global0[v0] align 4
    v6: i32 = load.u8 global0[v1] align 1
    v7: i64 = load.u64 global0[v2] align 8
    v8: i32 = popcnt v5
    v9: i32 = clz v6
    v10: i32 = imul v8, v9
    v11: i64 = imul v7, v2
    v12: i64 = popcnt v11
    v13: i32 = rotl v10, v5
    v14: i32 = umin v13, v6
    v15: f32 = fmul v3, v3
    v16: f32 = fma v15, v3, v3
    v17: f64 = fadd v4, v4
    v18: f32 = fsqrt v16
    v19: mask = icmp ult v14, v5
    v20: i32 = select v19, v14, v13
    v21: i64 = zext v20
    v22: i64 = iadd v21, v12
    store.u32 global0[v0], v20 align 4 if v19
    store.u64 global0[v22], v11 align 1
    slot.set s0, v20
    slot.set s2, v22
    slot.set s3, v18
    slot.set s4, v17
    slot.set s5, v19
    return 0
}
";

/// Features of x86-64 by the names of the encoder that the key of each generator names, and what goes without saying.
const BASELINE: [&str; 8] = ["INTEL8086", "INTEL186", "INTEL386", "INTEL486", "X64", "SSE", "SSE2", "CMOV"];
const WIDE: [&str; 14] = [
    "AVX",
    "AVX2",
    "AVX512F",
    "AVX512VL",
    "AVX512DQ",
    "AVX512BW",
    "AVX512CD",
    "AVX512_VPOPCNTDQ",
    "AVX512_VBMI",
    "AVX512_VNNI",
    "BMI1",
    "BMI2",
    "LZCNT",
    "POPCNT",
];

#[test]
fn code_uses_no_feature_that_its_key_does_not_name() {
    use iced_x86::{Decoder, DecoderOptions, Instruction};
    let func = parse_function(EVERYTHING, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut seen = std::collections::BTreeSet::new();
    let target = Target::host(HostLevel::Native).expect("a host");
    let wide = target.has_wide_vectors();
    for groups in [4, 8, 16].into_iter().filter(|_| wide) {
        let options = Options { chunk_groups: groups, wide_vectors: true, ..Options::new(target.clone()) };
        let code = compile_region(&func, &options).expect("compiles");
        // Constants stand behind the code: up to the last return.
        let end = code.code.iter().rposition(|&byte| byte == 0xc3).map_or(0, |at| at + 1);
        let mut decoder = Decoder::new(64, &code.code[..end], DecoderOptions::NONE);
        let mut inst = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut inst);
            for feature in inst.cpuid_features() {
                seen.insert(format!("{feature:?}"));
            }
        }
    }
    let named = |feature: &String| BASELINE.contains(&feature.as_str()) || WIDE.contains(&feature.as_str());
    let foreign: Vec<&String> = seen.iter().filter(|feature| !named(feature)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    if wide {
        // These are none of Cranelift's flags.
        for feature in ["AVX512_VPOPCNTDQ", "AVX512CD", "AVX512BW"] {
            assert!(seen.contains(feature), "{feature}: {seen:?}");
        }
    }
}
