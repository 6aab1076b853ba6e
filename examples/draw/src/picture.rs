//! The render target, and how two of them differ.

use std::io::Write;

/// A picture of RGBA8 pixels.
#[derive(Debug, Clone)]
pub struct Picture {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Row by row.
    pub pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// A picture of one colour.
    pub fn new(width: u32, height: u32, colour: [u8; 4]) -> Picture {
        Picture { width, height, pixels: vec![colour; width as usize * height as usize] }
    }

    /// Writes a pixel: floats from 0 to 1 become bytes.
    pub fn set(&mut self, x: u32, y: u32, colour: [f32; 4]) {
        self.pixels[(y * self.width + x) as usize] =
            colour.map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8);
    }

    /// Writes it as PNG.
    pub fn write_png(&self, out: impl Write) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()
    }

    /// How it differs from another picture of the same size.
    pub fn difference(&self, other: &Picture) -> Difference {
        let mut difference = Difference { pixels: self.pixels.len(), ..Difference::default() };
        for (a, b) in self.pixels.iter().zip(&other.pixels) {
            let most = (0..4).map(|k| a[k].abs_diff(b[k])).max().unwrap_or(0);
            difference.greatest = difference.greatest.max(most);
            if most > TOLERANCE {
                difference.apart += 1;
            } else {
                difference.greatest_near = difference.greatest_near.max(most);
            }
        }
        difference
    }
}

/// Steps of 255 by which the same pixel may differ between families: their arithmetic is not the same to the last bit.
pub const TOLERANCE: u8 = 3;

/// How two pictures differ.
#[derive(Debug, Clone, Copy, Default)]
pub struct Difference {
    /// Pixels in all.
    pub pixels: usize,
    /// The greatest difference in a channel, in steps of 255.
    pub greatest: u8,
    /// The greatest one that is within [`TOLERANCE`].
    pub greatest_near: u8,
    /// Pixels that differ by more than [`TOLERANCE`].
    pub apart: usize,
}

impl Difference {
    /// Whether the pictures agree. Few pixels may differ by any amount: those on an edge belong to one triangle or its
    /// neighbour, depending on the last bit of a vertex.
    pub fn is_small(&self) -> bool {
        self.apart * 1000 <= self.pixels
    }

    /// The greater of two.
    pub fn or(self, other: Difference) -> Difference {
        Difference {
            pixels: self.pixels + other.pixels,
            greatest: self.greatest.max(other.greatest),
            greatest_near: self.greatest_near.max(other.greatest_near),
            apart: self.apart + other.apart,
        }
    }
}
