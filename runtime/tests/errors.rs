//! Errors are data: an embedder can ask for what was wanted and found, and for what is beneath.

mod support;

use std::error::Error as _;
use std::time::Duration;
use support::{engine, launch, program};
use warpjit_runtime::{
    Access, Addresses, Arg, Axis, Budget, BudgetError, BudgetTask, CodeError, CompileError, Config,
    ConfigError, Denied, Engine, Error, GUARD_BYTES, Isa, LaunchError, Memory, MemoryError, MemoryOptions,
    PAGE_BYTES, Program, ProgramError, ProgramOptions, SavedLaunch, StateError, Tier,
};

const ENDS: &str = "
block0 at 0x0 insts 1:
    leave.exit -> block1
block1 at 0x8 insts 1:
    leave.exit -> block1
";

#[test]
fn of_memory() {
    let memory = Memory::with(&MemoryOptions::new().address_bits(32)).unwrap();
    let write = Access::ReadWrite;
    memory.map(Some(0x10_0000), 0x3000, write).unwrap();
    let same = |found: Error, wanted: MemoryError| assert_eq!(found, Error::Memory(wanted));
    let (address, end, other, other_end) = (0x10_2000, 0x10_4000, 0x10_0000, 0x10_3000);
    let overlap = memory.map(Some(address), 0x2000, write).unwrap_err();
    same(overlap.clone(), MemoryError::Overlap { address, end, other, other_end });
    assert_eq!(
        overlap.to_string(),
        "guest memory: buffer at 0x102000..0x104000 overlaps the one at 0x100000..0x103000"
    );
    let numbers = ["address", "end", "other", "other_end", "bytes"].map(|name| overlap.number(name));
    assert_eq!(numbers, [Some(address), Some(end), Some(other), Some(other_end), None]);
    assert_eq!((overlap.kind(), overlap.source().is_none()), ("Overlap", true));

    let addresses = Addresses::Below(1 << 32);
    same(
        memory.map(Some(0xffff_f000), 0x2000, write).unwrap_err(),
        MemoryError::Outside { address: 0xffff_f000, bytes: 0x2000, addresses },
    );
    same(memory.map(None, 0, write).unwrap_err(), MemoryError::Empty);
    same(memory.unmap(8).unwrap_err(), MemoryError::NoBuffer { address: 8 });
    same(
        memory.protect(0x10_0000..0x10_0080, write).unwrap_err(),
        MemoryError::Unaligned { what: "protected pages", found: 0x10_0080, align: 4096 },
    );

    // The first byte that is not there is beneath.
    let mut bytes = [0; 16];
    let copy = memory.read(0x10_2ff8, &mut bytes).unwrap_err();
    let beneath = Denied { address: 0x10_3000, store: false, mapped: false };
    same(copy.clone(), MemoryError::Copy { address: 0x10_2ff8, bytes: 16, store: false, source: beneath });
    assert_eq!(copy.source().unwrap().downcast_ref(), Some(&beneath));
    assert_eq!((copy.number("source"), copy.number("store")), (Some(0x10_3000), Some(0)));
    assert!(matches!(
        memory.write(0x20_0000, &bytes),
        Err(Error::Memory(MemoryError::Copy { address: 0x20_0000, bytes: 16, store: true, .. }))
    ));

    let sizes = MemoryOptions::new().size(5000);
    same(Memory::with(&sizes).unwrap_err(), MemoryError::SpaceSize { bytes: 5000, limit: 1 << 32 });
}

/// A range of the embedder's needs guards on both sides: no process has those before the first page and behind the last.
#[test]
fn of_ranges_that_no_process_has() {
    let (bytes, guard) = (1_u64 << 32, GUARD_BYTES);
    let starts =
        [0, PAGE_BYTES, guard, (1 << 56) - bytes, 1 << 63, u64::MAX - bytes + 1, u64::MAX - PAGE_BYTES + 1];
    for start in starts {
        let base = std::ptr::without_provenance_mut(start as usize);
        // SAFETY: refused, so nothing is accessed.
        let error = unsafe { Memory::over(base, bytes) }.unwrap_err();
        assert_eq!(error, Error::Memory(MemoryError::RangePlace { start, bytes, guard }));
        assert_eq!((error.kind(), error.number("start")), ("RangePlace", Some(start)));
    }
}

/// Null is the guest's null, too, where addresses are the host's; elsewhere 0 is an address like others.
#[test]
fn of_null() {
    let identity = Memory::with(&MemoryOptions::new().identity()).unwrap();
    let null = Error::Memory(MemoryError::NoAddress { address: 0 });
    assert_eq!(identity.map(Some(0), PAGE_BYTES, Access::ReadWrite), Err(null.clone()));
    assert_eq!(identity.map_shared(Some(0), PAGE_BYTES, Access::ReadWrite), Err(null.clone()));
    // SAFETY: refused, so nothing is accessed.
    let host = unsafe { identity.map_host(None, std::ptr::null_mut(), PAGE_BYTES, Access::ReadWrite) };
    assert_eq!(host, Err(null));
    assert_eq!(Memory::new().unwrap().map(Some(0), PAGE_BYTES, Access::ReadWrite), Ok(0));
}

#[test]
fn of_launches() {
    let engine = engine(Tier::Interp, 1);
    let memory = engine.memory().unwrap();
    let program = program(ENDS);
    let refused = |launch| engine.run(&program, &memory, &launch).unwrap_err();
    let name = program.name().to_owned();
    let grid = refused(launch(0, 32));
    let Error::Launch(LaunchError::Size { what, axis, found, limit, size, .. }) = &grid else {
        panic!("{grid}")
    };
    assert_eq!((*what, *axis, *found, *size), ("grid", Axis::X, 0, [0, 1, 1]));
    assert_eq!(grid.number("limit"), Some((*limit).into()));
    assert_eq!(
        refused(launch(1, 32).registers(vec![("r0".into(), vec![1])])),
        Error::Launch(LaunchError::NoRegister { name: "r0".into() })
    );
    assert_eq!(
        refused(launch(1, 32).user_data(vec![1, 2])),
        Error::Launch(LaunchError::UserData { name, found: 2, limit: 0 })
    );
    assert_eq!(
        refused(launch(4, 32).blocks(Some(3..5))),
        Error::Launch(LaunchError::Blocks { start: 3, end: 5, total: 4 })
    );
    let odd = Arg { align: 3, ..Arg::u32(1) };
    assert_eq!(
        refused(launch(1, 32).args(vec![Arg::u32(0), odd])),
        Error::Launch(LaunchError::ArgumentAlign { number: 1, align: 3 })
    );
}

#[test]
fn of_containers() {
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap()));
    let of = |bytes: &[u8], options: &ProgramOptions| Program::load(bytes, options).unwrap_err();
    assert_eq!(of(&[], &options).kind(), "Empty");
    let error = of(&[0; 7], &options.clone().raw(true));
    assert_eq!((error.kind(), error.number("len"), error.number("line")), ("RaggedWords", Some(7), None));
    // An ELF file that is cut off behind its magic number.
    let error = of(b"\x7fELF\x01\x01\x01", &options);
    assert_eq!((error.kind(), error.number("offset").is_some()), ("Elf", true), "{error}");
    let error = of(b"architecture {sm_10}\nabiversion {0}\n?\n", &options);
    assert_eq!((error.kind(), error.number("line")), ("Text", Some(3)), "{error}");
}

#[test]
fn of_front_ends() {
    let raw = |isa: Isa, chip: &str| ProgramOptions::new(isa).raw(true).chip(Some(isa.chip(chip).unwrap()));
    let of = |options: &ProgramOptions| Program::load(&[0; 8], options).unwrap_err();
    let check = |error: &Error, kind: &str, numbers: &[(&str, u64)]| {
        assert!(matches!(error, Error::Program(ProgramError::Code { .. })), "{error:?}");
        assert_eq!(error.kind(), kind, "{error}");
        for (name, number) in numbers {
            assert_eq!(error.number(name), Some(*number), "{name} of {error}");
        }
    };
    let tesla = raw(Isa::Tesla, "g80");
    check(&of(&tesla.clone().entry(2)), "Entry", &[("entry", 2), ("bytes", 8), ("base", 0)]);
    check(&of(&tesla.clone().entry(0x100)), "Entry", &[("entry", 0x100)]);
    check(&of(&tesla.base(2)), "Base", &[("bytes", 8), ("base", 2)]);

    let gcn = raw(Isa::Gcn, "tahiti");
    check(&of(&gcn.clone().rsrc1(Some(0))), "OneRsrc", &[]);
    let both = |rsrc1: u32, rsrc2: u32| gcn.clone().rsrc1(Some(rsrc1)).rsrc2(Some(rsrc2));
    check(&of(&both(0, 0).sgprs(Some(4))), "GivenTwice", &[]);
    check(&of(&both(0, 17 << 1)), "UserSgprs", &[("rsrc2", 0x22), ("users", 17), ("limit", 16)]);
    check(&of(&both(15 << 6, 0)), "Sgprs", &[("rsrc1", 0x3c0), ("sgprs", 128), ("limit", 112)]);
    let loaded = [("rsrc1", 0), ("rsrc2", 0x390), ("loaded", 11), ("sgprs", 8)];
    check(&of(&both(0, 0x390)), "LoadedSgprs", &loaded);
    check(&of(&both(0, 0).local(Some(16))), "NoScratch", &[("rsrc2", 0)]);

    // Where code lies in memory.
    let memory = Memory::new().unwrap();
    let at = memory.map(Some(0x10_0000), 0x1000, Access::ReadOnly).unwrap();
    let of =
        |address: u64, options: &ProgramOptions| Program::load_at(&memory, address, options).unwrap_err();
    let gcn = ProgramOptions::new(Isa::Gcn).chip(Some("fiji".parse().unwrap()));
    check(&of(at + 2, &gcn), "MisalignedEntry", &[("entry", at + 2), ("align", 4)]);
    check(&of(0x70_0000, &gcn), "UnreadableEntry", &[("entry", 0x70_0000)]);
    let fermi = ProgramOptions::new(Isa::Fermi).chip(Some("gf100".parse().unwrap()));
    let outside = [("entry", at), ("segment", at + 0x100)];
    check(&of(at, &fermi.segment(Some(at + 0x100))), "OutsideSegment", &outside);
    let vp1 = ProgramOptions::new(Isa::Vp1).chip(Some(Isa::Vp1.chip("nv41").unwrap()));
    check(&of(at, &vp1), "NotInMemory", &[]);

    // Names, and what the error itself says.
    let CodeError::UnknownChip { name, known, .. } = Isa::Gcn.chip("g80").unwrap_err() else { panic!() };
    let has = |name: &str| known.iter().any(|known| known == name);
    assert!(name == "g80" && has("polaris10") && !has("gf100"), "{known:?}");
    let header = warpjit_frontend::fermi::ProgramHeader::parse(&[0; 10]).unwrap_err();
    let error = Error::from(header);
    check(&error, "HeaderBytes", &[("required", 80), ("found", 10)]);
    assert_eq!(error.to_string(), "a shader program header has 80 bytes, there are 10");
    assert!(std::error::Error::source(&error).unwrap().is::<CodeError>());
}

#[test]
fn of_budgets() {
    let code = [0; 0x1000];
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap())).raw(true);
    let of = |budget| Program::load_within(&code, &options, budget, None).unwrap_err();
    let error = of(Budget { bytes: 100, ..Budget::UNLIMITED });
    let Error::Budget(BudgetError::BudgetBytes {
        task: BudgetTask::Loading,
        limit: 100,
        region: None,
        stage,
    }) = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(error.to_string(), format!("loading ran over the budget of 100 bytes: {stage}"));
    let found = ["limit", "region", "stage"].map(|name| error.number(name));
    assert_eq!((error.kind(), found), ("BudgetBytes", [Some(100), None, None]));
    let error = of(Budget { time: Duration::ZERO, ..Budget::UNLIMITED });
    assert_eq!((error.kind(), error.number("limit")), ("BudgetTime", Some(0)));
    // Of a launch; in nanoseconds.
    let budget = Budget { time: Duration::from_nanos(7), ..Budget::UNLIMITED };
    let engine = Engine::new(Config::default().tier(Tier::Interp).budget(budget)).unwrap();
    let error = engine.run(&program(ENDS), &engine.memory().unwrap(), &launch(1, 32)).unwrap_err();
    assert_eq!((error.kind(), error.number("limit")), ("BudgetTime", Some(7)));
    assert!(error.to_string().starts_with("compiling ran over the budget of 0.000000007 s: "), "{error}");
}

#[test]
fn of_the_code_generator() {
    // What the backend says comes through as it is.
    for (of_backend, kind, number) in [
        (warpjit_backend::Error::Groups { groups: 3, lanes: 32 }, "Groups", Some(3)),
        (warpjit_backend::Error::Malformed("a block".into()), "Malformed", None),
        (warpjit_backend::Error::CrossLane(warpjit_ir::Opcode::Shuffle), "CrossLane", None),
        (warpjit_backend::Error::Host("a toaster".into()), "NoHost", None),
        (warpjit_backend::Error::Codegen("too large".into()), "Generator", None),
        (warpjit_backend::Error::Refused("a shuffle".into()), "Vectors", None),
        (warpjit_backend::Error::LeftOut, "LeftOut", None),
    ] {
        let text = format!("compile: {of_backend}");
        let error = Error::from(CompileError::from(of_backend));
        assert_eq!((error.to_string(), error.kind(), error.number("groups")), (text, kind, number));
    }
}

#[test]
fn what_is_beneath_is_found_by_its_type() {
    let beneath = MemoryError::Empty.into();
    let error = Error::Launch(LaunchError::Segment { segment: "arguments", source: Box::new(beneath) });
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Error::Memory(MemoryError::Empty)));
}

#[test]
fn of_configurations_programs_and_states() {
    let config = Config::default().threads(100_000);
    let error = Engine::new(config).unwrap_err();
    assert_eq!(error, Error::Config(ConfigError::Threads { threads: 100_000, limit: 4096 }));

    let raw = ProgramOptions::new(Isa::Gcn).raw(true);
    let error = Program::load(&[0; 4], &raw).unwrap_err();
    assert_eq!((&error, error.kind()), (&Error::Program(ProgramError::NoChip), "NoChip"));
    let chip = "g80".parse().unwrap();
    let error = Program::load(&[0; 4], &raw.chip(Some(chip))).unwrap_err();
    assert_eq!(error, Error::Program(ProgramError::OtherChip { isa: Isa::Gcn, chip }));
    assert_eq!(error.to_string(), "code is for gcn, g80 is a chip of tesla");

    let error = SavedLaunch::from_bytes(b"something else").unwrap_err();
    assert_eq!(error, Error::State(StateError::Foreign));
    assert_eq!(error.to_string(), "saved launch: these bytes are no saved launch");
}
