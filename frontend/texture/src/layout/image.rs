//! [`Image`]: what a layout has to know of an image.

use crate::format::Format;
use crate::kind::Kind;

/// An image in memory, apart from its layout.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Shape.
    pub kind: Kind,
    /// Texels of level 0 along x, y, z; at least 1. Of a buffer: elements.
    pub size: [u32; 3],
    /// Format of the elements.
    pub format: &'a Format,
    /// Address of level 0, layer 0.
    pub address: u64,
}

impl Image<'_> {
    /// Texels of a level along an axis.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let part = |size: u32| size.checked_shr(level).unwrap_or(0).max(1);
        let [x, y, z] = self.size;
        [part(x), part(y), if self.kind == Kind::D3 { part(z) } else { 1 }]
    }
}
