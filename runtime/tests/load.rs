//! Tests loading programs from bytes: what is refused and why, and Tesla code from its bits to its result.

use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{
    Access, Arg, Config, ContainerError, Engine, Error, Fault, FaultKind, Isa, Launch, Program,
    ProgramOptions, Tier,
};

fn raw() -> ProgramOptions {
    ProgramOptions::new(Isa::Tesla).raw(true).chip(Some("g84".parse().unwrap())).registers(Some(8))
}

fn refusal(bytes: &[u8], options: &ProgramOptions) -> String {
    Program::load(bytes, options).expect_err("refused").to_string()
}

fn code(source: &str) -> Vec<u8> {
    assemble(source, Target::compute(Chip::G84)).unwrap_or_else(|error| panic!("{error:?}")).code
}

#[test]
fn refuses_what_is_no_program() {
    let nop = code("nop");
    assert_eq!(refusal(&[], &raw()), "the file is empty");
    // As data, too.
    assert!(matches!(Program::load(&[], &raw()), Err(Error::Container(ContainerError::Empty))));
    assert_eq!(refusal(&nop[..6], &raw()), "offset 0x6: raw code ends within a 32-bit word");
    let options = raw().chip(None);
    assert_eq!(refusal(&nop, &options), "raw code needs a chip");
    let options = raw().chip(Some("gf100".parse().unwrap()));
    assert_eq!(refusal(&nop, &options), "code is for tesla, gf100 is a chip of fermi");
    for entry in [8, 0x1000, 2] {
        let options = raw().entry(entry);
        let want = format!("entry {entry:#x} is no instruction of the 0x8 bytes of code");
        assert_eq!(refusal(&nop, &options), want);
    }
}

#[test]
fn refuses_a_kernel_that_is_not_there() {
    let text = "architecture {sm_10}\nabiversion {0}\ncode {\n\tname = one\n\tlmem = 0\n\tsmem = 16\n\treg = 2\n\tbar = 0\n\tbincode {\n\t\t0xf0000001 0xe0000781\n\t}\n}\n";
    let options = ProgramOptions::new(Isa::Tesla).kernel(Some("two".into()));
    assert_eq!(refusal(text.as_bytes(), &options), "there is no kernel `two`; kernels: one");
    let options = options.kernel(Some("one".into()));
    assert_eq!(Program::load(text.as_bytes(), &options).unwrap().name(), "one");
}

#[test]
fn registers_beyond_the_chip() {
    let options = raw().registers(Some(200));
    let program = Program::load(&code("exit nop"), &options).unwrap();
    let engine = Engine::new(Config::default()).unwrap();
    let launch = Launch::default().grid([1, 1, 1]).block([1, 1, 1]);
    let error = engine.run(&program, &engine.memory().unwrap(), &launch).unwrap_err();
    assert_eq!(error.to_string(), "launch: the program needs 200 registers of a thread, the chip has 128");
}

/// Runs Tesla code on 1 block of 64 threads with the address of a buffer in `s[0x10]`.
fn run(words: &[u8], max_steps: u64) -> (Option<Fault>, Vec<u8>) {
    let program = Program::load(words, &raw()).unwrap();
    let results = [Tier::Interp, Tier::Jit].map(|tier| {
        let engine = Engine::new(Config::default().tier(tier)).unwrap();
        let memory = engine.memory().unwrap();
        let buffer = memory.map(None, 256, Access::ReadWrite).unwrap();
        let launch = Launch::default()
            .grid([1, 1, 1])
            .block([64, 1, 1])
            .args(vec![Arg::u32(buffer as u32)])
            .max_steps(max_steps);
        let report = engine.run(&program, &memory, &launch).unwrap();
        let mut out = vec![0; 256];
        memory.read(buffer, &mut out).unwrap();
        (report.fault, out)
    });
    let [interp, jit] = results;
    assert_eq!(interp.0, jit.0);
    // After a fault, lanes that compiled code runs together may be a little ahead or behind.
    if interp.0.is_none() {
        assert_eq!(interp.1, jit.1);
    }
    interp
}

fn fault(words: &[u8], max_steps: u64) -> Fault {
    run(words, max_steps).0.expect("a fault")
}

#[test]
fn unknown_encodings_are_illegal() {
    let mut words = code("nop");
    words.extend(0xffff_ffff_0000_0009_u64.to_le_bytes());
    let fault = fault(&words, 0);
    assert_eq!((fault.kind, fault.pc, fault.lane), (FaultKind::Illegal, 8, 0));
    assert_eq!(fault.bytes, 0xffff_ffff_0000_0009_u64.to_le_bytes());
}

#[test]
fn running_out_of_the_code_is_illegal() {
    let found = fault(&code("nop"), 0);
    assert_eq!((found.kind, found.pc, found.bytes.len()), (FaultKind::Illegal, 8, 0));
    let found = fault(&code("bra 0x400"), 0);
    assert_eq!((found.kind, found.pc), (FaultKind::Illegal, 0x400));
}

#[test]
fn endless_things_end() {
    assert_eq!(fault(&code("bra 0x0"), 500).kind, FaultKind::Timeout);
    assert_eq!(fault(&code("call 0x0"), 0).kind, FaultKind::Stack);
    assert_eq!(fault(&code("joinat 0x0\nbra 0x0"), 0).kind, FaultKind::Stack);
    assert_eq!(fault(&code("trap"), 0).kind, FaultKind::Trap);
}

#[test]
fn one_lane_of_many_misbehaves() {
    // Lane 37 (lane 5 of warp 1) gets a bad address, the others the buffer's.
    let with = |bad: u32| {
        code(&format!(
            "and b32 $r1 $r0 0xffff
             mov b32 $r3 {bad:#x}
             mov b32 $r2 0x25
             set $c0 $r4 lg u32 $r1 $r2
             (lg $c0) mov b32 $r3 b32 s[0x10]
             st b32 g14[$r3] $r1
             exit nop"
        ))
    };
    for bad in [0x40, 0xffff_fffc, 0x1_0002] {
        let fault = fault(&with(bad), 0);
        assert_eq!((fault.kind, fault.warp, fault.lane), (FaultKind::Memory, 1, 5), "{bad:#x}");
        assert_eq!((fault.address, fault.store), (Some(u64::from(bad)), true));
    }
}

#[test]
fn device_variables_have_memory_and_their_address_a_place() {
    // Each block adds 1 to the variable through its address in c14[8]; the last sum goes to the buffer.
    let source = "
        mov b32 $r1 0x0
        add b32 $r1 $r1 c14[0x8]
        mov b32 $r2 b32 s[0x10]
        mov b32 $r3 0x1
        ld b32 $r4 g14[$r1]
        add b32 $r4 $r4 $r3
        st b32 g14[$r1] $r4
        exit st b32 g14[$r2] $r4
    ";
    let words: Vec<String> = code(source)
        .chunks_exact(4)
        .map(|word| format!("{:#010x}", u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
        .collect();
    let text = format!(
        "architecture {{sm_11}}\nabiversion {{1}}\nreloc {{\n\tname = counter\n\tsegname = reloc\n\tsegnum = 14\n\toffset = 8\n\tbytes = 4\n}}\n\
         code {{\n\tname = count\n\tlmem = 0\n\tsmem = 20\n\treg = 8\n\tbar = 0\n\tbincode {{\n\t\t{}\n\t}}\n}}\n",
        words.join(" ")
    );
    let program = Program::load(text.as_bytes(), &ProgramOptions::new(Isa::Tesla)).unwrap();
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
        let memory = engine.memory().unwrap();
        let out = memory.map(None, 4, Access::ReadWrite).unwrap();
        let args = vec![Arg::u32(out as u32)];
        let launch = Launch::default().grid([3, 1, 1]).block([1, 1, 1]).args(args);
        for _ in 0..2 {
            let report = engine.run(&program, &memory, &launch).unwrap();
            assert_eq!(report.fault, None);
            let mut word = [0; 4];
            memory.read(out, &mut word).unwrap();
            assert_eq!(u32::from_le_bytes(word), 3, "three blocks; each launch begins with zeros");
        }
    }
}
