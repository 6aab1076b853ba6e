//! Tests bad GCN programs and launches: each is refused with the message pinned here, or runs without harm and the same in both
//! tiers.

use std::path::Path;

use warpjit_runtime::{Access, Arg, Config, Engine, Fault, Isa, Launch, Program, ProgramOptions, Tier};
use warpjit_tests::corpus::corpus;
use warpjit_tests::random::rng::SplitMix;

fn read(name: &str) -> Vec<u8> {
    let path = corpus().join("gcn").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn options() -> ProgramOptions {
    ProgramOptions::new(Isa::Gcn)
}

fn load(name: &str, kernel: &str) -> Program {
    Program::load(&read(name), &options().kernel(Some(kernel.into()))).unwrap()
}

fn load_error(bytes: &[u8], options: &ProgramOptions) -> String {
    Program::load(bytes, options).expect_err("must be refused").to_string()
}

fn launch(block: u32, args: Vec<Arg>) -> Launch {
    Launch::default().grid([1, 1, 1]).block([block, 1, 1]).args(args)
}

/// The message that both tiers give, or panics.
#[track_caller]
fn refused(program: &Program, launch: &Launch, message: &str) {
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
        let memory = engine.memory().unwrap();
        let error = engine.run(program, &memory, launch).expect_err("must be refused");
        assert_eq!(error.to_string(), message, "{tier:?}");
        assert_eq!(memory.buffers().count(), 0, "what the launch provides is gone");
    }
}

#[test]
fn programs_for_something_else() {
    let object = read("saxpy/fiji.co");
    let chip = |chip: &str| options().chip(Some(chip.parse().unwrap()));
    let named = chip("tahiti").kernel(Some("saxpy".into()));
    assert_eq!(load_error(&object, &named), "the code is for fiji, tahiti has other instructions");
    // The chips of a generation run the same code.
    let same = chip("tonga").kernel(Some("saxpy".into()));
    assert_eq!(Program::load(&object, &same).unwrap().name(), "saxpy");
    assert_eq!(
        load_error(&object, &options()),
        "there are several kernels and none is named; kernels: saxpy stencil5 bfs_step"
    );
    assert_eq!(load_error(&object, &ProgramOptions::new(Isa::Tesla)), "code is for gcn, not tesla");
    let raw = |chip: &str, entry| options().raw(true).entry(entry).chip(Some(chip.parse().unwrap()));
    let error = Isa::Gcn.chip("gfx1010").unwrap_err().to_string();
    assert!(error.starts_with("gcn has no chip gfx1010; chips: tahiti gfx600 "), "{error}");
    let other = raw("fiji", 0).chip(Some("g80".parse().unwrap()));
    assert_eq!(load_error(&[0; 8], &other), "code is for gcn, g80 is a chip of tesla");
    assert_eq!(load_error(&[0; 8], &raw("fiji", 8)), "entry 0x8 is no instruction of the 0x8 bytes of code");
    assert_eq!(load_error(&[0; 8], &raw("fiji", 2)), "entry 0x2 is no instruction of the 0x8 bytes of code");
    assert_eq!(load_error(&[0; 7], &raw("fiji", 0)), "offset 0x7: raw code ends within a 32-bit word");
}

/// The file with bytes of the first kernel's descriptor changed.
fn with_descriptor(name: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = read(name);
    let module = warpjit_frontend::container::load(&file, Isa::Gcn).unwrap();
    let at = module.kernels[0].code_object.as_ref().unwrap().descriptor as usize + offset;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn descriptors_that_ask_for_too_much() {
    const FILE: &str = "private_sort/fiji.co";
    let error = |offset, bytes: &[u8]| load_error(&with_descriptor(FILE, offset, bytes), &options());
    assert_eq!(
        error(0, &0x2_0000_u32.to_le_bytes()),
        "offset 0x700: kernel `private_sort` wants 131072 bytes of LDS, more than 65536"
    );
    assert_eq!(
        error(4, &0x2_0000_u32.to_le_bytes()),
        "offset 0x700: kernel `private_sort` wants 131072 bytes of scratch a lane, more than 131056"
    );
    assert_eq!(
        error(48, &0xac_0fc1_u32.to_le_bytes()),
        "kernel private_sort: its descriptor wants 128 SGPRs, fiji has 112"
    );
    assert_eq!(
        error(52, &0x81_u32.to_le_bytes()),
        "kernel private_sort: its descriptor wants 10 user SGPRs set up and has room for 0"
    );
}

#[test]
fn launches_that_do_not_fit() {
    let saxpy = load("saxpy/fiji.co", "saxpy");
    let args = || vec![Arg::u64(0), Arg::u64(0), Arg::f32(0.0), Arg::u32(0)];
    refused(
        &saxpy,
        &launch(64, args()[..3].to_vec()),
        "launch: too few arguments: saxpy takes 4, these are 3",
    );
    let mut many = args();
    many.push(Arg::u32(0));
    refused(&saxpy, &launch(64, many), "launch: too many arguments: saxpy takes 4, these are 5");
    let mut short = args();
    short[0] = Arg::u32(0);
    refused(&saxpy, &launch(64, short), "launch: argument 0 has 4 bytes, saxpy takes 8 there");
    refused(
        &saxpy,
        &launch(1025, args()),
        "launch: block [1025, 1, 1]: 1025 threads along x, allowed are 1 to 1024",
    );
    let wide = launch(1, args()).block([64, 32, 1]);
    refused(&saxpy, &wide, "launch: block [64, 32, 1] has 2048 threads, the chip allows 1024");
    let huge = launch(64, args()).grid([1 << 26, 1, 1]);
    refused(
        &saxpy,
        &huge,
        "launch: grid [67108864, 1, 1]: 4294967296 threads along x, allowed are 4294967295",
    );
}

#[test]
fn more_lds_than_there_is() {
    let with = |bytes| vec![Arg::u64(0), Arg::u64(0), Arg::shared(256), Arg::shared(bytes), Arg::f32(0.0)];
    let fiji = load("local_args/fiji.co", "local_args");
    refused(
        &fiji,
        &launch(64, with(65281)),
        "launch: local_args needs 65537 bytes of shared memory, the chip has 65536",
    );
    let tahiti = load("local_args/tahiti.co", "local_args");
    refused(
        &tahiti,
        &launch(64, with(32513)),
        "launch: local_args needs 32769 bytes of shared memory, the chip has 32768",
    );
    let dynamic = launch(64, with(256)).dynamic_shared(65025);
    refused(&fiji, &dynamic, "launch: local_args needs 65537 bytes of shared memory, the chip has 65536");
}

#[test]
fn raw_code_has_no_arguments_and_few_registers() {
    let end = 0xbf81_0000_u32.to_le_bytes();
    let raw = options().raw(true).chip(Some("vega10".parse().unwrap())).registers(Some(4)).sgprs(Some(16));
    let program = Program::load(&end, &raw).unwrap();
    refused(&program, &launch(64, vec![Arg::u32(1)]), "launch: arguments take 4 bytes, there is room for 0");
    for (name, message) in [
        ("v4", "launch: register v4: the program has no such register"),
        ("s16", "launch: register s16: the program has no such register"),
    ] {
        let launch = launch(64, Vec::new()).registers(vec![(name.into(), vec![1])]);
        refused(&program, &launch, message);
    }
    let beyond = Program::load(&end, &raw.registers(Some(257))).unwrap();
    refused(
        &beyond,
        &launch(64, Vec::new()),
        "launch: the program needs 257 registers of a thread, the chip has 256",
    );
}

/// The fault of a launch if there was one, or why it was refused.
type Outcome = Result<Option<Fault>, String>;

/// What both tiers come to: the fault, and a buffer at 0x10000 that the arguments point to.
fn run_alike(program: &Program, launch: &Launch, what: &dyn Fn() -> String) {
    let outcomes: Vec<(Outcome, Vec<u8>)> = [Tier::Interp, Tier::Jit]
        .into_iter()
        .map(|tier| {
            // Damaged code may exchange values between lanes through memory.
            let config = Config::default().tier(tier).threads(1).lockstep(true);
            let engine = Engine::new(config).unwrap();
            let memory = engine.memory().unwrap();
            memory.map(Some(0x1_0000), 0x4000, Access::ReadWrite).unwrap();
            memory
                .write(0x1_0000, &(0..0x4000_u32).map(|n| (n * 7 % 251) as u8).collect::<Vec<_>>())
                .unwrap();
            let report = engine.run(program, &memory, launch).map_err(|error| error.to_string());
            let mut bytes = vec![0; 0x4000];
            memory.read(0x1_0000, &mut bytes).unwrap();
            (report.map(|report| report.fault), bytes)
        })
        .collect();
    let known = |outcome: &Outcome| outcome.clone().map(|fault| fault.map(|fault| (fault.kind, fault.pc)));
    assert_eq!(known(&outcomes[0].0), known(&outcomes[1].0), "{}", what());
    if outcomes[0].0 == Ok(None) {
        assert!(outcomes[0].1 == outcomes[1].1, "memory differs: {}", what());
    }
}

#[test]
fn random_words_are_run_without_harm_and_alike() {
    let mut random = SplitMix::new(11);
    for chip in ["tahiti", "hawaii", "fiji", "vega10"] {
        for _ in 0..40 {
            let mut code: Vec<u8> = (0..12).flat_map(|_| (random.bits() as u32).to_le_bytes()).collect();
            code.extend(0xbf81_0000_u32.to_le_bytes());
            let raw = options().raw(true).chip(Some(chip.parse().unwrap()));
            let program = Program::load(&code, &raw).unwrap();
            let launch = launch(64, Vec::new()).max_steps(50);
            run_alike(&program, &launch, &|| format!("{chip} {code:02x?}"));
        }
    }
}

/// Kernels with some bits of their code, descriptors or metadata turned over.
#[test]
fn damaged_kernels_are_refused_or_run_without_harm_and_alike() {
    let mut random = SplitMix::new(5);
    let mut ran = 0;
    for name in [
        "saxpy/tahiti.co",
        "scan_blelloch/vega10.co",
        "private_sort/fiji.co",
        "bitonic_lds/fiji.co",
        "ids3d_v5/fiji.co",
    ] {
        let good = read(name);
        let module = warpjit_frontend::container::load(&good, Isa::Gcn).unwrap();
        let kernel = &module.kernels[0];
        let at = good.windows(kernel.code.len()).position(|bytes| bytes == kernel.code).unwrap();
        for round in 0..20 {
            let mut bad = good.clone();
            // Half of them anywhere, half in the code.
            for _ in 0..=random.below(3) {
                let place = match round % 2 {
                    0 => random.below(good.len() as u64) as usize,
                    _ => at + random.below(kernel.code.len() as u64) as usize,
                };
                bad[place] ^= 1 << random.below(8);
            }
            let named = options().kernel(Some(kernel.name.clone()));
            let Ok(program) = Program::load(&bad, &named) else { continue };
            let args =
                program.image().params.clone().unwrap_or_else(|| vec![(0, 8), (8, 8), (16, 4), (20, 4)]);
            let arg = |&(_, bytes): &(u32, u32)| {
                let value = if bytes == 8 { 0x1_0000_u64 } else { 16 };
                let mut contents = value.to_le_bytes().to_vec();
                contents.resize(bytes as usize, 0);
                Arg { bytes: contents, align: 1 << bytes.max(1).trailing_zeros().min(3), shared: None }
            };
            let launch = launch(96, args.iter().map(arg).collect()).max_steps(400);
            ran += 1;
            run_alike(&program, &launch, &|| format!("{} round {round}", Path::new(name).display()));
        }
    }
    assert!(ran > 60, "{ran}");
}
