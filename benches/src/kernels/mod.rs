//! The kernels of `benches/kernels/` that have a model and native code to compare with.
//!
//! Each file holds, for one kernel: its inputs, a model of its result that shares no code with the lifter, the native code, and
//! (if the guest's code is unrolled) a generator of its source.

pub mod aes;
pub mod black_scholes;
mod fermi;
pub mod mandelbrot;
pub mod md5;
pub mod nbody;
pub mod reduction;
pub mod saxpy;
pub mod sgemm;

use crate::simd::Simd;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Kernel, V4, V8, V16};

/// Buffers by name.
pub type Buffers = Vec<(&'static str, Vec<u8>)>;

/// Whose code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guest {
    /// A G84.
    Tesla,
    /// A GF100: the folder is below `fermi/`.
    Fermi,
}

impl Guest {
    /// The name that `--isa` and launch files have.
    pub fn name(self) -> &'static str {
        match self {
            Guest::Tesla => "tesla",
            Guest::Fermi => "fermi",
        }
    }
}

/// How near to the model a result must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal bits.
    Exact,
    /// Floats: difference over the magnitude of the larger one, or over 1 if that is more.
    Relative(f32),
    /// Words: the sum over all may differ by this share.
    Sum(f64),
}

/// A kernel that is known here, not just dropped into the folder.
pub trait Bench {
    /// Name of its folder.
    fn name(&self) -> &'static str;

    /// Whose code it has.
    fn guest(&self) -> Guest;

    /// Source of the guest's code, where it is generated.
    fn source(&self) -> Option<String> {
        None
    }

    /// Contents of const banks, by file name.
    fn const_files(&self) -> Vec<(&'static str, Vec<u8>)> {
        Vec::new()
    }

    /// Initial contents of the buffers that have one.
    fn inputs(&self) -> Buffers;

    /// What the guest's result must be, bit for bit.
    fn model(&self, inputs: &Buffers) -> Buffers;

    /// The native yardstick with these inputs.
    fn native(&self, inputs: &Buffers) -> Box<dyn Native>;

    /// The inputs of the two halves of the work, where memory is what bounds it: what two threads of native code gain then is
    /// measured, too.
    fn halves(&self, _inputs: &Buffers) -> Option<[Buffers; 2]> {
        None
    }

    /// How near the native result comes: it rounds as C does, not as the chip.
    fn native_tolerance(&self) -> Tolerance {
        Tolerance::Exact
    }

    /// The part of the result that the launch file expects: offset and bytes.
    fn slice(&self) -> (usize, usize) {
        (0, 1024)
    }
}

/// All of them, in the order of the table.
pub fn all() -> Vec<Box<dyn Bench>> {
    [Guest::Tesla, Guest::Fermi].into_iter().flat_map(of).collect()
}

/// The kernels of one instruction set.
fn of(guest: Guest) -> Vec<Box<dyn Bench>> {
    let mut benches: Vec<Box<dyn Bench>> = vec![
        Box::new(mandelbrot::Mandelbrot { guest, mad: false }),
        Box::new(mandelbrot::Mandelbrot { guest, mad: true }),
        Box::new(saxpy::Saxpy { guest, wide: false }),
        Box::new(sgemm::Sgemm { guest }),
        Box::new(md5::Md5 { guest }),
        Box::new(aes::Aes { guest }),
        Box::new(reduction::Reduction { guest }),
        Box::new(nbody::Nbody { guest }),
        Box::new(black_scholes::BlackScholes { guest }),
    ];
    if guest == Guest::Fermi {
        benches.insert(3, Box::new(saxpy::Saxpy { guest, wide: true }));
    }
    benches
}

/// One build of the native code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeBuild {
    /// Width of its vectors.
    pub bits: u32,
    /// Vectors in flight, or whatever the yardstick varies.
    pub unroll: usize,
}

/// A native yardstick with its memory.
pub trait Native: Send {
    /// The builds that this processor can run.
    fn builds(&self) -> Vec<NativeBuild>;
    /// Runs once.
    fn run(&mut self, build: NativeBuild);
    /// The result, as the guest would leave it.
    fn output(&self) -> Vec<u8>;
}

/// What a yardstick has to say; [`Native`] follows.
pub trait Yardstick {
    /// Values of [`NativeBuild::unroll`].
    fn unrolls(&self) -> &'static [usize];
    /// The work. Implementations must be `#[inline(always)]`.
    fn run<S: Simd>(&mut self, simd: S, unroll: usize);
    /// The result, as the guest would leave it.
    fn output(&self) -> Vec<u8>;
}

#[cfg(target_arch = "x86_64")]
struct Work<'a, Y>(&'a mut Y, usize);

#[cfg(target_arch = "x86_64")]
impl<Y: Yardstick> Kernel for Work<'_, Y> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.0.run(simd, self.1);
    }
}

#[cfg(target_arch = "x86_64")]
impl<Y: Yardstick + Send> Native for Y {
    fn builds(&self) -> Vec<NativeBuild> {
        let widths =
            [(128, V4::detect().is_some()), (256, V8::detect().is_some()), (512, V16::detect().is_some())];
        let there = widths.into_iter().filter(|(_, there)| *there);
        there
            .flat_map(|(bits, _)| self.unrolls().iter().map(move |&unroll| NativeBuild { bits, unroll }))
            .collect()
    }

    fn run(&mut self, build: NativeBuild) {
        let work = Work(self, build.unroll);
        match build.bits {
            128 => V4::detect().map(|simd| simd.run(work)),
            256 => V8::detect().map(|simd| simd.run(work)),
            _ => V16::detect().map(|simd| simd.run(work)),
        };
    }

    fn output(&self) -> Vec<u8> {
        Yardstick::output(self)
    }
}

/// There are yardsticks for x86-64 only.
#[cfg(not(target_arch = "x86_64"))]
impl<Y: Yardstick + Send> Native for Y {
    fn builds(&self) -> Vec<NativeBuild> {
        Vec::new()
    }

    fn run(&mut self, _: NativeBuild) {}

    fn output(&self) -> Vec<u8> {
        Yardstick::output(self)
    }
}
