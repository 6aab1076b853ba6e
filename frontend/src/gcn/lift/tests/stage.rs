//! Tests graphics stages: what registers and EXEC begin with, interpolation, exports, messages.

use super::*;
use crate::gcn::lift::{Lifted, check_stage};
use crate::isa::Stage;
use crate::stage::{
    ExportTarget, InputPlace, LaneWord, OutputPlace, Per, StageInput, StageInterface, StageLayout,
    StageOutput,
};

/// Local memory, by words, and a global memory that only counts stores.
struct Local {
    words: Vec<[u32; 64]>,
    stored: u64,
}

impl WarpMemory for Local {
    fn load(&mut self, space: Space, lane: u32, address: u64, _: u8) -> Result<u64, Denied> {
        match space {
            Space::Local => Ok(self.words[address as usize / 4][lane as usize].into()),
            _ => Ok(0),
        }
    }

    fn store(&mut self, space: Space, lane: u32, address: u64, _: u8, value: u64) -> Result<(), Denied> {
        match space {
            Space::Local => self.words[address as usize / 4][lane as usize] = value as u32,
            _ => self.stored |= 1 << lane,
        }
        Ok(())
    }
}

/// A wave of a stage that is being set up, and then has run.
struct Wave {
    function: Function,
    layout: StageLayout,
    memory: Local,
}

impl Wave {
    fn new(chip: impl Into<Chip>, interface: &StageInterface, text: &str) -> Wave {
        let chip = chip.into();
        check_stage(interface, 24).unwrap();
        let options = Options { stage: Some(interface), ..options(chip) };
        let code = assemble(chip, text);
        let lifted = lift(&file(&code), &options, &Meter::unlimited()).expect("no limits");
        let Lifted { function, local_bytes, stage } = lifted;
        verify(&function).unwrap();
        let words = vec![[0; 64]; local_bytes.div_ceil(4) as usize];
        Wave { function, layout: stage.unwrap(), memory: Local { words, stored: 0 } }
    }

    fn word(&mut self, address: u32) -> &mut [u32; 64] {
        &mut self.memory.words[address as usize / 4]
    }

    fn lane_word(&mut self, which: LaneWord, values: impl Fn(usize) -> u32) {
        let found = self.layout.lane_words.iter().find(|(word, _)| *word == which);
        let (_, address) = *found.unwrap();
        *self.word(address) = std::array::from_fn(values);
    }

    /// Sets a word of an input in all lanes.
    fn input(&mut self, input: usize, byte: u32, values: impl Fn(usize) -> u32) {
        let area = self.layout.inputs[input].unwrap();
        *self.word(area.start + byte) = std::array::from_fn(values);
    }

    /// A word of an output, where it was written.
    fn output(&mut self, output: usize, word: u32, lane: usize) -> Option<u32> {
        let area = self.layout.outputs[output];
        let written = self.word(area.written.unwrap() + 4 * word)[lane];
        (written != 0).then(|| self.word(area.start + area.word_stride * word)[lane])
    }

    fn run(&mut self, registers: &[(&str, u32)]) {
        let code = Code::new(&self.function).unwrap();
        let mut warp =
            Warp::new(&code, u64::MAX, |builtin, lane| if builtin == Builtin::LaneId { lane } else { 0 });
        let (offsets, _) = self.function.frame_layout();
        for (name, value) in registers {
            let n = self.function.slots.iter().position(|slot| slot.name == *name).unwrap();
            warp.frame.write(offsets[n], warpjit_ir::Scalar::I32, 0, (*value).into());
        }
        let mut scratch = Scratch::new(&code);
        loop {
            match code.run_block(&mut scratch, &mut warp, &mut self.memory) {
                Flow::Next => {}
                Flow::Ended => break,
                other => panic!("{other:?}"),
            }
        }
    }
}

fn input(place: InputPlace, words: u32, per: Per) -> StageInput {
    StageInput { place, words, per }
}

fn export(target: ExportTarget, half: bool, words: u32) -> StageOutput {
    StageOutput { place: OutputPlace::Export(target, half), words }
}

fn fragment(inputs: Vec<StageInput>, outputs: Vec<StageOutput>) -> StageInterface {
    StageInterface { stage: Stage::Fragment, inputs, outputs, ..StageInterface::default() }
}

#[test]
fn fragments_interpolate_and_export() {
    let interface = fragment(
        vec![
            input(InputPlace::Register(0), 2, Per::Pixel),
            input(InputPlace::Attribute(3), 4, Per::Primitive),
        ],
        vec![export(ExportTarget::Mrt(1), false, 4), export(ExportTarget::Mrtz, false, 1)],
    );
    for generation in Generation::ALL {
        let text = "v_interp_p1_f32 v2, v0, attr3.y\n v_interp_p2_f32 v2, v1, attr3.y\n v_interp_mov_f32 v3, p0, attr3.y\n \
                    v_interp_mov_f32 v4, p20, attr5.x\n exp mrt1 v2, off, v3, v4 done vm\n s_endpgm";
        let mut wave = Wave::new(generation, &interface, text);
        assert_eq!(wave.layout.missing, [16 * 5]);
        wave.lane_word(LaneWord::Covered, |lane| if lane % 3 == 0 { u32::MAX } else { 0 });
        wave.input(0, 0, |lane| (lane as f32).to_bits());
        wave.input(0, 4, |_| 0.5f32.to_bits());
        for (n, value) in [10.0f32, 2.0, 8.0].into_iter().enumerate() {
            wave.input(1, 12 + 4 * n as u32, |_| value.to_bits());
        }
        wave.run(&[]);
        for lane in 0..64 {
            let some = |x: f32| (lane % 3 == 0).then_some(x.to_bits());
            let got = [0, 1, 2, 3].map(|word| wave.output(0, word, lane));
            assert_eq!(
                got,
                [some(14.0 + 2.0 * lane as f32), None, some(10.0), some(0.0)],
                "{generation} {lane}"
            );
            assert_eq!(wave.output(1, 0, lane), None);
            let alive = wave.layout.alive.unwrap();
            assert_eq!(wave.word(alive)[lane] != 0, lane % 3 == 0);
        }
    }
}

/// Helpers run once the program lets them, but neither store nor export; what is discarded does not live.
#[test]
fn helpers_and_discards() {
    let interface = fragment(
        vec![input(InputPlace::Register(1), 1, Per::Pixel)],
        vec![export(ExportTarget::Mrt(0), true, 4), export(ExportTarget::Mrt(7), false, 2)],
    );
    let text = "s_mov_b64 s[0:1], exec\n s_wqm_b64 exec, exec\n v_add_f32 v2, 1.0, v1\n buffer_store_dword v2, off, s[4:7], 0\n \
                v_cvt_pkrtz_f16_f32 v3, v2, v1\n exp mrt7 v3, v3 compr\n v_cmp_lt_f32 vcc, 8.0, v2\n s_and_b64 exec, s[0:1], vcc\n \
                exp mrt0 v3, v3, v3, v3 compr done vm\n s_endpgm";
    let mut wave =
        Wave::new(Generation::Gfx8, &interface, &text.replace("v3, v3 compr\n", "v3, v3, v3, v3 compr\n"));
    wave.lane_word(LaneWord::Covered, |lane| if lane % 4 == 1 { u32::MAX } else { 0 });
    wave.input(0, 0, |lane| (lane as f32).to_bits());
    wave.run(&[("s6", 64), ("s7", 0x27fac)]);
    let covered = |lane: usize| lane % 4 == 1;
    for lane in 0..64 {
        let alive = covered(lane) && lane >= 8;
        let x = lane as f32;
        let got = [0, 1, 2, 3].map(|word| wave.output(0, word, lane));
        let want = [x + 1.0, x, x + 1.0, x].map(|x| alive.then_some(x.to_bits()));
        assert_eq!(got, want, "{lane}");
        assert_eq!(wave.output(1, 1, lane).is_some(), covered(lane));
        let word = wave.layout.alive.unwrap();
        assert_eq!(wave.word(word)[lane] != 0, alive);
        assert_eq!(wave.memory.stored >> lane & 1 != 0, covered(lane));
    }
}

#[test]
fn halves_are_interpolated() {
    let interface = fragment(
        vec![input(InputPlace::Register(0), 2, Per::Pixel), input(InputPlace::Attribute(0), 1, Per::Launch)],
        vec![export(ExportTarget::Mrt(0), false, 2)],
    );
    let text = "v_interp_p1ll_f16 v2, v0, attr0.x high\n v_interp_p2_f16 v2, v1, attr0.x, v2 high\n \
                v_interp_p1ll_f16 v3, v0, attr0.x\n exp mrt0 v2, v3, off, off done vm\n s_endpgm";
    for generation in [Generation::Gfx8, Generation::Gfx9] {
        let mut wave = Wave::new(generation, &interface, text);
        wave.lane_word(LaneWord::Covered, |_| u32::MAX);
        wave.input(0, 0, |_| 2.0f32.to_bits());
        wave.input(0, 4, |_| 0.5f32.to_bits());
        // 1 and 3, 2 and 4, 0 and 8, as halves.
        for (n, value) in [0x4200_3c00, 0x4400_4000, 0x4800_0000].into_iter().enumerate() {
            wave.input(1, 4 * n as u32, |_| value);
        }
        wave.run(&[]);
        // 3 + 2 * 4 + 0.5 * 8 = 15 as a half; 1 + 2 * 2.
        let low = wave.output(0, 0, 5).unwrap() & 0xffff;
        assert_eq!((low, wave.output(0, 1, 5)), (0x4b80, Some(5f32.to_bits())));
    }
}

/// Emits, cuts and both, in some lanes only, more than there may be.
#[test]
fn geometry_counts() {
    let interface = StageInterface {
        stage: Stage::Geometry,
        vertices: 3,
        invocations: 1,
        max_vertices: 3,
        inputs: vec![input(InputPlace::Register(0), 1, Per::Vertex)],
        outputs: Vec::new(),
        ..StageInterface::default()
    };
    let text = "s_sendmsg sendmsg(MSG_GS, GS_OP_CUT, 0)\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)\n v_cmp_gt_u32 vcc, 4, v1\n \
                s_mov_b64 s[0:1], exec\n s_and_b64 exec, exec, vcc\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT_CUT, 0)\n \
                s_mov_b64 exec, s[0:1]\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)\n \
                s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)\n s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)\n s_endpgm";
    let mut wave = Wave::new(Generation::Gfx8, &interface, text);
    wave.lane_word(LaneWord::Present, |lane| if lane < 8 { u32::MAX } else { 0 });
    // The vertices of a primitive are in v0, v1, v2.
    let stride = wave.layout.inputs[0].unwrap().vertex_stride;
    wave.input(0, stride, |lane| lane as u32);
    wave.run(&[]);
    let (emitted, cuts) = (wave.layout.emitted.unwrap(), wave.layout.cuts.unwrap());
    for lane in 0..10 {
        let flags = [0, 1, 2].map(|n| wave.word(cuts + 4 * n)[lane] != 0);
        let want = match lane {
            0..4 => (3, [false, true, false]),
            4..8 => (3, [false; 3]),
            _ => (0, [false; 3]),
        };
        assert_eq!((wave.word(emitted)[lane], flags), want, "{lane}");
    }
}

/// Two streams: each has strips of its own, vertices of both have flags in the order in which they are emitted.
#[test]
fn geometry_counts_by_streams() {
    let interface = StageInterface {
        stage: Stage::Geometry,
        vertices: 1,
        invocations: 1,
        max_vertices: 4,
        streams: 2,
        inputs: vec![input(InputPlace::Register(0), 1, Per::Vertex)],
        outputs: Vec::new(),
        ..StageInterface::default()
    };
    let text = "s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)\n v_cmp_gt_u32 vcc, 4, v0\n s_mov_b64 s[0:1], exec\n \
                s_and_b64 exec, exec, vcc\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)\n s_mov_b64 exec, s[0:1]\n \
                s_sendmsg sendmsg(MSG_GS, GS_OP_CUT, 0)\n s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 2)\n \
                s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT_CUT, 1)\n s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)\n s_endpgm";
    let mut wave = Wave::new(Generation::Gfx8, &interface, text);
    wave.lane_word(LaneWord::Present, |lane| if lane < 8 { u32::MAX } else { 0 });
    wave.input(0, 0, |lane| lane as u32);
    wave.run(&[]);
    let (emitted, cuts) = (wave.layout.emitted.unwrap(), wave.layout.cuts.unwrap());
    for lane in 0..10 {
        let flags = [0, 1, 2, 3].map(|n| wave.word(cuts + 4 * n)[lane]);
        let want = match lane {
            0..4 => (3, [0x100, 1, 0x101, 0]),
            4..8 => (2, [0x100, 0x101, 0, 0]),
            _ => (0, [0; 4]),
        };
        assert_eq!((wave.word(emitted)[lane], flags), want, "{lane}");
    }
}

#[test]
fn interfaces_that_cannot_be() {
    let refused = |inputs, outputs| check_stage(&fragment(inputs, outputs), 24).unwrap_err().to_string();
    let register = refused(vec![input(InputPlace::Register(23), 2, Per::Pixel)], Vec::new());
    assert_eq!(register, "an input is in the 2 registers from v23 on, the program has 24");
    assert_eq!(
        refused(vec![input(InputPlace::Attribute(32), 1, Per::Primitive)], Vec::new()),
        "there is no attribute 32"
    );
    let address = refused(vec![input(InputPlace::Address(0), 1, Per::Pixel)], Vec::new());
    assert_eq!(address, "inputs of this instruction set are registers or attributes");
    assert_eq!(
        refused(Vec::new(), vec![export(ExportTarget::Mrt(8), false, 4)]),
        "there is no export Mrt(8) of 4 words"
    );
}
