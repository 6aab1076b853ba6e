//! Headers made by hand, as drivers write them.

use super::*;

/// Word 0 of a driver's header: kind, version 3, stage, instruction set version 1.
fn word0(kind: u32, stage: u32) -> u32 {
    kind | 3 << 5 | stage << 10 | 1 << 17
}

/// A header with some bits set, as (word, bits).
fn header(kind: u32, stage: u32, set: &[(usize, u32)]) -> ProgramHeader {
    let mut words = [0; 20];
    words[0] = word0(kind, stage);
    words[4] = 0xff000;
    for &(word, bits) in set {
        if word == 4 {
            words[4] = bits;
        } else {
            words[word] |= bits;
        }
    }
    ProgramHeader::from_words(&words).expect("a header")
}

fn inputs(header: &ProgramHeader, surroundings: &Surroundings) -> Vec<(u32, u32, InputKind)> {
    let runs = header.inputs(surroundings);
    runs.into_iter().map(|input| (input.address, input.words, input.kind)).collect()
}

fn registers(header: &ProgramHeader, chip: Chip) -> Vec<(u32, u32, FragmentResult)> {
    let of = |output: HeaderOutput| match (output.place, output.what) {
        (OutputPlace::Register(at), OutputKind::Result(result)) => (at, output.words, result),
        other => panic!("{other:?}"),
    };
    header.outputs(chip).into_iter().map(of).collect()
}

#[test]
fn plain_fields() {
    let header = header(
        1,
        4,
        &[
            (0, 1 << 16 | 1 << 26 | 1 << 27 | 0xf << 28),
            (1, 0x120),
            (2, 0x40 | 5 << 24),
            (3, 0x400 | 7 << 24),
            (4, 6 | 0xff000),
        ],
    );
    assert_eq!(header.stage(), Stage::Geometry);
    assert_eq!((header.version, header.sass_version), (3, 1));
    assert!(header.global_store && header.load_or_store && header.fp64);
    assert!(!header.multiple_targets && !header.kills_pixels);
    assert_eq!(header.stream_mask, 0xf);
    assert_eq!((header.local_bytes_low, header.local_bytes_high, header.local_bytes()), (0x120, 0x40, 0x160));
    assert_eq!((header.invocations(), header.max_output_vertices), (5, 6));
    assert_eq!((header.stack_bytes, header.output_topology), (0x400, Some(OutputTopology::TriangleStrip)));
    assert_eq!(header.read_back, None);
}

#[test]
fn no_header() {
    let error = |bytes: &[u8]| ProgramHeader::parse(bytes).expect_err("an error").to_string();
    assert_eq!(error(&[0; 79]), "a shader program header has 80 bytes, there are 79");
    assert_eq!(error(&[0; 80]), "a shader program header of kind 0, stage 0: there is none");
    for (kind, stage) in [(1, 5), (2, 1), (1, 6), (3, 1)] {
        let mut words = [0; 20];
        words[0] = word0(kind, stage);
        assert!(ProgramHeader::from_words(&words).is_err(), "{kind} {stage}");
    }
}

#[test]
fn bytes_and_code() {
    let mut bytes = word0(1, 1).to_le_bytes().to_vec();
    bytes.resize(80, 0);
    bytes[80 - 4 * 7] = 0xf0; // word 13, bits 4-7: 0x50 to 0x5c
    bytes.extend([1, 2, 3, 4]);
    let (header, code) = ProgramHeader::split(&bytes).expect("a header");
    assert_eq!((header.stage, code), (Stage::Vertex, &[1, 2, 3, 4][..]));
    let outputs = header.outputs(Chip::Gf100);
    assert_eq!((outputs[0].place, outputs[0].words), (OutputPlace::Address(0x50), 4));
}

#[test]
fn vertex_program() {
    // Attributes 0 (x to w) and 2 (x, y), both ids; position, point size, generic 1 (y, z), and a word with a bit in word 12.
    let header = header(
        1,
        1,
        &[(6, 0xf | 3 << 8), (10, 3 << 30), (12, 1 << 16), (13, 0xf << 12 | 1 << 11), (13, 6 << 20)],
    );
    let none = Surroundings::default();
    assert_eq!(
        inputs(&header, &none),
        [
            (0x80, 4, InputKind::Vertex),
            (0xa0, 2, InputKind::Vertex),
            (0x2f8, 1, InputKind::InstanceId),
            (0x2fc, 1, InputKind::VertexId),
        ]
    );
    let interface = header.interface(Chip::Gf100, &none);
    assert_eq!((interface.stage, interface.vertices, interface.invocations), (Stage::Vertex, 0, 1));
    assert!(interface.inputs.iter().all(|input| input.per == Per::Vertex));
    let places: Vec<_> = interface.outputs.iter().map(|output| (output.place, output.words)).collect();
    assert_eq!(
        places,
        [(OutputPlace::Address(0), 1), (OutputPlace::Address(0x6c), 5), (OutputPlace::Address(0x94), 2)]
    );
}

#[test]
fn tessellation() {
    // Control: three threads, reads the position and the primitive id, writes the position and patch attribute 0.
    let control = header(
        1,
        2,
        &[(1, 12 << 24), (2, 3 << 24), (5, 0xf1 << 24), (13, 0xf << 12), (4, 0x1c << 12 | 0x1f << 24)],
    );
    assert_eq!(control.read_back, Some((0x70, 0x7c)));
    let draw = Surroundings { vertices: 4, patch_words: 0 };
    assert_eq!(inputs(&control, &draw), [(0x60, 1, InputKind::PrimitiveId), (0x70, 4, InputKind::Vertex)]);
    let interface = control.interface(Chip::Gk104, &draw);
    assert_eq!((interface.vertices, interface.invocations), (4, 3));
    let of = |place, words| StageOutput { place, words };
    assert_eq!(interface.outputs, [of(OutputPlace::Address(0x70), 4), of(OutputPlace::Patch(0), 12)]);

    // Evaluation: the coordinates are declared as outputs.
    let evaluation = header(1, 3, &[(5, 0xf << 28), (13, 0xf << 12), (18, 3 << 12)]);
    let draw = Surroundings { vertices: 3, patch_words: control.patch_words };
    assert_eq!(
        inputs(&evaluation, &draw),
        [(0x70, 4, InputKind::Vertex), (0x2f0, 2, InputKind::TessCoordinates), (0, 12, InputKind::Patch)]
    );
    let interface = evaluation.interface(Chip::Gk104, &draw);
    let pers: Vec<_> = interface.inputs.iter().map(|input| input.per).collect();
    assert_eq!(pers, [Per::Vertex, Per::Point, Per::Patch]);
    assert_eq!(interface.outputs, [of(OutputPlace::Address(0x70), 4)]);
}

#[test]
fn geometry_program() {
    let header = header(1, 4, &[(4, 0xff000), (5, 0xf1 << 24)]);
    let interface = header.interface(Chip::Gf100, &Surroundings { vertices: 3, patch_words: 0 });
    assert_eq!((interface.vertices, interface.invocations, interface.max_vertices), (3, 1, 1));
    assert_eq!(interface.inputs[0].per, Per::Primitive);
    // Streams of which the highest counts: none, the first, the first and the third.
    for (mask, streams) in [(0, 0), (1, 1), (5, 3)] {
        let of_streams = self::header(1, 4, &[(0, mask << 28), (4, 0xff000), (5, 0xf1 << 24)]);
        let interface = of_streams.interface(Chip::Gf100, &Surroundings { vertices: 3, patch_words: 0 });
        assert_eq!(interface.streams, streams);
    }
}

#[test]
fn pixel_inputs_by_kind() {
    let perspective = Interpolation::Perspective;
    let pixel = header(
        2,
        5,
        &[
            (5, 0x91 << 24),                 // primitive id, x, w
            (6, 0b10_10_10_10),              // generic 0: perspective
            (6, 0b01_00_11_10 << 8),         // generic 1: perspective, linear, unused, constant
            (13, 0b10 << 30),                // generic 31, w
            (14, 0b10_10_10_10),             // colour
            (14, 1 << 16 | 3 << 24),         // clip distance 0, point coordinate
            (14, 1 << 26 | 0xf << 28),       // fog; bits that mean nothing to pixels
            (15, 0b11),                      // texture coordinate 0, x
            (17, 0b01 << 14 | 0xffff << 16), // texture coordinate 9, w; reserved bits
        ],
    );
    let constant = InputKind::Pixel(Interpolation::Constant);
    let linear = InputKind::Pixel(Interpolation::Linear);
    let perspective = InputKind::Pixel(perspective);
    let want = [
        (0x60, 1, InputKind::PrimitiveId),
        (0x70, 1, InputKind::Position),
        (0x7c, 1, InputKind::Position),
        (0x80, 5, perspective),
        (0x94, 1, linear),
        (0x9c, 1, constant),
        (0x27c, 5, perspective),
        (0x2c0, 1, perspective),
        (0x2e0, 2, linear),
        (0x2e8, 1, perspective),
        (0x300, 1, linear),
        (0x39c, 1, constant),
        (0x3fc, 1, InputKind::Facing),
    ];
    assert_eq!(inputs(&pixel, &Surroundings::default()), want);
    let interface = pixel.interface(Chip::Gf100, &Surroundings::default());
    let per = |at| {
        interface.inputs.iter().find(|input| input.place == InputPlace::Address(at)).map(|input| input.per)
    };
    assert_eq!(
        [0x60, 0x7c, 0x80, 0x94, 0x9c, 0x3fc].map(per),
        [Per::Primitive, Per::Plane, Per::Plane, Per::Plane, Per::Primitive, Per::Primitive].map(Some)
    );
}

#[test]
fn registers_at_exit() {
    let colour = |target, components| FragmentResult::Colour { target, components };
    let (mask, depth) = (FragmentResult::SampleMask, FragmentResult::Depth);
    // Targets 0 and 2, the latter without blue; the depth, with and without the mask.
    let colours = 0xf | 0xb << 8;
    let both = header(2, 5, &[(0, 3 << 14), (18, colours), (19, 3)]);
    assert!(both.multiple_targets && both.kills_pixels);
    for chip in [Chip::Gf100, Chip::Gk104] {
        assert_eq!(
            registers(&both, chip),
            [(0, 4, colour(0, 0xf)), (4, 3, colour(2, 0xb)), (7, 1, mask), (8, 1, depth)]
        );
    }
    let without = header(2, 5, &[(18, colours), (19, 2)]);
    assert_eq!(registers(&without, Chip::Gf119)[2], (7, 1, depth));
    assert_eq!(registers(&without, Chip::Gk107)[2], (8, 1, depth));
    let alone = header(2, 5, &[(19, 2)]);
    assert_eq!(registers(&alone, Chip::Gf100), [(0, 1, depth)]);
    assert_eq!(registers(&alone, Chip::Gk104), [(1, 1, depth)]);
}
