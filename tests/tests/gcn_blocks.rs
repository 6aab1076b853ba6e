//! Tests kernels that LLVM compiled for GCN (`benches/blocks`) in blocks of many sizes: copies, sums of neighbours, sums of tiles
//! in LDS, of images whose pitch is an argument. All tiers are compared with the same computation in Rust. With pitches that lead
//! outside of memory, the tiers' faults are compared with each other.

use warpjit_runtime::{Access, Arg, Engine, Fault, Isa, Launch, Program, ProgramOptions};
use warpjit_tests::arrays::{engines, random};

const GRID: [u32; 2] = [3, 2];
/// Words of each image, and the one that the kernels begin at.
const WORDS: usize = 1 << 16;
const FIRST: usize = 1 << 15;

fn kernels() -> [(&'static str, Program); 3] {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/blocks/fiji.co");
    let bytes = std::fs::read(file).unwrap();
    ["copy", "neighbours", "tiles"].map(|name| {
        let options = ProgramOptions::new(Isa::Gcn).kernel(Some(name.into()));
        (name, Program::load(&bytes, &options).unwrap())
    })
}

fn run(
    engine: &Engine,
    program: &Program,
    block: [u32; 2],
    pitch: i32,
    from: &[u32],
) -> Result<Vec<u32>, Fault> {
    let memory = engine.memory().unwrap();
    let images = [from, &vec![0; WORDS]].map(|words| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let place = memory.map(None, bytes.len() as u64, Access::ReadWrite).unwrap();
        memory.write(place, &bytes).unwrap();
        place
    });
    let [from, to] = images.map(|place| Arg::u64(place + 4 * FIRST as u64));
    let launch = Launch::default().grid([GRID[0], GRID[1], 1]).block([block[0], block[1], 1]).args(vec![
        from,
        to,
        Arg::u32(pitch as u32),
    ]);
    let report = engine.run(program, &memory, &launch).unwrap();
    if let Some(fault) = report.fault {
        return Err(fault);
    }
    let mut data = vec![0; 4 * WORDS];
    memory.read(images[1], &mut data).unwrap();
    Ok(data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
}

/// What a kernel makes of an image, unless it goes beyond it.
fn model(name: &str, block: [u32; 2], pitch: i32, from: &[u32]) -> Option<Vec<u32>> {
    let at =
        |x: i32, y: i32| usize::try_from(FIRST as i64 + i64::from(y) * i64::from(pitch) + i64::from(x)).ok();
    let load = |x: i32, y: i32| Some(f32::from_bits(*from.get(at(x, y)?)?));
    let mut to = vec![0; WORDS];
    let [wide, high] = block.map(|threads| threads as i32);
    for y in 0..GRID[1] as i32 * high {
        for x in 0..GRID[0] as i32 * wide {
            let value = match name {
                "copy" => load(x, y)? * 2.0,
                "neighbours" if x > 0 && y > 0 => {
                    load(x - 1, y)? + load(x + 1, y)? + load(x, y - 1)? + load(x, y + 1)?
                }
                "neighbours" => continue,
                _ => {
                    let (left, top) = (x / wide * wide, y / high * high);
                    let row = (0..wide).try_fold(0.0, |sum, j| Some(sum + load(left + j, y)?))?;
                    (0..high).try_fold(row, |sum, j| Some(sum + load(x, top + j)?))?
                }
            };
            *to.get_mut(at(x, y)?)? = value.to_bits();
        }
    }
    Some(to)
}

#[test]
fn images_in_blocks() {
    let engines = engines();
    // Small whole numbers: their sums are the same in any order, and none is no number.
    let from: Vec<u32> = random(WORDS, 11).iter().map(|&word| ((word % 1024) as f32).to_bits()).collect();
    let (mut faults, mut models) = (0, 0);
    for (name, program) in kernels() {
        for block in [[64, 1], [16, 16], [16, 4], [32, 8], [8, 8], [8, 3], [4, 16], [12, 12], [5, 7]] {
            for pitch in [
                400,
                401,
                100,
                8,
                1,
                0,
                -1,
                -200,
                -401,
                1 << 14,
                1 << 20,
                1 << 28,
                1 << 30,
                i32::MIN,
                -(1 << 26),
            ] {
                let wanted = run(&engines[0].1, &program, block, pitch, &from);
                faults += u32::from(wanted.is_err());
                // Rows over each other: who stores last, the model does not know.
                if let Some(model) = model(name, block, pitch, &from).filter(|_| pitch.unsigned_abs() >= 200)
                {
                    assert!(wanted.as_ref() == Ok(&model), "{name} {block:?} {pitch}: {:?}", wanted.err());
                    models += 1;
                }
                for (kind, engine) in &engines[1..] {
                    let got = run(engine, &program, block, pitch, &from);
                    // A lane beyond the address space may be named before one below without memory; and some lanes of a wave may be
                    // farther than others.
                    let same = match (&got, &wanted) {
                        (Err(got), Err(wanted)) if name != "copy" || pitch.unsigned_abs() >= 1 << 28 => {
                            (got.kind, got.block) == (wanted.kind, wanted.block)
                        }
                        _ => got == wanted,
                    };
                    let (got, wanted) = (got.err(), wanted.as_ref().err());
                    assert!(same, "{name} {block:?} {pitch} {kind}: {got:?}, not {wanted:?}");
                }
            }
        }
    }
    assert!(faults > 50 && models > 50, "{faults} faults, {models} by the model");
}
