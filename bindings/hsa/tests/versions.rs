//! Code objects of each version of their format, of several compilers, on a device whose kernels learn from the queue where LDS and scratch
//! are.

// Other tests use the rest.
#[allow(dead_code, unused_imports)]
#[path = "calls/support.rs"]
mod support;

use support::{Buffer, CHIP, Dispatch, Executable, Queue, arguments, corpus};
use warpjit_hsa::memory::Pool;

const NO_LDS: u32 = 0;

/// Loads a file, runs its kernel, and gives what a buffer holds then.
fn run(
    file: &str,
    (group, grid): ([u32; 3], [u32; 3]),
    dynamic: u32,
    explicit: &[&[u8]],
    out: &Buffer,
) -> Vec<u8> {
    CHIP.get_or_init(|| "fiji");
    let bytes = corpus(file);
    let version = bytes[8];
    let executable = Executable::new(&bytes);
    let name = file.split('/').next().unwrap().trim_end_matches("_v5").to_owned();
    // Kernels of version 2 have no descriptors with names of their own.
    let kernel = if version == 0 { name } else { name + ".kd" };
    let kernarg = arguments(explicit);
    if version >= 3 {
        // Behind the arguments: groups and work-items of a group along each axis, the work-items of the last group, global offsets, axes.
        let mut hidden = vec![0; 72];
        for axis in 0..3 {
            hidden[4 * axis..][..4].copy_from_slice(&(grid[axis] / group[axis]).to_le_bytes());
            hidden[12 + 2 * axis..][..2].copy_from_slice(&(group[axis] as u16).to_le_bytes());
            hidden[18 + 2 * axis..][..2].copy_from_slice(&((grid[axis] % group[axis]) as u16).to_le_bytes());
        }
        hidden[64] = 3;
        let end = explicit.iter().fold(0, |at, part| usize::next_multiple_of(at, part.len()) + part.len());
        kernarg.set(end.next_multiple_of(8), &hidden);
    }
    let dispatch =
        Dispatch { executable: &executable, kernel: &kernel, group, grid, dynamic, kernarg: &kernarg };
    dispatch.run(&Queue::new(64));
    out.get()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// A last group that is not full. Version 2 of clang 14, version 5 of clang 22.
#[test]
fn saxpy() {
    for file in ["saxpy/fiji.co", "saxpy_v5/fiji.co"] {
        CHIP.get_or_init(|| "fiji");
        let (x, y) = (Buffer::with(&corpus("saxpy/x.in.bin")), Buffer::with(&corpus("saxpy/y.in.bin")));
        let given: [&[u8]; 4] = [&y.pointer(), &x.pointer(), &2.5_f32.to_le_bytes(), &1000_i32.to_le_bytes()];
        let got = run(file, ([64, 1, 1], [1000, 1, 1]), NO_LDS, &given, &y);
        for (one, two) in floats(&got).iter().zip(floats(&corpus("saxpy/y.out.bin"))) {
            assert!((one - two).abs() <= two.abs() * 2.5e-7, "{file}: {one} {two}");
        }
    }
}

/// What a kernel knows of the grid, in three dimensions.
#[test]
fn indices() {
    for file in ["ids3d/fiji.co", "ids3d_v5/fiji.co"] {
        CHIP.get_or_init(|| "fiji");
        let out = Buffer::new(Pool::Device, 18432);
        let got = run(file, ([8, 4, 3], [24, 8, 6]), NO_LDS, &[&out.pointer()], &out);
        assert_eq!(got, corpus("ids3d/out.out.bin"), "{file}");
    }
}

/// LDS whose size the packet says. Versions 3 and 5.
#[test]
fn lds() {
    for file in ["reduce_tree/fiji.co", "reduce_tree_v5/fiji.co"] {
        CHIP.get_or_init(|| "fiji");
        let (from, to) = (Buffer::with(&corpus("reduce_tree/in.in.bin")), Buffer::new(Pool::Device, 16));
        let lds = 0_u32.to_le_bytes();
        let given: [&[u8]; 4] = [&from.pointer(), &to.pointer(), &lds, &5000_i32.to_le_bytes()];
        run(file, ([128, 1, 1], [512, 1, 1]), 512, &given, &to);
        assert_eq!(to.words(), [793_787_328, 2_301_804_489, 539_511_041, 2_507_885_726], "{file}");
    }
}

/// LDS of the kernel's own, in version 2.
#[test]
fn old_lds() {
    CHIP.get_or_init(|| "fiji");
    let data = Buffer::with(&corpus("bitonic_lds/data.in.bin"));
    let got = run("bitonic_lds/fiji.co", ([256, 1, 1], [512, 1, 1]), NO_LDS, &[&data.pointer()], &data);
    assert_eq!(got, corpus("bitonic_lds/data.out.bin"));
}

/// Scratch. Versions 4 and 5.
#[test]
fn scratch() {
    for file in ["private_sort/fiji.co", "private_sort_v5/fiji.co"] {
        CHIP.get_or_init(|| "fiji");
        let (from, to) = (Buffer::with(&corpus("private_sort/in.in.bin")), Buffer::new(Pool::Device, 8064));
        let given: [&[u8]; 3] = [&from.pointer(), &to.pointer(), &20_i32.to_le_bytes()];
        let got = run(file, ([32, 1, 1], [96, 1, 1]), NO_LDS, &given, &to);
        assert_eq!(got, corpus("private_sort/out.out.bin"), "{file}");
    }
}
