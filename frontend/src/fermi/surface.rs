//! Surface accesses: loads, stores and reductions by slot (GF100) or by address (GK104); docs/hardware/textures-nv.md sections 11 to 13.

use warpjit_ir::device::TextureEntry;
use warpjit_ir::interp::atomic_result;
use warpjit_ir::{AtomicOp, DeviceCall, DeviceFault, DeviceFn};
use warpjit_texture::format::{self, Number};
use warpjit_texture::layout::nvidia::BlockLinear;
use warpjit_texture::{Format, Kind, Layout, Source, Texel, View};

/// Surface accesses.
pub(crate) static SURFACE: DeviceFn = DeviceFn { name: "fermi.surface", stores, run };

/// Loads keep the order of the program as well: a lane may see what another one has stored before.
fn stores(_: u64) -> bool {
    true
}

/// Words of the mailbox.
pub(super) const COORDINATES: u32 = 0;
pub(super) const VALUES: u32 = 3;
pub(super) const SLOT: u32 = 7;
pub(super) const FORMAT: u32 = 8;
pub(super) const OUTSIDE: u32 = 9;
/// Of the results, where it is told whether the texel was outside.
pub(super) const WAS_OUTSIDE: u32 = 4;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Load,
    Store,
    /// Converts values to the format.
    StoreConverted,
    Address,
    Reduce,
}

/// What happens outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outside {
    /// Loads give 0, stores are dropped.
    Nothing,
    /// Coordinates are clamped.
    Clamp,
    /// A fault.
    Fault,
}

/// What a surface instruction asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) operation: Operation,
    pub(super) outside: Outside,
    /// By address (GK104), not by slot.
    pub(super) by_address: bool,
    /// Of an address, all bits of the low word count, not just 0 to 7.
    pub(super) wide_low: bool,
    /// Log2 of the bytes accessed.
    pub(super) size: u8,
    /// Narrow values are signed.
    pub(super) signed: bool,
    /// Coordinates.
    pub(super) axes: u8,
    /// Components of a converted store.
    pub(super) mask: u8,
    /// Of a reduction, by [`AtomicOp::ALL`].
    pub(super) atomic: u8,
}

const OPERATIONS: [Operation; 5] =
    [Operation::Load, Operation::Store, Operation::StoreConverted, Operation::Address, Operation::Reduce];
const OUTSIDES: [Outside; 3] = [Outside::Nothing, Outside::Clamp, Outside::Fault];

/// Reductions, by number.
pub(super) const REDUCTIONS: [AtomicOp; 10] = [
    AtomicOp::Add,
    AtomicOp::Smin,
    AtomicOp::Umin,
    AtomicOp::Smax,
    AtomicOp::Umax,
    AtomicOp::Inc,
    AtomicOp::Dec,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
];

impl Request {
    /// As a number.
    pub(super) fn encode(&self) -> u64 {
        self.operation as u64
            | (self.outside as u64) << 3
            | u64::from(self.by_address) << 5
            | u64::from(self.size) << 6
            | u64::from(self.signed) << 9
            | u64::from(self.axes) << 10
            | u64::from(self.mask) << 12
            | u64::from(self.atomic) << 16
            | u64::from(self.wide_low) << 20
    }

    fn decode(code: u64) -> Request {
        let field = |at: u32, bits: u32| (code >> at & ((1 << bits) - 1)) as u8;
        let operation = OPERATIONS.get(usize::from(field(0, 3))).copied();
        let outside = OUTSIDES.get(usize::from(field(3, 2))).copied();
        Request {
            operation: operation.unwrap_or(Operation::Load),
            outside: outside.unwrap_or(Outside::Nothing),
            by_address: field(5, 1) != 0,
            size: field(6, 3),
            signed: field(9, 1) != 0,
            axes: field(10, 2),
            mask: field(12, 4),
            atomic: field(16, 4),
            wide_low: field(20, 1) != 0,
        }
    }

    fn bytes(&self) -> u32 {
        1 << self.size.min(4)
    }
}

/// A surface of a slot.
struct Surface {
    /// Of single bytes.
    bytes: View,
    /// Bytes of a row, rows.
    width: u32,
    height: u32,
    format: Option<Format>,
}

impl Surface {
    fn of(entry: &TextureEntry) -> Option<Surface> {
        let [high, low, width, height, format, tiles, ..] = *entry;
        if width == 0 {
            return None;
        }
        let is_linear = height >> 20 & 1 != 0;
        let rows = (height & 0xffff).max(1);
        let format = format::nvidia_surface(format >> 4 & 0xff);
        let element = format.map_or(1, |format| u32::from(format.bytes));
        let width = if is_linear { width } else { width.saturating_mul(element) };
        let layout = if is_linear {
            Layout::Pitch { pitch: width.into(), layer: 0 }
        } else {
            Layout::BlockLinear(BlockLinear {
                gob_rows: 3,
                block_height: (tiles >> 4 & 15) as u8,
                block_depth: 0,
                levels: 1,
                shrink: false,
            })
        };
        let bytes = View {
            kind: Kind::D2,
            size: [width, rows, 1],
            first_level: 0,
            last_level: 0,
            first_layer: 0,
            layers: 1,
            min_lod: 0,
            format: Format::fields(1, &[(0, 8, Number::Uint)]),
            sources: [Source::Zero; 4],
            normalized: false,
            layout,
            address: u64::from(low) | u64::from(high & 0xff) << 32,
        };
        Some(Surface { bytes, width, height: rows, format })
    }
}

/// Where an access is; outside of the surface, if anywhere.
struct TexelAddress {
    address: u64,
    outside: bool,
    format: Option<Format>,
}

fn run(call: &mut DeviceCall<'_>) -> Result<(), DeviceFault> {
    let request = Request::decode(call.params);
    for lane in call.each_lane() {
        let slot = (!request.by_address).then(|| call.arg(lane, SLOT));
        let wrong = |reason| DeviceFault::Texture { lane, slot, reason, address: None };
        let target = if request.by_address {
            by_address(call, &request, lane)
        } else {
            by_slot(call, &request, lane).ok_or(wrong("no surface"))?
        };
        if target.outside && request.outside == Outside::Fault {
            return Err(wrong("outside of the surface"));
        }
        let is_off = target.outside && request.outside != Outside::Clamp;
        let done = access(call, &request, lane, &target, is_off);
        done.map_err(|address| {
            let store = !matches!(request.operation, Operation::Load);
            DeviceFault::Memory { lane, address, store }
        })?;
        call.set(lane, WAS_OUTSIDE, if target.outside { u32::MAX } else { 0 });
    }
    Ok(())
}

/// GK104: the low word has bits 0 to 7, the high one the rest of the address; the predicate says that it is outside. With
/// type u32 or s32 the whole low word is added: linear surfaces' programs have an offset there.
fn by_address(call: &DeviceCall<'_>, request: &Request, lane: u32) -> TexelAddress {
    let [low, high] = [0, 1].map(|n| u64::from(call.arg(lane, COORDINATES + n)));
    let format = format::gk104_image(call.arg(lane, FORMAT) & 0xff);
    let low = if request.wide_low { low } else { low & 0xff };
    TexelAddress { address: low + (high << 8), outside: call.arg(lane, OUTSIDE) != 0, format }
}

/// GF100. x counts bytes, of converted stores elements; the third coordinate counts 256 bytes.
fn by_slot(call: &DeviceCall<'_>, request: &Request, lane: u32) -> Option<TexelAddress> {
    let slot = call.arg(lane, SLOT);
    let surfaces = &call.access.textures().surfaces;
    let surface = surfaces.iter().find(|(n, _)| *n == slot).and_then(|(_, entry)| Surface::of(entry))?;
    let coordinate = |n: u32| if n < request.axes.into() { call.arg(lane, COORDINATES + n) } else { 0 };
    let element = surface.format.map_or(1, |format| u32::from(format.bytes));
    let raw = request.operation != Operation::StoreConverted;
    let bytes = if raw { request.bytes() } else { element };
    let (mut x, mut y) = (coordinate(0), coordinate(1));
    let columns = if raw { surface.width } else { surface.width / element };
    let first_beyond = if raw { columns.saturating_sub(bytes - 1) } else { columns };
    let outside = x >= first_beyond || y >= surface.height;
    if outside {
        // As signed numbers: what is below 0 becomes 0.
        let clamp = |at: u32, end: u32| (at as i32).clamp(0, end.saturating_sub(1) as i32) as u32;
        let last =
            if raw { first_beyond.saturating_sub(1) & !(bytes - 1) } else { columns.saturating_sub(1) };
        x = clamp(x, last + 1);
        y = clamp(y, surface.height);
    }
    let column = if raw { x } else { x.wrapping_mul(element) };
    let address = surface.bytes.element_address(0, column, y, 0, 0);
    let address = address.wrapping_add(u64::from(coordinate(2)) << 8);
    Some(TexelAddress { address, outside, format: surface.format })
}

fn access(
    call: &mut DeviceCall<'_>,
    request: &Request,
    lane: u32,
    target: &TexelAddress,
    is_off: bool,
) -> Result<(), u64> {
    let values: Texel = std::array::from_fn(|n| call.arg(lane, VALUES + n as u32));
    let bytes = request.bytes() as usize;
    match request.operation {
        Operation::Load => {
            let mut element = [0; 16];
            if !is_off {
                call.access.read(target.address, &mut element[..bytes])?;
            }
            let mut words: Texel = std::array::from_fn(|n| {
                u32::from_le_bytes([
                    element[4 * n],
                    element[4 * n + 1],
                    element[4 * n + 2],
                    element[4 * n + 3],
                ])
            });
            if request.signed && bytes < 4 {
                let unused = 32 - 8 * bytes as u32;
                words[0] = ((words[0] << unused) as i32 >> unused) as u32;
            }
            for (n, word) in (0..).zip(words) {
                call.set(lane, n, word);
            }
        }
        Operation::Store | Operation::StoreConverted if is_off => {}
        Operation::Store => {
            let element: Vec<u8> = values.iter().flat_map(|word| word.to_le_bytes()).collect();
            call.access.write(target.address, &element[..bytes])?;
        }
        Operation::StoreConverted => {
            let mut texel = [0; 4];
            let mut next = values.into_iter();
            for (k, component) in texel.iter_mut().enumerate() {
                if request.mask >> k & 1 != 0 {
                    *component = next.next().unwrap_or(0);
                }
            }
            let Some(format) = target.format else { return Ok(()) };
            if let Some(element) = format.encode(texel) {
                call.access.write(target.address, &element[..usize::from(format.bytes)])?;
            }
        }
        Operation::Address => {
            call.set(lane, 0, target.address as u32);
            call.set(lane, 1, (target.address >> 32) as u32);
        }
        Operation::Reduce => {
            if !is_off {
                let op = REDUCTIONS.get(usize::from(request.atomic)).copied().unwrap_or(AtomicOp::Add);
                let value = u64::from(values[0]);
                call.access.update(target.address, 4, &|old| atomic_result(op, 4, old, value, 0))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::DeviceMemory;

    /// A tiled surface of 16 x 8 RGBA8 texels in slot 2, a linear one of 256 bytes in slot 3.
    fn memory() -> DeviceMemory {
        let mut access = DeviceMemory::new(0x400);
        access.tables.surfaces = vec![
            (2, [0, 0x1000, 16, 8, 0x14d50, 0, 0, 0]),
            (3, [0, 0x1200, 256, 0x10_0001, 0x14000, 0, 0, 0]),
        ];
        access
    }

    const LOAD: Request = Request {
        operation: Operation::Load,
        outside: Outside::Nothing,
        by_address: false,
        wide_low: false,
        size: 2,
        signed: false,
        axes: 2,
        mask: 0,
        atomic: 0,
    };

    fn call(access: &mut DeviceMemory, request: Request, words: &[(u32, u32)]) -> Result<u32, DeviceFault> {
        for (n, value) in words {
            warpjit_ir::DeviceAccess::set_local(access, 0, 4 * n, *value);
        }
        run(&mut DeviceCall { params: request.encode(), mailbox: 0, lanes: 1, access })?;
        Ok(warpjit_ir::DeviceAccess::local(access, 0, 0))
    }

    #[test]
    fn numbers() {
        let all = Request {
            operation: Operation::Reduce,
            outside: Outside::Fault,
            by_address: true,
            wide_low: true,
            size: 4,
            signed: true,
            axes: 3,
            mask: 15,
            atomic: 9,
        };
        assert_eq!([LOAD, all].map(|request| Request::decode(request.encode())), [LOAD, all]);
    }

    #[test]
    fn texels() {
        let mut access = memory();
        // Two rows down, three texels in; x of raw accesses counts bytes.
        access.memory[2 * 64 + 12..][..4].copy_from_slice(&0x8001u32.to_le_bytes());
        let at = |x, y| [(COORDINATES, x), (COORDINATES + 1, y), (SLOT, 2)];
        assert_eq!(call(&mut access, LOAD, &at(12, 2)), Ok(0x8001));
        assert_eq!(call(&mut access, Request { size: 1, signed: true, ..LOAD }, &at(12, 2)), Ok(0xffff_8001));
        // Outside: nothing, the last texel, a fault.
        access.memory[7 * 64 + 60] = 9;
        assert_eq!(call(&mut access, LOAD, &at(64, 9)), Ok(0));
        assert_eq!(call(&mut access, Request { outside: Outside::Clamp, ..LOAD }, &at(64, 9)), Ok(9));
        let trapping = Request { outside: Outside::Fault, ..LOAD };
        assert!(matches!(
            call(&mut access, trapping, &at(64, 9)),
            Err(DeviceFault::Texture { slot: Some(2), reason: "outside of the surface", .. })
        ));
        assert!(matches!(
            call(&mut access, LOAD, &[(SLOT, 1)]),
            Err(DeviceFault::Texture { slot: Some(1), reason: "no surface", .. })
        ));
    }

    #[test]
    fn stores_and_reductions() {
        let mut access = memory();
        let converted = Request { operation: Operation::StoreConverted, mask: 5, ..LOAD };
        let values = [(VALUES, 1.0f32.to_bits()), (VALUES + 1, 0.5f32.to_bits())];
        let words = [&[(COORDINATES, 1), (COORDINATES + 1, 1), (SLOT, 2)], &values[..]].concat();
        call(&mut access, converted, &words).unwrap();
        assert_eq!(access.memory[64 + 4..64 + 8], [255, 0, 128, 0]);
        let sum = Request { operation: Operation::Reduce, axes: 1, ..LOAD };
        for _ in 0..2 {
            call(&mut access, sum, &[(COORDINATES, 8), (SLOT, 3), (VALUES, 5)]).unwrap();
        }
        assert_eq!(access.memory[0x208], 10);
        // GK104: an address in two parts.
        let by_address = Request { by_address: true, ..LOAD };
        assert_eq!(call(&mut access, by_address, &[(COORDINATES, 0xff08), (COORDINATES + 1, 0x12)]), Ok(10));
        assert_eq!(
            call(&mut access, by_address, &[(COORDINATES, 8), (COORDINATES + 1, 0x12), (OUTSIDE, 1)]),
            Ok(0)
        );
    }
}
