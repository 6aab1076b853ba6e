//! Tests which lane a fault names if an access is bad in several lanes: the lowest one, whatever is wrong with its address. All
//! tiers, vector widths and chunk widths are compared with that rule in Rust.

use warpjit_frontend::gcn;
use warpjit_runtime::{
    Access, Arg, Config, Engine, Fault, FaultKind, HostLevel, Isa, Launch, Program, ProgramOptions, Tier,
};
use warpjit_tests::arrays::{program, random};

/// Where lanes find their addresses, of 8 bytes each, and whether they take part.
const TABLE: u64 = 0x10_0000;
const FLAGS: u64 = 0x11_0000;
/// A page that may be read and written, one that may only be read, and one between that is not there.
const WRITABLE: u64 = 0x20_0000;
const READABLE: u64 = 0x20_2000;
const MISSING: u64 = 0x20_1000;
const PAGE: u64 = 4096;
/// What is added to the places of these pages: nothing, or so much that they lie outside the window that compiled code reaches directly.
const ORIGINS: [u64; 3] = [0, 0xffff_8000_0000_0000, 0x7654_0000_0000];
/// Behind the address space.
const BEYOND: u64 = 1 << 45;

/// How lanes come to their addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Places {
    /// From the table.
    Anywhere,
    /// `base + lane << shift`, which code can tell.
    Even { base: u64, shift: u32 },
    /// All at one.
    One(u64),
}

/// What lanes do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Load,
    Store,
    Add,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    isa: Isa,
    /// Addresses of 64 bits.
    wide: bool,
    act: Act,
    bytes: u32,
    places: Places,
    origin: u64,
}

impl Case {
    fn lanes(self) -> u32 {
        if self.isa == Isa::Gcn { 64 } else { 32 }
    }

    /// What addresses must be a multiple of.
    fn align(self) -> u64 {
        match (self.isa, self.act) {
            (Isa::Gcn, Act::Load | Act::Store) => 1,
            _ => self.bytes.into(),
        }
    }

    fn program(self) -> Program {
        let (width, vector) = match self.bytes {
            1 => ("u8", "$r4"),
            2 => ("u16", "$r4"),
            4 => ("b32", "$r4"),
            8 => ("b64", "$r4d"),
            _ => ("b128", "$r4q"),
        };
        match self.isa {
            Isa::Tesla => {
                let place = match self.places {
                    Places::Anywhere => format!("add b32 $r1 $r1 {TABLE:#x}\nld b32 $r1 g14[$r1]\n"),
                    Places::Even { base, shift } => {
                        format!("shl b32 $r1 $r0 {shift:#x}\nadd b32 $r1 $r1 {:#x}\n", base as u32)
                    }
                    Places::One(at) => format!("mov b32 $r1 {:#x}\n", at as u32),
                };
                let access = match self.act {
                    Act::Load => format!("(lg $c0) ld {width} {vector} g14[$r1]"),
                    Act::Store => format!("(lg $c0) st {width} g14[$r1] {vector}"),
                    Act::Add => "(lg $c0) red add u32 g14[$r1] $r4".into(),
                };
                let text = format!(
                    "cvt u32 $r0 u16 $r0l\nshl b32 $r1 $r0 0x3\nadd b32 $r2 $r1 {FLAGS:#x}\nld b32 $r2 g14[$r2]\n\
                     {place}mov b32 $r3 0x1\nand b32 $c0 # $r2 $r3\n{access}\nexit nop\n"
                );
                program(&text, Isa::Tesla, None)
            }
            Isa::Fermi => {
                let pair = if self.wide { "$r8d" } else { "$r8" };
                let place = match self.places {
                    Places::Anywhere => {
                        format!("add b32 $r10 $r1 {TABLE:#x}\nmov b32 $r11 0x0\nld b64 $r8d ca g[$r10d]\n")
                    }
                    Places::Even { base, shift } => format!(
                        "mov b32 $r3 {:#x}\nmov b32 $r8 {:#x}\nmov b32 $r9 {:#x}\n\
                         add $r8 $c (mul u32 $r0 u32 $r3) $r8\nadd $r9 (mul high u32 $r0 u32 $r3) $r9 $c\n",
                        1u32 << shift,
                        base as u32,
                        (base >> 32) as u32
                    ),
                    Places::One(at) => {
                        format!("mov b32 $r8 {:#x}\nmov b32 $r9 {:#x}\n", at as u32, (at >> 32) as u32)
                    }
                };
                let access = match self.act {
                    Act::Load => format!("$p0 ld {width} {vector} ca g[{pair}]"),
                    Act::Store => format!("$p0 st {width} wb g[{pair}] {vector}"),
                    Act::Add => format!("$p0 red add u32 g[{pair}] $r4"),
                };
                let text = format!(
                    "mov b32 $r0 $tidx\nshl b32 $r1 $r0 0x3\nadd b32 $r10 $r1 {FLAGS:#x}\nmov b32 $r11 0x0\n\
                     ld b32 $r2 ca g[$r10d]\n{place}set $p0 0x1 ne s32 $r2 0x0\n{access}\nexit\n"
                );
                program(&text, Isa::Fermi, None)
            }
            _ => self.gcn(),
        }
    }

    fn gcn(self) -> Program {
        let place = match self.places {
            Places::Anywhere => {
                format!("v_add_u32 v2, {TABLE:#x}, v1\nv_mov_b32 v3, 0\nflat_load_dwordx2 v[8:9], v[2:3]\n")
            }
            Places::Even { base, shift } => format!(
                "v_lshlrev_b32 v8, {shift}, v0\nv_add_co_u32 v8, vcc, {:#x}, v8\nv_mov_b32 v9, {:#x}\n\
                 v_addc_co_u32 v9, vcc, 0, v9, vcc\n",
                base as u32,
                (base >> 32) as u32
            ),
            Places::One(at) => {
                format!("v_mov_b32 v8, {:#x}\nv_mov_b32 v9, {:#x}\n", at as u32, (at >> 32) as u32)
            }
        };
        let access = match (self.act, self.bytes) {
            (Act::Load, 1) => "flat_load_ubyte v4, v[8:9]",
            (Act::Load, 2) => "flat_load_ushort v4, v[8:9]",
            (Act::Load, 4) => "flat_load_dword v4, v[8:9]",
            (Act::Load, _) => "flat_load_dwordx2 v[4:5], v[8:9]",
            (Act::Store, 1) => "flat_store_byte v[8:9], v4",
            (Act::Store, 2) => "flat_store_short v[8:9], v4",
            (Act::Store, 4) => "flat_store_dword v[8:9], v4",
            (Act::Store, _) => "flat_store_dwordx2 v[8:9], v[4:5]",
            (Act::Add, 4) => "flat_atomic_add v[8:9], v4",
            (Act::Add, _) => "flat_atomic_add_x2 v[8:9], v[4:5]",
        };
        let text = format!(
            "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\nv_lshlrev_b32 v1, 3, v0\n\
             v_add_u32 v2, {FLAGS:#x}, v1\nv_mov_b32 v3, 0\nflat_load_dword v6, v[2:3]\n{place}\
             s_waitcnt vmcnt(0) & lgkmcnt(0)\nv_cmp_ne_u32 vcc, 0, v6\ns_and_saveexec_b64 s[2:3], vcc\n{access}\n\
             s_endpgm\n"
        );
        let code = gcn::assemble(&text, gcn::Generation::Gfx9).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
        let options = ProgramOptions::new(Isa::Gcn)
            .raw(true)
            .chip(Some("gfx900".parse().unwrap()))
            .registers(Some(12))
            .sgprs(Some(16));
        Program::load(&code, &options).unwrap()
    }

    /// The addresses of all lanes.
    fn addresses(self, bits: &[u32]) -> Vec<u64> {
        let own = |lane: u32| match self.places {
            Places::Even { base, shift } => base + (u64::from(lane) << shift),
            Places::One(at) => at,
            Places::Anywhere => {
                let word = bits[lane as usize];
                let inside = u64::from(word >> 8) % (PAGE / 16) * 16;
                let at = |page: u64| self.origin + page + inside;
                match word & 31 {
                    0 => at(MISSING),
                    1 => at(READABLE),
                    2 => at(WRITABLE) + 1 + u64::from(word >> 5 & 7) % 7,
                    3 => at(MISSING) + 1,
                    4 if self.wide => BEYOND + inside,
                    5 if self.wide => u64::MAX << 32 | inside,
                    _ => at(WRITABLE),
                }
            }
        };
        (0..self.lanes()).map(own).collect()
    }

    /// The lowest lane that takes part and is bad, and its address if that is not aligned, else its first byte that may not be accessed.
    fn wanted(self, addresses: &[u64], takes_part: impl Fn(usize) -> bool) -> Option<(u32, u64)> {
        let may = |byte: u64| {
            let page = (byte & !(PAGE - 1)).wrapping_sub(self.origin);
            page == WRITABLE || page == READABLE && self.act == Act::Load
        };
        let bad = |address: u64| {
            let misaligned = (!address.is_multiple_of(self.align())).then_some(address);
            misaligned.or_else(|| {
                (0..u64::from(self.bytes)).map(|n| address.wrapping_add(n)).find(|&byte| !may(byte))
            })
        };
        let lanes = (0..addresses.len()).filter(|&lane| takes_part(lane));
        lanes.into_iter().find_map(|lane| Some((lane as u32, bad(addresses[lane])?)))
    }
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for (isa, wide) in [(Isa::Tesla, false), (Isa::Fermi, false), (Isa::Fermi, true), (Isa::Gcn, true)] {
        for act in [Act::Load, Act::Store, Act::Add] {
            for bytes in [1u32, 2, 4, 8, 16] {
                if act == Act::Add && bytes != 4 || isa == Isa::Gcn && bytes == 16 {
                    continue;
                }
                let mut places = vec![Places::Anywhere];
                places.extend([MISSING, READABLE, WRITABLE + 1, MISSING - 1].map(Places::One));
                // Behind the begin of a page that is not there or only read, before its end, beside an address that is aligned.
                for shift in [bytes.trailing_zeros(), bytes.trailing_zeros() + 1, bytes.trailing_zeros() + 2]
                {
                    for before in [0, 17] {
                        for odd in [0, 1, 4] {
                            // Of GCN's words that lie on two pages compiled code may name another lane (docs/design.md).
                            if isa == Isa::Gcn && bytes == 8 && odd != 0 {
                                continue;
                            }
                            let base = |page: u64| page.wrapping_sub(before << shift) + odd;
                            places.extend(
                                [MISSING, READABLE].map(|page| Places::Even { base: base(page), shift }),
                            );
                        }
                    }
                }
                let case = |places, origin| Case { isa, wide, act, bytes, places, origin };
                list.extend(places.iter().map(|&places| case(places, 0)));
                for origin in ORIGINS.into_iter().filter(|&origin| wide && origin != 0) {
                    list.extend(places.iter().filter_map(|places| match *places {
                        Places::Anywhere => Some(case(Places::Anywhere, origin)),
                        Places::One(at) => Some(case(Places::One(at + origin), origin)),
                        // Not all over again.
                        Places::Even { shift, .. } if shift != bytes.trailing_zeros() => None,
                        Places::Even { base, shift } => {
                            Some(case(Places::Even { base: base.wrapping_add(origin), shift }, origin))
                        }
                    }));
                }
            }
        }
    }
    list
}

fn engines() -> Vec<(String, Engine)> {
    let jit = |host, chunk_groups, checked_memory| {
        Config::default().tier(Tier::Jit).host(host).chunk_groups(chunk_groups).checked_memory(checked_memory)
    };
    let configs = [
        Config::default().tier(Tier::Interp),
        jit(HostLevel::Native, None, false),
        jit(HostLevel::Native, Some(1), false),
        jit(HostLevel::Native, Some(4), false),
        jit(HostLevel::Native, Some(8), false),
        jit(HostLevel::Avx2, None, false),
        jit(HostLevel::Native, None, true),
    ];
    let engine = |config: Config| {
        let Config { tier, host, chunk_groups, checked_memory, .. } = config;
        let name = format!("{tier:?} {host:?} chunk {chunk_groups:?} checked {checked_memory}");
        (name, Engine::new(config.threads(1)).unwrap())
    };
    configs.into_iter().map(engine).collect()
}

fn run(engine: &Engine, program: &Program, case: Case, addresses: &[u64], flags: &[u64]) -> Option<Fault> {
    let memory = engine.memory().unwrap();
    for (at, words) in [(TABLE, addresses), (FLAGS, flags)] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.map(Some(at), bytes.len() as u64, Access::ReadWrite).unwrap();
        memory.write(at, &bytes).unwrap();
    }
    memory.map(Some(case.origin + WRITABLE), PAGE, Access::ReadWrite).unwrap();
    memory.map(Some(case.origin + READABLE), PAGE, Access::ReadOnly).unwrap();
    let launch = Launch::default().grid([1; 3]).block([case.lanes(), 1, 1]);
    let args = if case.isa == Isa::Gcn { Vec::new() } else { vec![Arg::u32(0)] };
    engine.run(program, &memory, &launch.args(args)).unwrap().fault
}

#[test]
fn the_lowest_bad_lane_of_an_access_is_named() {
    let engines = engines();
    let (mut faults, mut above) = (0, 0);
    for (number, case) in cases().into_iter().enumerate() {
        let program = case.program();
        // The interpreter always, of the others some by turns: compiling is most of the time.
        let by_turns = |n: usize| n == 0 || matches!(case.places, Places::Anywhere) || n % 4 == number % 4;
        let rounds = match case.places {
            Places::Anywhere if case.origin == 0 => 9,
            Places::Anywhere => 3,
            _ => 2,
        };
        for round in 0..rounds {
            let bits = random(2 * case.lanes() as usize, round + 1);
            let addresses = case.addresses(&bits);
            // All lanes, or most, or few.
            let most = [u32::MAX, u32::MAX / 4 * 3, u32::MAX / 8][round as usize % 3];
            let takes_part = |lane: usize| bits[case.lanes() as usize + lane] <= most;
            let flags: Vec<u64> = (0..addresses.len()).map(|lane| takes_part(lane).into()).collect();
            let wanted = case.wanted(&addresses, takes_part);
            faults += u32::from(wanted.is_some());
            above += u32::from(wanted.is_some_and(|(lane, _)| lane != 0));
            for (_, (kind, engine)) in engines.iter().enumerate().filter(|(n, _)| by_turns(*n)) {
                let fault = run(engine, &program, case, &addresses, &flags);
                let got = fault.as_ref().map(|fault| (fault.lane, fault.address.unwrap()));
                assert_eq!(got, wanted, "{case:?}, {kind}");
                assert!(fault.is_none_or(|fault| fault.kind == FaultKind::Memory));
            }
        }
    }
    assert!(faults > 250 && above > 120, "{faults} faults, {above} not of the first lane");
}
