//! Registers as a driver sets them.

use super::*;

fn places(interface: &StageInterface) -> Vec<(u32, u32, Per)> {
    let of = |input: &StageInput| match input.place {
        InputPlace::Address(at) => (at, input.words, input.per),
        other => panic!("{other:?}"),
    };
    interface.inputs.iter().map(of).collect()
}

fn results(interface: &StageInterface) -> Vec<(OutputPlace, u32)> {
    interface.outputs.iter().map(|output| (output.place, output.words)).collect()
}

#[test]
fn vertex_inputs_are_packed() {
    // Attribute 0: x, y, z; 3: all; 9: y. Both ids, and the primitive's, which is not for this stage.
    let state = VertexState { attribute_enable: [0xf007, 0x20], builtin_enable: 0x111, result_words: 8 };
    let attribute = |number, component| VertexInput::Attribute { number, component };
    let mut want = vec![attribute(0, 0), attribute(0, 1), attribute(0, 2)];
    want.extend((0..4).map(|component| attribute(3, component)));
    want.extend([attribute(9, 1), VertexInput::VertexId, VertexInput::InstanceId]);
    assert_eq!(state.inputs(), want);
    let interface = state.interface();
    let vertex = Per::Vertex;
    assert_eq!(
        places(&interface),
        [(0, 3, vertex), (0xc, 4, vertex), (0x1c, 1, vertex), (0x20, 1, vertex), (0x24, 1, vertex)]
    );
    assert_eq!(results(&interface), [(OutputPlace::Address(0), 8)]);
    assert_eq!((interface.stage, interface.invocations), (Stage::Vertex, 1));
    assert_eq!(VertexState::default().interface().outputs, []);
}

#[test]
fn maps_have_constants_of_their_stage() {
    let registers = [0x4140_0003, 0x8180_7f42];
    use Source::{One, Output, Zero};
    assert_eq!(
        ResultMap::of_vertex(8, &registers).sources(),
        [Output(3), Output(0), Zero, One, Zero, Zero, Zero, Zero]
    );
    let geometry = ResultMap::of_geometry(8, &registers);
    assert_eq!(
        geometry.sources(),
        [Output(3), Output(0), Output(0x40), Output(0x41), Output(0x42), Output(0x7f), Zero, One]
    );
    let short = ResultMap::of_geometry(5, &registers);
    assert_eq!((short.len(), short.source(5)), (5, Zero));
    assert!(ResultMap::of_vertex(0, &registers).is_empty());
}

#[test]
fn geometry_program() {
    let map = ResultMap::of_vertex(6, &[0x0302_0100, 0x0504]);
    let state =
        GeometryState { vertices: 3, vertex_words: map.len() as u32, result_words: 7, max_vertices: 12 };
    let interface = state.interface();
    assert_eq!(places(&interface), [(0, 6, Per::Vertex), (0x18, 1, Per::Primitive)]);
    assert_eq!(results(&interface), [(OutputPlace::Address(0), 7)]);
    assert_eq!((interface.vertices, interface.invocations, interface.max_vertices), (3, 1, 12));
}

/// Position x, y, w; from slot 4 on: perspective, linear, perspective, flat, flat.
fn fragment() -> FragmentState {
    FragmentState {
        interpolant_control: 5 | 4 << 8 | 3 << 16 | 0b1011 << 24,
        noperspective: [1 << 5, 0, 0, 0],
        semantics: Semantics { primitive_id: 8, ..Semantics::default() },
        ..FragmentState::default()
    }
}

#[test]
fn links() {
    let map = ResultMap::of_vertex(9, &[0x0302_0100, 0x0a41_0704, 0x40]);
    let link = |from, to, interpolation| Link { from, back: None, to, interpolation };
    let (constant, perspective, linear) =
        (Interpolation::Constant, Interpolation::Perspective, Interpolation::Linear);
    let mut want = vec![
        link(Source::Position(0), 0, linear),
        link(Source::Position(1), 4, linear),
        link(Source::Position(3), 8, linear),
        link(Source::Output(4), 0xc, perspective),
        link(Source::Output(7), 0x10, linear),
        link(Source::One, 0x14, perspective),
        link(Source::Output(10), 0x18, constant),
        link(Source::PrimitiveId, 0x1c, constant),
    ];
    assert_eq!(fragment().link(&map), want);
    // Behind a geometry program the map counts, and its constants are others.
    let map = ResultMap::of_geometry(9, &[0x0302_0100, 0x0a81_0704, 0x0b]);
    want[7].from = Source::Output(11);
    assert_eq!(fragment().link(&map), want);
    let interface = fragment().interface();
    assert_eq!(
        places(&interface),
        [(0, 6, Per::Plane), (0x18, 2, Per::Primitive), (0x3fc, 1, Per::Primitive)]
    );
}

#[test]
fn colours_of_two_sides() {
    // Back colours in slots 4 to 6, front ones in 7 to 9, one more word.
    let map = ResultMap::of_vertex(11, &[0x0302_0100, 0x0406_0504, 0x000a_0605]);
    let mut state = FragmentState {
        interpolant_control: 4 | 7 << 8 | 4 << 16 | 8 << 24,
        semantics: Semantics { colour: 7 | 4 << 8 | 3 << 16, ..Semantics::default() },
        ..FragmentState::default()
    };
    let backs: Vec<_> = state.link(&map).iter().map(|link| link.back).collect();
    let output = |word| Some(Source::Output(word));
    assert_eq!(backs, [None, output(4), output(5), output(6), None]);
    state.semantics.colour = 7 | 7 << 8 | 3 << 16;
    assert!(state.link(&map).iter().all(|link| link.back.is_none()));
}

#[test]
fn what_rasterising_takes() {
    let map = ResultMap::of_vertex(8, &[0x0302_0100, 0x0908_0706]);
    let semantics = Semantics { clip: 4 | 2 << 8, layer: 6, point_size: 7 << 4 | 1, ..Semantics::default() };
    let output = Source::Output;
    assert_eq!(
        semantics.fixed_function(&map),
        FixedFunction {
            position: [output(0), output(1), output(2), output(3)],
            clip_distances: vec![output(6), output(7)],
            layer: Some(output(8)),
            point_size: Some(output(9)),
        }
    );
    let none = Semantics { point_size: 7 << 4, ..Semantics::default() }.fixed_function(&map);
    assert_eq!((none.clip_distances.len(), none.layer, none.point_size), (0, None, None));
}

#[test]
fn registers_at_exit() {
    let of = |control, sample_mask, result_count| {
        let state = FragmentState { control, sample_mask, result_count, ..FragmentState::default() };
        let outputs = state.outputs().into_iter();
        let outputs: Vec<_> = outputs.map(|output| (output.register, output.words, output.what)).collect();
        assert_eq!(results(&state.interface()).len(), outputs.len());
        outputs
    };
    let colour = |target| FragmentResult::Colour { target, components: 0xf };
    let (mask, depth) = (FragmentResult::SampleMask, FragmentResult::Depth);
    assert_eq!(of(0, false, 4), [(0, 4, colour(0))]);
    assert_eq!(of(0x101, false, 9), [(0, 4, colour(0)), (4, 4, colour(1)), (8, 1, depth)]);
    assert_eq!(of(0x100, true, 6), [(0, 4, colour(0)), (4, 1, mask), (5, 1, depth)]);
    assert_eq!(of(0x100, false, 1), [(0, 1, depth)]);
    assert_eq!(of(0, false, 0), []);
}

#[test]
fn flags() {
    let state = FragmentState { control: 1 << 20 | 1, ..FragmentState::default() };
    assert!(state.multiple_results() && state.discards() && !state.gives_depth());
}

#[test]
fn any_registers() {
    // Nothing reaches beyond its space.
    let state = FragmentState {
        interpolant_control: u32::MAX,
        noperspective: [u32::MAX; 4],
        control: u32::MAX,
        result_count: u32::MAX,
        sample_mask: true,
        semantics: Semantics {
            colour: u32::MAX,
            clip: u32::MAX,
            layer: u32::MAX,
            point_size: u32::MAX,
            primitive_id: u32::MAX,
        },
    };
    let map = ResultMap::of_geometry(u32::MAX, &[u32::MAX; 16]);
    assert_eq!(map.len(), 64);
    let links = state.link(&map);
    assert_eq!(links.len(), 255);
    assert_eq!(links.last().map(|link| link.to), Some(0x3f8));
    assert_eq!(state.semantics.fixed_function(&map).clip_distances.len(), 255);
    assert_eq!(state.outputs().len(), 10);
}
