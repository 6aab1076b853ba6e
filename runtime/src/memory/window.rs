//! Windows to global memory (Tesla's g0[] to g15[]): translates a window's addresses to addresses in the guest's address space,
//! and back.

use super::window_access::{ALIGNED, FEWEST, TILE_WIDTH, WINDOWS, Window, WindowWords};
use std::hash::{Hash, Hasher};

use crate::{Error, GlobalMode, GlobalSpace, LaunchError};

/// Largest size of a window.
const SPACE_BYTES: u64 = 1 << 32;
/// The largest tile mode.
const MOST_TILE_MODE: u32 = 5;

/// All windows of a launch.
#[derive(Debug, Clone, Default)]
pub struct Windows {
    /// `None`: every window is the whole address space.
    list: Option<Box<[Option<GlobalSpace>; WINDOWS]>>,
}

impl Windows {
    /// Checks the windows of a launch. With an empty list, every window is the whole address space.
    pub fn new(spaces: &[GlobalSpace]) -> Result<Self, Error> {
        if spaces.is_empty() {
            return Ok(Windows { list: None });
        }
        let mut list = Box::new([None; WINDOWS]);
        for space in spaces {
            let window = space.index;
            let place = usize::try_from(space.index)
                .ok()
                .and_then(|index| list.get_mut(index))
                .ok_or(LaunchError::NoWindow { window, limit: WINDOWS })?;
            if place.is_some() {
                return Err(LaunchError::WindowTwice { window }.into());
            }
            if space.address.checked_add(space.bytes).is_none_or(|end| end > SPACE_BYTES) {
                let GlobalSpace { address, bytes, .. } = *space;
                return Err(LaunchError::WindowBeyond { window, address, bytes }.into());
            }
            if let GlobalMode::Tiled2d { pitch, width, height, tile_mode } = space.mode {
                if tile_mode > MOST_TILE_MODE {
                    return Err(
                        LaunchError::TileMode { window, found: tile_mode, limit: MOST_TILE_MODE }.into()
                    );
                }
                if pitch == 0 || pitch % TILE_WIDTH != 0 {
                    return Err(LaunchError::TilePitch { window, pitch, align: TILE_WIDTH }.into());
                }
                if width > pitch || width > 1 << 16 || height > 1 << 16 {
                    return Err(LaunchError::TiledSize { window, width, height }.into());
                }
                let rows = u64::from(height).next_multiple_of(4 << tile_mode);
                if rows * u64::from(pitch) > space.bytes {
                    return Err(LaunchError::TiledRows { window, rows, pitch, limit: space.bytes }.into());
                }
            }
            *place = Some(*space);
        }
        Ok(Windows { list: Some(list) })
    }

    /// The guest address of an access through a window; `None` if any byte of it is outside.
    #[inline]
    pub fn translate(&self, window: u8, address: u64, bytes: u8) -> Option<u64> {
        let Some(list) = &self.list else { return Some(address) };
        let space = list.get(usize::from(window))?.as_ref()?;
        let last = u64::from(bytes.max(1)) - 1;
        match space.mode {
            GlobalMode::Linear => {
                let end = address.checked_add(last)?;
                (end < space.bytes).then(|| space.address + address)
            }
            GlobalMode::Tiled2d { pitch, width, height, tile_mode } => {
                let (x, y) = (address as u32 & 0xffff, (address >> 16) as u32);
                if address >= SPACE_BYTES || u64::from(x) + last >= u64::from(width) || y >= height {
                    return None;
                }
                // An access must not cross the end of its row of a tile; a naturally aligned one never does.
                if u64::from(x % TILE_WIDTH) + last >= u64::from(TILE_WIDTH) {
                    return None;
                }
                let rows = 4u32 << tile_mode;
                let tile = u64::from(y / rows) * u64::from(pitch / TILE_WIDTH) + u64::from(x / TILE_WIDTH);
                let inside = (y % rows) * TILE_WIDTH + x % TILE_WIDTH;
                Some(space.address + tile * u64::from(rows * TILE_WIDTH) + u64::from(inside))
            }
        }
    }

    /// The inverse of [`Windows::translate`]: the window's address for a guest address.
    pub fn back(&self, window: u8, address: u64) -> u64 {
        let space = self.list.as_ref().and_then(|list| list.get(usize::from(window))?.as_ref());
        let Some(space) = space else { return address };
        let inside = address.wrapping_sub(space.address);
        match space.mode {
            GlobalMode::Linear => inside,
            GlobalMode::Tiled2d { pitch, tile_mode, .. } => {
                let (rows, width) = (4u64 << tile_mode, u64::from(TILE_WIDTH));
                let (tile, inside) = (inside / (rows * width), inside % (rows * width));
                let tiles = u64::from(pitch / TILE_WIDTH);
                let x = tile % tiles * width + inside % width;
                let y = tile / tiles * rows + inside / width;
                y << 16 | x
            }
        }
    }

    /// Adds them to a digest.
    pub fn digest(&self, into: &mut impl Hasher) {
        for space in self.list.iter().flat_map(|list| list.iter()).flatten() {
            (space.index, space.address, space.bytes).hash(into);
            match space.mode {
                GlobalMode::Linear => false.hash(into),
                GlobalMode::Tiled2d { pitch, width, height, tile_mode } => {
                    (true, pitch, width, height, tile_mode).hash(into);
                }
            }
        }
    }

    /// The descriptions of the windows that compiled code reads; `None` if every window is the whole address space.
    pub fn words(&self) -> Option<Vec<u8>> {
        let words_of = |space: &Option<GlobalSpace>| {
            let Some(space) = space else { return WindowWords::default() };
            // Windows only exist in 32-bit address spaces.
            let words = WindowWords {
                start: space.address as u32,
                last: space.bytes.wrapping_sub(1) as u32,
                ..WindowWords::default()
            };
            match space.mode {
                GlobalMode::Linear => words,
                GlobalMode::Tiled2d { pitch, width, height, tile_mode } => {
                    WindowWords { width, height, tiles: pitch / TILE_WIDTH, rows: 2 + tile_mode, ..words }
                }
            }
        };
        let list = self.list.as_ref()?;
        Some(list.iter().flat_map(|space| words_of(space).to_bytes()).collect())
    }
}

/// The kind of each window of a launch, which code depends on; `None` if every window is the whole address space.
pub fn kinds(spaces: &[GlobalSpace]) -> Option<[Window; WINDOWS]> {
    let kind = |space: &GlobalSpace| match space.mode {
        _ if !space.address.is_multiple_of(ALIGNED) => Window::Other,
        GlobalMode::Linear if space.bytes >= FEWEST => Window::Linear,
        GlobalMode::Linear => Window::Other,
        GlobalMode::Tiled2d { .. } => Window::Tiled,
    };
    let of = |number: usize| spaces.iter().find(|space| space.index as usize == number);
    (!spaces.is_empty()).then(|| std::array::from_fn(|number| of(number).map_or(Window::None, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(index: u32) -> GlobalSpace {
        GlobalSpace { index, address: 0x1000, bytes: 0x100, mode: GlobalMode::Linear }
    }

    fn tiled(pitch: u32, width: u32, height: u32, tile_mode: u32) -> GlobalSpace {
        let mode = GlobalMode::Tiled2d { pitch, width, height, tile_mode };
        GlobalSpace { index: 2, address: 0x1_0000, bytes: 0x4000, mode }
    }

    #[test]
    fn none_is_everything() {
        let windows = Windows::new(&[]).unwrap();
        assert_eq!(windows.translate(14, 0xffff_fff0, 4), Some(0xffff_fff0));
    }

    #[test]
    fn linear_windows_end() {
        let windows = Windows::new(&[linear(3)]).unwrap();
        assert_eq!(windows.translate(3, 0xfc, 4), Some(0x10fc));
        assert_eq!(windows.translate(3, 0xfd, 4), None);
        assert_eq!(windows.translate(3, 0xffff_fffc, 4), None);
        assert_eq!(windows.translate(4, 0, 4), None, "not given");
        assert_eq!(windows.translate(200, 0, 4), None);
    }

    #[test]
    fn tiles() {
        let windows = Windows::new(&[tiled(128, 100, 20, 1)]).unwrap();
        let at = |x: u64, y: u64| windows.translate(2, y << 16 | x, 4).map(|address| address - 0x1_0000);
        assert_eq!(at(0, 0), Some(0));
        assert_eq!(at(4, 1), Some(68));
        assert_eq!(at(64, 0), Some(512), "the next tile of 64 x 8");
        assert_eq!(at(0, 8), Some(1024), "the next row of tiles");
        assert_eq!(at(68, 19), Some(2 * 1024 + 512 + 3 * 64 + 4));
        assert_eq!(at(96, 0), Some(512 + 32));
        assert_eq!(at(98, 0), None);
        assert_eq!(at(0, 20), None);
        assert_eq!(at(62, 0), None, "across tiles");
    }

    #[test]
    fn back_from_where_they_show() {
        for mode in [linear(2), tiled(256, 200, 50, 0), tiled(128, 128, 20, 2)] {
            let windows = Windows::new(&[mode]).unwrap();
            for (x, y) in [(0u64, 0u64), (4, 0), (60, 0), (64, 3), (100, 4), (124, 19)] {
                let address = y << 16 | x;
                if let Some(place) = windows.translate(2, address, 4) {
                    assert_eq!(windows.back(2, place), address, "{mode:?}");
                }
            }
        }
    }

    #[test]
    fn refuses() {
        let text = |spaces: &[GlobalSpace]| Windows::new(spaces).unwrap_err().to_string();
        assert_eq!(text(&[linear(16)]), "launch: global space g16[]: there are 16, 0 to 15");
        assert_eq!(text(&[linear(1), linear(1)]), "launch: global space g1[]: is given twice");
        let far = GlobalSpace { address: 0xffff_ffff, ..linear(0) };
        assert!(text(&[far]).contains("beyond 32-bit addresses"));
        assert!(text(&[tiled(100, 100, 4, 0)]).contains("not a multiple of 64"));
        assert!(text(&[tiled(64, 65, 4, 0)]).contains("more than the pitch"));
        assert!(text(&[tiled(64, 64, 4, 6)]).contains("largest is 5"));
        assert!(text(&[tiled(128, 64, 1000, 0)]).contains("more than the 16384 bytes"));
    }
}
