//! Tests VP1: random bundles in both tiers against a direct model, machines that stop and continue, and bad input.

use warpjit_frontend::Isa;
use warpjit_frontend::vp1::{Chip, assemble, listing};
use warpjit_runtime::vp1::{Machine, Nobody, Outside, Stop, Transfer};
use warpjit_runtime::{
    Budget, CancelToken, Config, Engine, Error, FaultKind, Launch, Program, ProgramOptions, Tier,
};
use warpjit_tests::random::rng::Random;
use warpjit_tests::vp1::random::{random_program, random_state};
use warpjit_tests::vp1::{State, Step};

fn config(tier: Tier) -> Config {
    Config::default().tier(tier).threads(1)
}

const TIERS: [Tier; 3] = [Tier::Interp, Tier::Jit, Tier::Auto];

fn machine(code: &[u32], chip: Chip, tier: Tier) -> Machine {
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    Machine::new(&bytes, chip, &config(tier)).unwrap()
}

fn assembled(source: &str) -> Vec<u32> {
    let code = assemble(source, Chip::G80).unwrap_or_else(|errors| panic!("{errors}")).code;
    code.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// Gives a machine the state of the model.
fn load(machine: &mut Machine, state: &State) {
    for (name, values) in state.registers() {
        machine.set_register(&name, &values).unwrap();
    }
    machine.data_store_mut().copy_from_slice(&state.ds);
}

/// What differs between a machine and the model.
fn difference(machine: &Machine, state: &State) -> Option<String> {
    assert_eq!(machine.not_compiled(), None);
    let registers = machine.registers();
    let check = |name: String, wanted: Vec<u64>| {
        let got = &registers[&name];
        (*got != wanted).then(|| format!("{name}: {got:x?}, not {wanted:x?}"))
    };
    let found = state.registers().into_iter().find_map(|(name, wanted)| check(name, wanted));
    found.or_else(|| {
        let at = machine.data_store().iter().zip(&state.ds).position(|(got, wanted)| got != wanted)?;
        Some(format!("ds byte {at:#x}: {:#x}, not {:#x}", machine.data_store()[at], state.ds[at]))
    })
}

/// The first bundle after which a machine and the model differ, for messages.
fn first_difference(code: &[u32], chip: Chip, tier: Tier, start: &State) -> String {
    let mut machine = machine(code, chip, tier);
    let mut model = start.clone();
    load(&mut machine, &model);
    for _ in 0..10_000 {
        let pc = model.pc as usize;
        let end = model.step(code, chip);
        let stop = machine.run(Some(1), &mut Nobody).unwrap();
        if let Some(found) = difference(&machine, &model) {
            let bytes: Vec<u8> = code[pc..].iter().take(4).flat_map(|word| word.to_le_bytes()).collect();
            let text = listing(&bytes, pc as u32, chip);
            return format!("{found} after {end:?} at {pc:#x}, {stop:?} to {:#x}\n{text}", machine.pc());
        }
        if end != Step::Next || stop != Stop::Limit {
            break;
        }
    }
    "nothing differs bundle by bundle".into()
}

/// How many programs: `WARPJIT_RANDOM` of them, or a few.
fn programs(few: u64) -> u64 {
    std::env::var("WARPJIT_RANDOM").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Straight and forward code, run to its exit at once.
#[test]
fn random_programs_to_their_exit() {
    for seed in 0..programs(60) {
        let mut random = Random::new(seed);
        let chip = random.pick(&[Chip::Nv41, Chip::G80]);
        let groups = 2 + random.below(12);
        let code = random_program(&mut random, groups, false);
        let start = random_state(&mut random, chip);
        let mut model = start.clone();
        let end = loop {
            match model.step(&code, chip) {
                Step::Next => {}
                end => break end,
            }
        };
        let Step::Exit(word) = end else { panic!("seed {seed}: {end:?}") };
        for tier in [Tier::Interp, Tier::Jit] {
            let mut machine = machine(&code, chip, tier);
            load(&mut machine, &start);
            let stop = machine.run(None, &mut Nobody).unwrap();
            assert_eq!(stop, Stop::Exit { code: word as u16, interrupt: false }, "seed {seed}, {tier:?}");
            if let Some(found) = difference(&machine, &model) {
                panic!("seed {seed}, {tier:?}: {found}: {}", first_difference(&code, chip, tier, &start));
            }
        }
    }
}

/// Branches to everywhere, returns among them, a few bundles at a time.
#[test]
fn random_programs_step_by_step() {
    for seed in 0..programs(30) {
        let mut random = Random::new(1000 + seed);
        let chip = random.pick(&[Chip::Nv44, Chip::G80]);
        let groups = 2 + random.below(6);
        let code = random_program(&mut random, groups, true);
        let mut model = random_state(&mut random, chip);
        model.uc0 = random.below(4 * groups);
        let start = model.clone();
        let mut machines = [Tier::Interp, Tier::Jit].map(|tier| machine(&code, chip, tier));
        machines.iter_mut().for_each(|machine| load(machine, &model));
        for turn in 0..25 {
            let bundles = 1 + random.below(6);
            let mut end = Step::Next;
            for _ in 0..bundles {
                end = model.step(&code, chip);
                if end != Step::Next {
                    break;
                }
            }
            for (machine, tier) in machines.iter_mut().zip(TIERS) {
                let stop = machine.run(Some(bundles.into()), &mut Nobody).unwrap();
                let wanted = match end {
                    Step::Next => Stop::Limit,
                    Step::Illegal => Stop::Illegal,
                    Step::Exit(word) => Stop::Exit { code: word as u16, interrupt: word >> 16 != 0 },
                };
                assert_eq!(stop, wanted, "seed {seed}, turn {turn}, {tier:?}");
                if let Some(found) = difference(machine, &model) {
                    let first = first_difference(&code, chip, tier, &start);
                    panic!("seed {seed}, turn {turn}, {tier:?}: {found}: {first}");
                }
                assert_eq!(machine.pc(), model.pc, "seed {seed}, turn {turn}, {tier:?}");
            }
            if end != Step::Next {
                break;
            }
        }
    }
}

#[test]
fn what_is_outside_is_asked_for() {
    #[derive(Default)]
    struct Host(Vec<String>);
    impl Outside for Host {
        fn read(&mut self, file: u32, index: u32) -> Option<u32> {
            self.0.push(format!("read {file} {index}"));
            (index != 7).then_some(0x100 + index)
        }
        fn write(&mut self, file: u32, index: u32, value: u32) {
            self.0.push(format!("write {file} {index} {value:#x}"));
        }
        fn transfer(&mut self, transfer: Transfer<'_>) {
            self.0.push(format!("transfer {:08x} {:#x}", transfer.word, transfer.a[2]));
            transfer.data_store[0x10] = 0x5a;
        }
    }
    let code = assembled(
        "
        { setlo $a2 0x10 | mov $r1 0x42 }
        snop
        { xdld $a1 $a2d 0x0 | mov $sr3 $r1 }
        { ldvh $v1 $a2 0x0 | mov $r2 $mi4 }
        mov $r1 $d7
        mov $r3 $r9
        .align
        bra #end
        { mov $r4 $f1 | exit 0x1 }
        .align
    end: exit intr 0x9
    "
        .replace("mov $r3 $r9", "add $r3 $r1 0x1")
        .as_str(),
    );
    for tier in TIERS {
        let mut host = Host::default();
        let mut machine = machine(&code, Chip::G80, tier);
        // The machine stops before what is outside, too.
        assert_eq!(machine.run(Some(2), &mut host).unwrap(), Stop::Limit);
        assert!(host.0.is_empty());
        // An exit in the delay slot of a branch stops; behind it the branch takes effect.
        assert_eq!(machine.run(None, &mut host).unwrap(), Stop::Exit { code: 1, interrupt: false });
        assert_eq!(
            host.0[..2],
            ["transfer c30880 0x10", "write 8 3 0x42"]
                .map(|text| { text.replace("c30880", &format!("{:08x}", code[4])) })
        );
        assert_eq!(host.0[2..], ["read 9 4", "read 22 7", "read 23 1"]);
        assert_eq!([1, 2, 3, 4].map(|index| machine.r(index)), [0x42, 0x104, 0x43, 0x101]);
        assert_eq!(machine.v(1)[0], 0x5a);
        assert_eq!(machine.run(None, &mut host).unwrap(), Stop::Exit { code: 9, interrupt: true });
        // With nobody there, nothing happens.
        machine.set_pc(0);
        machine.set_r(4, 3).unwrap();
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Exit { code: 1, interrupt: false });
        assert_eq!(machine.r(4), 3);
    }
}

#[test]
fn control_flow_of_the_machine() {
    let code = assembled(
        "
        call #sub
        { mov $r1 1 }
        mov $r2 2
        exit 0x0
        .align
   sub: ret
        mov $r3 3
        .align
  loop: bra #loop
        { add $r4 $r4 1 | bnop }
        snop
    ",
    );
    for tier in TIERS {
        let mut machine = machine(&code, Chip::Nv41, tier);
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Exit { code: 0, interrupt: false });
        assert_eq!([1, 2, 3].map(|index| machine.r(index)), [1, 2, 3]);
        assert_eq!(machine.register("uc0"), Some(vec![2]));
        // A call that returns to somewhere that was no target before.
        machine.set_register("uc0", &[1]).unwrap();
        machine.set_r(1, 0).unwrap();
        machine.set_pc(4);
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Exit { code: 0, interrupt: false });
        assert_eq!(machine.r(1), 1);
        machine.set_register("uc0", &[0x1000]).unwrap();
        machine.set_pc(4);
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Illegal);
        assert_eq!(machine.pc(), 0x1000);
        // A loop without end runs as long as it may.
        machine.set_pc(8);
        assert_eq!(machine.run(Some(100_001), &mut Nobody).unwrap(), Stop::Limit);
        assert_eq!((machine.r(4), machine.pc()), (50_000, 9));
        // Behind the code there is none.
        machine.set_pc(11);
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Illegal);
        assert_eq!(machine.pc(), 12);
        machine.set_pc(u32::MAX);
        assert_eq!(machine.run(Some(1), &mut Nobody).unwrap(), Stop::Illegal);
        assert!(machine.register("r31").is_none());
        for (name, values) in [
            ("r31", vec![0]),
            ("v0", vec![256]),
            ("l0", vec![0x10000]),
            ("#lane", vec![0]),
            ("r0", vec![0; 16]),
        ] {
            assert!(machine.set_register(name, &values).is_err(), "{name}");
        }
    }
    assert_eq!(machine(&[], Chip::G80, Tier::Jit).run(None, &mut Nobody).unwrap(), Stop::Illegal);
}

/// Programs as launches: faults, and code that is cut anywhere.
#[test]
fn bad_programs_end_in_faults() {
    let options = ProgramOptions::new(Isa::Vp1).chip(Some(Isa::Vp1.chip("g80").unwrap()));
    let launch = |max_steps| Launch::default().grid([1; 3]).block([1; 3]).max_steps(max_steps);
    let engines = TIERS.map(|tier| Engine::new(config(tier)).unwrap());
    let run = |engine: &Engine, code: &[u8], max_steps| {
        let program = Program::load(code, &options).unwrap();
        engine.run(&program, &engine.memory().unwrap(), &launch(max_steps)).unwrap()
    };
    let mut random = Random::new(77);
    let words = random_program(&mut random, 6, true);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let endless = assembled("loop: bra #loop\nsnop");
    let endless: Vec<u8> = endless.iter().flat_map(|word| word.to_le_bytes()).collect();
    for engine in &engines {
        for len in (4..bytes.len()).step_by(12) {
            let report = run(engine, &bytes[..len], 500);
            let kind = report.fault.map(|fault| fault.kind);
            assert!(matches!(kind, None | Some(FaultKind::Illegal | FaultKind::Timeout)), "{kind:?}");
        }
        let report = run(engine, &0x4f00_0000u32.to_le_bytes().repeat(3), 0);
        let fault = report.fault.unwrap();
        assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, 12));
        let fault = run(engine, &endless, 1000).fault.unwrap();
        assert_eq!(fault.kind, FaultKind::Timeout);
    }
    assert!(Program::load(&bytes[..7], &options).unwrap_err().to_string().contains("within a 32-bit word"));
    let load = |code: &[u8], entry| Program::load(code, &options.clone().entry(entry).raw(true));
    for entry in [8, 2, u32::MAX] {
        let error = load(&bytes[..8], entry).unwrap_err().to_string();
        assert!(error.contains("is no instruction of the"), "{error}");
    }
    assert!(load(&[], 0).is_err());
}

/// A program that never ends is ended by a token, used before and while it runs, and goes on behind it with another one.
#[test]
fn tokens_end_endless_programs() {
    let code = assembled("again:\nadd $r1 $r1 1\n.align\nbra #again\nsnop\n");
    for tier in TIERS {
        let mut machine = machine(&code, Chip::G80, tier);
        let token = CancelToken::new();
        machine.set_cancel(Some(token.clone()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                token.cancel();
            });
            assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Cancelled, "{tier:?}");
        });
        assert_eq!(machine.run(None, &mut Nobody).unwrap(), Stop::Cancelled, "{tier:?}");
        let turns = machine.r(1);
        assert!(turns > 0, "{tier:?}");
        // Nor is a program loaded with it.
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let loaded = Machine::new_within(&bytes, Chip::G80, &config(tier), Some(token.clone()));
        assert!(matches!(loaded, Err(Error::Cancelled)), "{tier:?}");
        // With steps left, too.
        assert_eq!(machine.run(Some(1 << 40), &mut Nobody).unwrap(), Stop::Cancelled, "{tier:?}");
        machine.set_cancel(None);
        assert_eq!(machine.run(Some(400), &mut Nobody).unwrap(), Stop::Limit, "{tier:?}");
        assert!(machine.r(1) > turns, "{tier:?}");
    }
}

/// Each target of a `ret` that nobody expected has the program lifted again; all of that together is within one budget.
#[test]
fn a_budget_is_for_all_loads_of_a_machine() {
    let code = assembled("ret\nsnop\n");
    let budget = Budget { time: std::time::Duration::ZERO, ..Budget::default() };
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let config = config(Tier::Interp).budget(budget);
    let error = Machine::new(&bytes, Chip::G80, &config).expect_err("no time is no time");
    assert!(error.to_string().contains("loading ran over the budget of 0 s"), "{error}");
}
