//! The engines that tests compare with each other.

use std::collections::BTreeMap;

use warpjit_runtime::{Config, Engine, HostLevel, Tier};

/// An engine, with its name.
pub type Named = (String, Engine);

/// The interpreter, then compiled code: as it is by default, in all widths, with and without newer host instructions,
/// and with checked accesses.
pub fn interpreter_and_compiled() -> Vec<Named> {
    let mut configs = vec![("interp".to_owned(), Config::default().tier(Tier::Interp))];
    for groups in [1, 2, 4] {
        for host in [HostLevel::Native, HostLevel::Sse41] {
            if (groups, host) == (2, HostLevel::Sse41) {
                continue;
            }
            let config = Config::default().tier(Tier::Jit).chunk_groups(Some(groups)).host(host);
            configs.push((format!("jit {groups} {host:?}"), config));
        }
    }
    let jit = Config::default().tier(Tier::Jit);
    configs.push(("jit lane by lane".into(), jit.clone().chunk_groups(Some(0))));
    configs.push(("jit checked".into(), jit.clone().checked_memory(true)));
    // Regions joined to one function.
    let joined =
        |groups, after| jit.clone().host(HostLevel::Avx2).chunk_groups(groups).join_after(Some(after));
    configs.push(("jit joined".into(), joined(None, 1)));
    configs.push(("jit lane by lane, joined".into(), joined(Some(0), 2)));
    // With vectors of 512 bits, where the host has them.
    configs.push(("jit 8".into(), jit.clone().chunk_groups(Some(8))));
    // With vectors of 128 bits, as many as the compiler chooses.
    configs.push(("jit AVX2".into(), jit.clone().host(HostLevel::Avx2)));
    configs.push(("jit".into(), jit));
    configs.into_iter().filter_map(|(name, config)| named(name, config)).collect()
}

/// An engine with one thread, where this machine can have it.
pub fn named(name: impl Into<String>, config: Config) -> Option<Named> {
    Some((name.into(), Engine::new(config.threads(1)).ok()?))
}

/// Host instructions and groups of lanes that GCN's programs are compiled with.
pub const GCN_WAYS: [(HostLevel, Option<u8>); 5] = [
    (HostLevel::Native, None),
    (HostLevel::Avx2, None),
    (HostLevel::Sse41, Some(1)),
    (HostLevel::Native, Some(4)),
    (HostLevel::Native, Some(0)),
];

/// The first register that differs from `wanted`, with its lane. Registers whose names `looked_at` rejects are not compared.
pub fn differing_register(
    wanted: &BTreeMap<String, Vec<u64>>,
    got: &BTreeMap<String, Vec<u64>>,
    looked_at: impl Fn(&str) -> bool,
) -> Option<String> {
    wanted.iter().filter(|(name, _)| looked_at(name)).find_map(|(name, values)| {
        let other = &got[name];
        let lane = values.iter().zip(other).position(|(a, b)| a != b)?;
        Some(format!("{name}[{lane}]: {:x} and {:x}", values[lane], other[lane]))
    })
}
