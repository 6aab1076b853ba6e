//! Makes random vector instructions of GCN, with all their modifiers, in all modes.

use warpjit_frontend::gcn::table::rows;
use warpjit_frontend::gcn::{Format, Generation, Inst, Op, Operand, decode};

use crate::random::rng::SplitMix;

/// Vector registers; scalar ones as many.
pub const REGISTERS: u32 = 24;
/// Vector instructions of a program.
const LENGTH: usize = 12;

/// A word as it is or as floats of all widths at their borders, halves and small integers.
fn word(random: &mut SplitMix) -> u32 {
    const EDGES: [u32; 16] = [
        0,
        1,
        0x8000_0000,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0x3c00_7c00,
        0xfc01_03ff,
        0x7fff_ffff,
        0xffff_ffff,
    ];
    match random.below(4) {
        0 => EDGES[random.below(16) as usize],
        1 => random.bits() as u32,
        2 => (random.bits() as u32 & 0x83ff_ffff) | 0x3c00_0000,
        _ => random.below(80) as u32,
    }
}

/// A source field of nine bits.
fn source(random: &mut SplitMix) -> u64 {
    match random.below(8) {
        0 => random.below(u64::from(REGISTERS)),
        1 => 128 + random.below(81),
        2 => 240 + random.below(9),
        3 => 106,
        _ => 256 + random.below(u64::from(REGISTERS)),
    }
}

/// Whether the instruction computes with vector registers and nothing else.
fn is_arithmetic(inst: &Inst) -> bool {
    let name = inst.op.name();
    let others =
        ["READLANE", "WRITELANE", "READFIRSTLANE", "MOVREL", "INTERP", "SCREEN_PARTITION", "CMPX", "CMPSX"];
    let vector =
        matches!(inst.format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p);
    let scalar_dst = [inst.dst, inst.sdst].into_iter().flatten().all(|dst| match dst.operand {
        Operand::Vgpr(n) => u32::from(n) < REGISTERS,
        Operand::Sgpr(n) => u32::from(n) < REGISTERS,
        Operand::Vcc(_) => true,
        _ => false,
    });
    vector && scalar_dst && !others.iter().any(|other| name.contains(other))
}

/// A random instruction's bytes.
fn instruction(random: &mut SplitMix, generation: Generation) -> Vec<u8> {
    let old = generation <= Generation::Gfx7;
    loop {
        let register = |random: &mut SplitMix| random.below(u64::from(REGISTERS));
        let vdst = register(random);
        let word = match random.below(4) {
            // VOP2, VOPC: one opcode is VOP1.
            0 => {
                let word = random.below(64) << 25 | vdst << 17 | register(random) << 9 | source(random);
                word | random.bits() << 32
            }
            // VOP1.
            1 => 0x3f << 25 | vdst << 17 | random.below(96) << 9 | source(random) | random.bits() << 32,
            // SDWA: the first source is 0xf9.
            2 if !old => {
                let short = random.below(64) << 25 | vdst << 17 | register(random) << 9 | 0xf9;
                let select = register(random) | random.below(7) << 8 | random.below(3) << 11;
                let sources = random.below(7) << 16 | random.below(7) << 24;
                let modifiers = random.bits() & 0x3838_2000;
                short | (select | sources | modifiers) << 32
            }
            // VOP3, VOP3P among them.
            _ => {
                let sources = source(random) << 32 | source(random) << 41 | source(random) << 50;
                let code = random.below(1024) << 16;
                let modifiers =
                    if random.one_in(2) { random.bits() & (0x1f << 59 | 0x7f00 | 1 << 15) } else { 0 };
                let carry = register(random) << 8 & 0x1e00;
                0xd000_0000 | code | vdst | sources | if random.one_in(2) { carry } else { modifiers }
            }
        };
        let bytes = word.to_le_bytes();
        if let Ok(inst) = decode(&bytes, 0, generation)
            && is_arithmetic(&inst)
        {
            return bytes[..usize::from(inst.len)].to_vec();
        }
    }
}

/// A scalar instruction with a literal dword.
fn with_literal(first: u32, literal: u32) -> Vec<u8> {
    [first.to_le_bytes(), literal.to_le_bytes()].concat()
}

fn opcode(op: Op, generation: Generation) -> u32 {
    let row = rows().iter().find(|row| row.op == op && row.code(generation).is_some());
    row.and_then(|row| row.code(generation)).expect("on all generations").into()
}

/// A program and the registers it starts with.
#[derive(Clone, Debug)]
pub struct VectorCase {
    /// The generation.
    pub generation: Generation,
    /// The code.
    pub code: Vec<u8>,
    /// Registers before, one value a lane or one for all.
    pub registers: Vec<(String, Vec<u64>)>,
}

impl VectorCase {
    /// The program of a seed.
    ///
    /// # Panics
    ///
    /// Where the instruction table lacks what every generation has.
    pub fn new(seed: u64) -> VectorCase {
        let mut random = SplitMix::new(seed);
        let generation = Generation::ALL[random.below(4) as usize];
        let mut code = Vec::new();
        // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), mode: any, or what compilers use.
        let mode = match random.below(4) {
            0 => random.bits() as u32 & 0x3ff,
            1 => 0x3f0,
            _ => 0x3c0,
        };
        let setreg = 0xb000_0000 | opcode(Op::S_SETREG_IMM32_B32, generation) << 23 | 1 | 9 << 11;
        code.extend(with_literal(setreg, mode));
        // s_mov_b32 exec_lo and exec_hi, literal.
        if random.one_in(2) {
            for half in [126, 127] {
                let first = 0xbe80_00ff | opcode(Op::S_MOV_B32, generation) << 8 | half << 16;
                code.extend(with_literal(first, random.bits() as u32));
            }
        }
        (0..LENGTH).for_each(|_| code.extend(instruction(&mut random, generation)));
        code.extend(0xbf81_0000u32.to_le_bytes());
        let mut registers: Vec<(String, Vec<u64>)> = (0..REGISTERS)
            .map(|n| (format!("v{n}"), (0..64).map(|_| word(&mut random).into()).collect()))
            .collect();
        registers.extend((0..REGISTERS).map(|n| (format!("s{n}"), vec![word(&mut random).into()])));
        registers
            .extend(["vcc_lo", "vcc_hi"].map(|name| (name.to_owned(), vec![random.bits() & 0xffff_ffff])));
        VectorCase { generation, code, registers }
    }

    /// The instructions with their operands.
    pub fn listing(&self) -> String {
        let mut text = format!("{}\n", self.generation);
        let mut pc = 0;
        while let Ok(inst) = decode(&self.code[pc..], pc as u64, self.generation) {
            let bytes = &self.code[pc..pc + usize::from(inst.len)];
            text +=
                &format!("{pc:04x}: {bytes:02x?} {:?} clamp {} omod {:?}\n", inst.op, inst.clamp, inst.omod);
            text += &format!("      {:?} = {:?}\n", inst.dst, inst.srcs());
            pc += usize::from(inst.len);
        }
        text
    }
}
