//! Compiled samplers against the general engine.

use super::*;

#[path = "../../../frontend/src/sampling/tests/cases.rs"]
#[allow(dead_code, reason = "the front end's tests use the rest")]
mod cases;

/// What the cases take from the front end.
mod api {
    pub use warpjit_frontend::sampling::{Action, Generated, Input, Level, Request, Results};
}

use cases::{Case, Random, WORDS};

#[test]
fn code_does_as_the_engine() {
    let rounds = std::env::var("WARPJIT_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let seed = std::env::var("WARPJIT_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut made, mut of_eight) = (0, 0);
    for round in 0..rounds {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (round + seed * 1_000_003));
        let lanes = if round % 3 == 0 { 64 } else { 32 };
        let Some(mut case) = Case::random(&mut random, lanes) else { continue };
        made += 1;
        let level = [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41][round as usize % 3];
        // From 8 on, and where the number is left open, vectors of 512 bits if there are such.
        let wide = level == HostLevel::Native && backend::host_has_wide_vectors();
        let some = [None, Some(1), None, Some(2), None, Some(if wide { 8 } else { 4 }), None, Some(4)];
        let groups = some[round as usize / 3 % some.len()];
        if level == HostLevel::Avx2 && groups.is_none() {
            of_eight += u64::from(has_eight_lanes(case.generated.key()));
        }
        let sampler = match Sampler::new(case.generated.key(), level, groups) {
            Some(sampler) => sampler,
            // More than is used, and sometimes more than the stack has room for.
            None if groups == Some(4) => continue,
            None => panic!("round {round}: no code for {:?}", case.generated),
        };
        let active = random.next() | 1;
        let active =
            if random.below(2) == 0 { u64::MAX >> (64 - lanes) } else { active & u64::MAX >> (64 - lanes) };
        let count = usize::from(lanes);
        let mut mailbox = vec![0; WORDS * count];
        for (lane, words) in case.mailboxes.iter().enumerate() {
            words.iter().enumerate().for_each(|(n, &word)| mailbox[n * count + lane] = word);
        }
        let image = case.image.bytes.clone();
        let mut bound = BoundSampler::new(Arc::new(sampler), &case.generated, &image).unwrap();
        bound.run(&mut mailbox, active);
        for lane in 0..count {
            let expected = if active >> lane & 1 != 0 { case.expected(lane) } else { case.mailboxes[lane] };
            let found: [u32; WORDS] = std::array::from_fn(|n| mailbox[n * count + lane]);
            case.compare(round, lane, found, expected);
        }
    }
    assert!(made > rounds / 2, "{made} of {rounds}");
    // Where the host has no such vectors there is none.
    let has = Target::host(HostLevel::Avx2).unwrap().has_middle_vectors();
    assert!(!has || of_eight > rounds / 20, "{of_eight} of {rounds} in vectors of eight lanes");
}

/// Whether the generator of vectors of 256 bits takes the code of a key.
fn has_eight_lanes(key: &StateKey) -> bool {
    let target = Target::host(HostLevel::Avx2).unwrap();
    let mut func = generate(key, target.has_fma()).unwrap();
    pipeline(&mut func, &[fold::run, gvn::run, dce::run]);
    let options = Options { eight_lanes: true, open_loads: true, ..Options::new(target) };
    backend::compile_region(&func, &options).is_ok()
}
