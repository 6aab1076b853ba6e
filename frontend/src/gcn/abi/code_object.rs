//! Sets up kernels of code objects: from a kernel's descriptor and metadata to the registers, memory and arguments that a launch
//! provides (docs/hardware/gcn.md section 6).

use std::sync::Arc;

use warpjit_ir::{Builtin, HeaderField, Segment, SegmentSize, Space};

use super::rsrc::{Rsrc1, Rsrc2};
use super::{
    CODE_ADDRESS, KERNARG, KERNARG_ADDRESS, LANES, PACKET_ADDRESS, PRIVATE_APERTURE, QUEUE_ADDRESS,
    SCRATCH_ADDRESS, SCRATCH_GRANULE, SHARED_APERTURE, Setup, code_segment, limits, property,
};
use crate::error::CodeError;
use crate::gcn::Generation;
use crate::gcn::lift::{Entry, Register};
use crate::module::{ArgKind, CodeObject, Kernel, KernelArg};

/// A kernel of a code object: as its descriptor says.
pub(in crate::gcn) fn code_object(
    generation: Generation,
    kernel: &Kernel,
    object: &CodeObject,
) -> Result<Setup, CodeError> {
    let (rsrc1, rsrc2) = (Rsrc1(object.rsrc1), Rsrc2(object.rsrc2));
    rsrc1.check(generation, Some(&kernel.name))?;
    let setup = Setup {
        abi: limits(generation),
        preload: Vec::new(),
        mode: rsrc1.mode() | rsrc2.exceptions(generation),
        vgprs: rsrc1.vgprs(),
        sgprs: rsrc1.sgprs(generation),
        params: None,
        shared_bytes: kernel.shared_bytes.max(rsrc2.lds_bytes(generation)),
        local_bytes: kernel.local_bytes,
        apertures: if may_know_apertures(generation, object) {
            (SHARED_APERTURE, PRIVATE_APERTURE)
        } else {
            (0, 0)
        },
    };
    let mut builder = Builder { setup, kernel: &kernel.name, object, generation, sgpr: 0 };
    builder.segments();
    builder.arguments();
    builder.registers()?;
    Ok(builder.setup)
}

/// Whether a program can make flat addresses of LDS or scratch. Before 1.4 the apertures are in the queue, or in hidden
/// arguments.
fn may_know_apertures(generation: Generation, object: &CodeObject) -> bool {
    let tells = |arg: &KernelArg| match &arg.kind {
        ArgKind::Hidden(name) => matches!(name.as_str(), "queue_ptr" | "private_base" | "shared_base"),
        _ => false,
    };
    generation == Generation::Gfx9
        || object.properties & property::QUEUE_POINTER != 0
        || object.args.iter().flatten().any(tells)
}

struct Builder<'a> {
    setup: Setup,
    kernel: &'a str,
    object: &'a CodeObject,
    generation: Generation,
    /// The next SGPR to set up.
    sgpr: u8,
}

impl Builder<'_> {
    fn has(&self, property: u32) -> bool {
        self.object.properties & property != 0
    }

    fn segments(&mut self) {
        // What the launch says is not the kernel's to write (HSA PRM: the kernarg segment is read-only), and compilers rely on that.
        let segment = |name, address, size, contents: Vec<(u32, Arc<[u8]>)>| Segment {
            name,
            address,
            size,
            writable: false,
            contents,
        };
        let writable = |segment: Segment| Segment { writable: true, ..segment };
        let bytes = SegmentSize::Bytes;
        let (object, private) = (self.object, self.setup.local_bytes);
        let mut list = vec![
            segment("kernel arguments", KERNARG_ADDRESS, bytes(object.kernarg_bytes), Vec::new()),
            code_segment(object.image.clone()),
        ];
        if let Some(variables) = &object.variables {
            // They begin on a page of their own; what is before is only read.
            let (start, image) = (variables.start as usize, &object.image);
            list[1] = code_segment(image[..start].into());
            let address = CODE_ADDRESS + start as u64;
            list.push(writable(segment("variables", address, bytes(0), vec![(0, image[start..].into())])));
        }
        if self.has(property::DISPATCH_POINTER) {
            let packet = list.len() as u8;
            list.push(segment("dispatch packet", PACKET_ADDRESS, bytes(64), self.packet(private)));
            let field =
                |offset, bytes, value| HeaderField { space: Space::Global(packet), offset, bytes, value };
            let header = &mut self.setup.abi.header;
            header.extend([field(2, 2, Builtin::Axes), field(28, 4, Builtin::SharedBytes)]);
            for axis in 0..3 {
                header.push(field(4 + 2 * u32::from(axis), 2, Builtin::Ntid(axis)));
                header.push(field(12 + 4 * u32::from(axis), 4, Builtin::GridThreads(axis)));
            }
        }
        let queue = |arg: &ArgKind| matches!(arg, ArgKind::Hidden(name) if name == "queue_ptr");
        if self.has(property::QUEUE_POINTER) || object.args.iter().flatten().any(|arg| queue(&arg.kind)) {
            let contents = vec![
                (0x40, Arc::from(SHARED_APERTURE.to_le_bytes())),
                (0x44, Arc::from(PRIVATE_APERTURE.to_le_bytes())),
            ];
            list.push(segment("queue", QUEUE_ADDRESS, bytes(0x100), contents));
        }
        if private != 0 {
            let stride = (private * LANES).next_multiple_of(SCRATCH_GRANULE);
            let size = SegmentSize::PerWarp(stride);
            list.push(writable(segment("scratch", SCRATCH_ADDRESS, size, Vec::new())));
        }
        self.setup.abi.segments = list;
    }

    /// What does not depend on the launch in the packet that libraries read sizes from (docs/hardware/gcn.md section 6.3).
    fn packet(&self, private: u32) -> Vec<(u32, Arc<[u8]>)> {
        const KERNEL_DISPATCH: u16 = 2;
        let descriptor = CODE_ADDRESS + u64::from(self.object.descriptor);
        vec![
            (0, Arc::from(KERNEL_DISPATCH.to_le_bytes())),
            (24, Arc::from(private.to_le_bytes())),
            (32, Arc::from(descriptor.to_le_bytes())),
            (40, Arc::from(KERNARG_ADDRESS.to_le_bytes())),
        ]
    }

    fn arguments(&mut self) {
        let field = |offset, bytes: u32, value| HeaderField {
            space: Space::Global(KERNARG),
            offset,
            bytes: bytes.min(4) as u8,
            value,
        };
        let abi = &mut self.setup.abi;
        abi.params.max_bytes = crate::gcn::map::KERNARG_BYTES;
        let Some(args) = &self.object.args else {
            // Behind the arguments of Mesa's form stand the number of axes, and the global offsets. Where a kernel does
            // not read them, newer compilers leave no room for them, and nothing says so: arguments may take all there
            // is, and lie over what is behind them in the other case.
            const MESA_HIDDEN: u32 = 16;
            if let Some(hidden) = self.object.kernarg_bytes.checked_sub(MESA_HIDDEN)
                && self.object.mesa
            {
                abi.header.push(field(hidden, 4, Builtin::Axes));
            }
            if self.object.kernarg_bytes != 0 {
                abi.params.max_bytes = self.object.kernarg_bytes;
            }
            return;
        };
        let mut params = Vec::new();
        for arg in args {
            let ArgKind::Hidden(name) = &arg.kind else {
                params.push((arg.offset, arg.bytes));
                continue;
            };
            let constant = |value: u64| {
                let bytes = value.to_le_bytes();
                (arg.offset, Arc::from(&bytes[..bytes.len().min(arg.bytes as usize)]))
            };
            let contents = &mut abi.segments[usize::from(KERNARG)].contents;
            match name.as_str() {
                "private_base" => contents.push(constant(PRIVATE_APERTURE.into())),
                "shared_base" => contents.push(constant(SHARED_APERTURE.into())),
                "queue_ptr" => contents.push(constant(QUEUE_ADDRESS)),
                // Zero is right for all that are not in the table, such as offsets and remainders.
                name => {
                    if let Some((_, value)) = HIDDEN.iter().find(|(known, _)| *known == name) {
                        abi.header.push(field(arg.offset, arg.bytes, *value));
                    }
                }
            }
        }
        self.setup.params = Some(params);
    }

    /// The next SGPR gets a value.
    fn push(&mut self, entry: Entry) {
        self.setup.preload.push((Register::Scalar(self.sgpr), entry));
        self.sgpr += 1;
    }

    fn push64(&mut self, value: u64) {
        self.push(Entry::Const(value as u32));
        self.push(Entry::Const((value >> 32) as u32));
    }

    fn registers(&mut self) -> Result<(), CodeError> {
        let private = self.setup.local_bytes;
        let rsrc2 = Rsrc2(self.object.rsrc2);
        if self.has(property::PRIVATE_BUFFER) {
            let words = self.private_buffer();
            words.into_iter().for_each(|word| self.push(Entry::Const(word)));
        }
        if self.has(property::DISPATCH_POINTER) {
            self.push64(PACKET_ADDRESS);
        }
        if self.has(property::QUEUE_POINTER) {
            self.push64(QUEUE_ADDRESS);
        }
        if self.has(property::KERNARG_POINTER) {
            self.push64(KERNARG_ADDRESS);
        }
        if self.has(property::DISPATCH_ID) {
            self.push64(0);
        }
        if self.has(property::FLAT_SCRATCH) {
            if self.generation == Generation::Gfx9 {
                self.push64(SCRATCH_ADDRESS);
            } else {
                // Offset from where FLAT_SCRATCH counts, and bytes of a lane.
                self.push64(u64::from(private) << 32);
            }
        }
        if self.has(property::PRIVATE_BYTES) {
            self.push(Entry::Const(private));
        }
        for (axis, property) in property::GRID.into_iter().enumerate() {
            if self.has(property) {
                self.push(Entry::Builtin(Builtin::Nctaid(axis as u8)));
            }
        }
        let (wanted, count) = (u32::from(self.sgpr), rsrc2.user_sgprs());
        if wanted > count {
            return Err(CodeError::DescriptorUserSgprs {
                kernel: self.kernel.into(),
                users: wanted,
                limit: count,
            });
        }
        let scratch = self.setup.abi.segments.iter().position(|segment| segment.name == "scratch");
        let scratch = scratch.map_or(Entry::Const(0), |segment| Entry::WarpOffset(segment as u8));
        rsrc2.load_registers(&mut self.setup, scratch).map_err(|(loaded, sgprs)| CodeError::DescriptorSgprs {
            kernel: self.kernel.into(),
            loaded,
            sgprs,
        })
    }

    /// The buffer resource of scratch (docs/hardware/gcn.md section 6.4).
    fn private_buffer(&self) -> [u32; 4] {
        const SWIZZLE: u32 = 1 << 31;
        /// Elements of 4 bytes, 64 of them side by side, the lane is the index.
        const LAYOUT: u32 = 1 << 19 | 3 << 21 | 1 << 23;
        /// A data format has to be there; with the lane as index its bits mean something else from 1.2 on.
        const FORMAT: u32 = 0xf000;
        let format = if self.generation.is_old() { FORMAT } else { 0 };
        let high = (SCRATCH_ADDRESS >> 32) as u32;
        [SCRATCH_ADDRESS as u32, high | SWIZZLE, u32::MAX, LAYOUT | format]
    }
}

/// Hidden arguments that depend on the launch.
const HIDDEN: [(&str, Builtin); 7] = [
    ("block_count_x", Builtin::Nctaid(0)),
    ("block_count_y", Builtin::Nctaid(1)),
    ("block_count_z", Builtin::Nctaid(2)),
    ("group_size_x", Builtin::Ntid(0)),
    ("group_size_y", Builtin::Ntid(1)),
    ("group_size_z", Builtin::Ntid(2)),
    ("grid_dims", Builtin::Axes),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    fn setup(file: &str, change: impl Fn(&mut CodeObject)) -> Result<Setup, CodeError> {
        let path = format!("{}/../tests/corpus/gcn/{file}", env!("CARGO_MANIFEST_DIR"));
        let mut module = crate::container::load(&std::fs::read(path).unwrap(), Isa::Gcn).unwrap();
        let Some(crate::Chip::Gcn(chip)) = module.chip else { panic!("{:?}", module.chip) };
        let generation = chip.generation();
        let kernel = &mut module.kernels[0];
        let mut object = kernel.code_object.take().unwrap();
        change(&mut object);
        code_object(generation, kernel, &object)
    }

    fn scalars(setup: &Setup) -> Vec<(u8, Entry)> {
        let scalar = |&(register, entry): &(Register, Entry)| match register {
            Register::Scalar(number) => Some((number, entry)),
            Register::Vgpr(_) => None,
        };
        setup.preload.iter().filter_map(scalar).collect()
    }

    fn names(setup: &Setup) -> Vec<&'static str> {
        setup.abi.segments.iter().map(|segment| segment.name).collect()
    }

    /// s[0:3] private segment buffer, s[4:5] dispatch, s[6:7] kernarg, s8 workgroup (docs/hardware/gcn.md section 6.2).
    #[test]
    fn registers_of_a_typical_kernel() {
        let setup = setup("saxpy/fiji.co", |_| ()).unwrap();
        let scalars = scalars(&setup);
        assert_eq!(
            scalars.iter().map(|&(number, _)| number).collect::<Vec<_>>(),
            (0..=8).collect::<Vec<_>>()
        );
        assert_eq!(
            scalars[4..],
            [
                (4, Entry::Const(0x1100_0000)),
                (5, Entry::Const(0xf)),
                (6, Entry::Const(0x1000_0000)),
                (7, Entry::Const(0xf)),
                (8, Entry::Builtin(Builtin::Ctaid(0))),
            ]
        );
        assert_eq!(names(&setup), ["kernel arguments", "code", "dispatch packet"]);
        assert_eq!((setup.mode, setup.vgprs, setup.sgprs), (0x3c0, 4, 16));
        assert_eq!(setup.params, Some(vec![(0, 8), (8, 8), (16, 4), (20, 4)]));
        let vgprs: Vec<_> = setup.preload.iter().filter(|(r, _)| matches!(r, Register::Vgpr(_))).collect();
        assert_eq!(vgprs, [&(Register::Vgpr(0), Entry::Builtin(Builtin::Tid(0)))]);
    }

    /// The scratch buffer and flat scratch of 1.2 and 1.4, and the wave's offset behind the workgroup's id.
    #[test]
    fn scratch() {
        for (file, flat) in [
            ("private_sort/fiji.co", [Entry::Const(0), Entry::Const(132)]),
            ("private_sort/vega10.co", [Entry::Const(0x2000_0000), Entry::Const(0xf)]),
        ] {
            let setup = setup(file, |_| ()).unwrap();
            assert_eq!(names(&setup), ["kernel arguments", "code", "dispatch packet", "scratch"]);
            assert_eq!(setup.abi.segments[3].size, SegmentSize::PerWarp(9 * 1024), "64 * 132 in whole KiB");
            let scalars = scalars(&setup);
            assert_eq!(
                scalars[..4],
                [
                    (0, Entry::Const(0x2000_0000)),
                    (1, Entry::Const(0x8000_000f)),
                    (2, Entry::Const(u32::MAX)),
                    (3, Entry::Const(0x00e8_0000)),
                ]
            );
            assert_eq!([scalars[8].1, scalars[9].1], flat, "{file}");
            assert_eq!(scalars.last(), Some(&(11, Entry::WarpOffset(3))));
        }
    }

    #[test]
    fn hidden_arguments() {
        let setup = setup("private_sort_v5/vega10.co", |_| ()).unwrap();
        let found = |value| {
            let is = |field: &&HeaderField| field.value == value && field.space == Space::Global(KERNARG);
            setup.abi.header.iter().find(is).map(|field| (field.offset, field.bytes))
        };
        assert_eq!(found(Builtin::Nctaid(2)), Some((32, 4)));
        assert_eq!(found(Builtin::Ntid(1)), Some((38, 2)));
        assert_eq!(found(Builtin::Axes), Some((88, 2)));
        assert_eq!(setup.abi.segments[0].size, SegmentSize::Bytes(280));
        // Mesa's are the last 16 bytes of what the descriptor says, or not there: arguments may take their place.
        let mesa = super::tests::setup("ids3d/tahiti.co", |_| ()).unwrap();
        let axes = mesa.abi.header.iter().find(|field| field.space == Space::Global(KERNARG)).unwrap();
        assert_eq!((axes.offset, axes.value, mesa.abi.params.max_bytes), (8, Builtin::Axes, 24));
    }

    #[test]
    fn descriptors_that_contradict_themselves() {
        let text =
            |file: &str, change: &dyn Fn(&mut CodeObject)| setup(file, change).unwrap_err().to_string();
        assert_eq!(
            text("saxpy/fiji.co", &|object| object.rsrc2 = 0x80 | 4 << 1),
            "kernel saxpy: its descriptor wants 8 user SGPRs set up and has room for 4"
        );
        assert_eq!(
            text("saxpy/fiji.co", &|object| object.rsrc1 |= 15 << 6),
            "kernel saxpy: its descriptor wants 128 SGPRs, fiji has 112"
        );
        assert_eq!(
            text("saxpy/fiji.co", &|object| object.rsrc1 &= !(15 << 6)),
            "kernel saxpy: its descriptor wants 9 SGPRs set up and gives a wave 8"
        );
    }
}
