//! Writes buffers as PNG pictures.

use std::io::Write;

use png::{BitDepth, ColorType, Encoder, EncodingError};

use crate::launch_file::{Picture, PictureFormat};

/// Writes the first pixels of `data` as a PNG.
///
/// `data` holds at least `width * height` pixels; launch files are checked for that.
pub fn write_png(out: impl Write, picture: Picture, data: &[u8]) -> Result<(), EncodingError> {
    let pixels = picture.width as usize * picture.height as usize;
    let data = &data[..data.len().min(pixels * picture.format.bytes())];
    let words = || data.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    // NaN and everything below 0 is black.
    let shade = |word: u32| (f32::from_bits(word).clamp(0.0, 1.0) * 255.0).round() as u8;
    let (color, samples) = match picture.format {
        PictureFormat::Gray8 => (ColorType::Grayscale, data.to_vec()),
        PictureFormat::Rgba8 => (ColorType::Rgba, data.to_vec()),
        PictureFormat::Gray32f => (ColorType::Grayscale, words().map(shade).collect()),
        PictureFormat::Rgba32f => (ColorType::Rgba, words().map(shade).collect()),
        PictureFormat::U32 => {
            let max = u64::from(words().max().unwrap_or(0).max(1));
            (ColorType::Grayscale, words().map(|w| (u64::from(w) * 255 / max) as u8).collect())
        }
    };
    let mut encoder = Encoder::new(out, picture.width, picture.height);
    encoder.set_color(color);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&samples)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(format: PictureFormat, data: &[u8]) -> (ColorType, Vec<u8>) {
        let mut file = Vec::new();
        write_png(&mut file, Picture { width: 2, height: 2, format }, data).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 2));
        pixels.truncate(info.buffer_size());
        (info.color_type, pixels)
    }

    #[test]
    fn every_format_reads_back() {
        let gray = (ColorType::Grayscale, vec![1, 2, 3, 4]);
        assert_eq!(round_trip(PictureFormat::Gray8, &[1, 2, 3, 4, 9, 9]), gray);
        let rgba: Vec<u8> = (0..16).collect();
        assert_eq!(round_trip(PictureFormat::Rgba8, &rgba), (ColorType::Rgba, rgba.clone()));
        let floats: Vec<u8> = [0.0f32, 1.0, 0.5, f32::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(round_trip(PictureFormat::Gray32f, &floats).1, [0, 255, 128, 0]);
        let colours: Vec<u8> =
            [0.0f32, 1.0, 0.5, 2.0].repeat(4).iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(
            round_trip(PictureFormat::Rgba32f, &colours),
            (ColorType::Rgba, [0, 255, 128, 255].repeat(4))
        );
        let words: Vec<u8> = [0u32, 1000, 500, 250].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(round_trip(PictureFormat::U32, &words).1, [0, 255, 127, 63]);
    }
}
