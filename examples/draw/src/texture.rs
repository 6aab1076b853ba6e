//! Textures: made here, with mipmaps, and laid out in memory as the hardware of each family reads them.

/// A square texture of RGBA8 texels with all its mip levels, down to one texel.
#[derive(Debug, Clone)]
pub struct Texture {
    /// Texels along a side of the first level, a power of two.
    pub size: u32,
    /// Rows of each level.
    pub levels: Vec<Vec<[u8; 4]>>,
}

impl Texture {
    /// A texture whose first level is `texel` of each place; further ones are means of four texels.
    fn new(size: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Texture {
        let first = (0..size * size).map(|at| texel(at % size, at / size)).collect();
        let mut levels: Vec<Vec<[u8; 4]>> = vec![first];
        let mut half = size / 2;
        while half > 0 {
            let above = &levels[levels.len() - 1];
            let side = (half * 2) as usize;
            let mean = |at: usize| {
                let corner = at / half as usize * 2 * side + at % half as usize * 2;
                let four = [corner, corner + 1, corner + side, corner + side + 1];
                std::array::from_fn(|k| {
                    ((four.iter().map(|&at| u32::from(above[at][k])).sum::<u32>() + 2) / 4) as u8
                })
            };
            levels.push((0..(half * half) as usize).map(mean).collect());
            half /= 2;
        }
        Texture { size, levels }
    }

    /// Number of the last mip level.
    pub fn last_level(&self) -> u32 {
        self.levels.len() as u32 - 1
    }

    /// Bricks.
    pub fn bricks(size: u32) -> Texture {
        Texture::new(size, |x, y| {
            let (height, width) = (size / 8, size / 4);
            let row = y / height;
            let x = (x + row % 2 * width / 2) % size;
            let mortar = size / 64;
            if y % height < mortar || x % width < mortar {
                return [190, 185, 175, 255];
            }
            let shade = noise(x / width, row) / 4 + noise(x, y + 1000) / 12;
            let shade = |base: u32, share: u32| (base + shade * share / 8).min(255) as u8;
            [shade(140, 8), shade(58, 5), shade(42, 4), 255]
        })
    }

    /// Tiles of two colours with joints.
    pub fn tiles(size: u32) -> Texture {
        Texture::new(size, |x, y| {
            let (half, joint) = (size / 2, size / 64);
            if x % half < joint || y % half < joint {
                return [70, 75, 70, 255];
            }
            let grain = (noise(x, y) / 16) as u8;
            match (x / half + y / half).is_multiple_of(2) {
                true => [205 + grain, 210 + grain, 200 + grain, 255],
                false => [95 + grain, 125 + grain, 105 + grain, 255],
            }
        })
    }

    /// Stripes.
    pub fn stripes(size: u32) -> Texture {
        Texture::new(size, |x, y| match (x + y) * 4 / size % 2 {
            0 => [240, 240, 235, 255],
            _ => [200, 60, 50, 255],
        })
    }

    /// A fence of wire with rails: alpha is 0 between the wires.
    pub fn fence(size: u32) -> Texture {
        Texture::new(size, |x, y| {
            let wire = size / 6;
            let (along, across) = ((x + y) % size, (x + size - y) % size);
            let is_rail = y < wire / 2;
            match along < wire || across < wire || is_rail {
                true => [170, 175, 185, 255],
                false => [170, 175, 185, 0],
            }
        })
    }

    /// The texels as NVIDIA's block-linear layout has them. A *gob* is 64 bytes wide and `gob_rows` rows high (4 on Tesla, 8 on Fermi) and
    /// stored row by row. A *block* is `1 << gobs_log2` gobs, one below the other; small levels have smaller blocks.
    pub fn block_linear(&self, gob_rows: u32, gobs_log2: u32) -> Vec<u8> {
        let mut memory = Vec::new();
        for (level, texels) in self.levels.iter().enumerate() {
            let (size, start) = (self.size >> level, memory.len());
            let mut log2 = gobs_log2;
            while log2 > 0 && gob_rows << (log2 - 1) >= size {
                log2 -= 1;
            }
            let rows = gob_rows << log2;
            let blocks_in_row = (size * 4).div_ceil(64);
            let block_bytes = 64 * rows;
            let blocks = blocks_in_row * size.div_ceil(rows);
            memory.resize(start + (blocks * block_bytes) as usize, 0);
            for (at, texel) in texels.iter().enumerate() {
                let (x, y) = (at as u32 % size * 4, at as u32 / size);
                let block = y / rows * blocks_in_row + x / 64;
                let gob = y % rows / gob_rows;
                let offset = block * block_bytes + gob * 64 * gob_rows + y % gob_rows * 64 + x % 64;
                memory[start + offset as usize..][..4].copy_from_slice(texel);
            }
        }
        memory
    }

    /// The texels as GCN's array mode "1D thin" has them: tiles of 8 x 8 texels, tile by tile in rows, with the texels
    /// of a tile in Z order.
    pub fn tiled_1d(&self) -> Vec<u8> {
        let mut memory = Vec::new();
        for (level, texels) in self.levels.iter().enumerate() {
            let (size, start) = (self.size >> level, memory.len());
            let tiles = size.div_ceil(8);
            memory.resize(start + (tiles * tiles * 64 * 4) as usize, 0);
            for (at, texel) in texels.iter().enumerate() {
                let (x, y) = (at as u32 % size, at as u32 / size);
                let tile = y / 8 * tiles + x / 8;
                let in_tile: u32 =
                    (0..3).map(|k| (x >> k & 1) << (2 * k) | (y >> k & 1) << (2 * k + 1)).sum();
                memory[start + (tile * 64 + in_tile) as usize * 4..][..4].copy_from_slice(texel);
            }
        }
        memory
    }
}

/// A number below 256 that looks random.
fn noise(x: u32, y: u32) -> u32 {
    let mut hash = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x2c1b_3c6d);
    hash >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_reach_one_texel() {
        let texture = Texture::stripes(64);
        let sizes: Vec<usize> = texture.levels.iter().map(Vec::len).collect();
        assert_eq!(sizes, [4096, 1024, 256, 64, 16, 4, 1]);
    }

    #[test]
    fn layouts_put_texels_where_hardware_reads_them() {
        let texture = Texture::new(64, |x, y| [x as u8, y as u8, 0, 255]);
        let at = |memory: &[u8], offset: usize| (memory[offset], memory[offset + 1]);
        // 16 texels fill a row of a gob; 4 rows fill one of Tesla, 8 one of Fermi. Blocks of four gobs.
        let tesla = texture.block_linear(4, 2);
        assert_eq!(at(&tesla, 0xd4), (5, 3));
        assert_eq!(at(&tesla, 0x4c4), (17, 3));
        assert_eq!(at(&tesla, 0x644), (17, 9));
        let fermi = texture.block_linear(8, 2);
        assert_eq!(at(&fermi, 0x8c4), (17, 3));
        assert_eq!(at(&fermi, 0xa44), (17, 9));
        let gcn = texture.tiled_1d();
        assert_eq!(at(&gcn, 4), (1, 0));
        assert_eq!(at(&gcn, 4 * 2), (0, 1));
        assert_eq!(at(&gcn, 4 * (64 + 63)), (15, 7));
        assert_eq!(at(&gcn, 4 * 64 * 8), (0, 8));
    }
}
