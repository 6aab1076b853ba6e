//! Stream output: which vertices a vertex program writes to buffers, and where.

use super::registers::Registers;

/// What is kept from draw to draw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Streams {
    /// Words that each buffer is filled with.
    pub filled: [u32; 4],
}

/// The buffers that a draw writes: how many words each has, and how many a vertex takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamOutput {
    buffers: [Option<[u32; 2]>; 4],
    /// Buffers whose offsets the program has in scalar registers.
    offsets: u32,
}

/// The vertices of a draw, or of a part of one, that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Streamed {
    pub vertices: u32,
    filled: [u32; 4],
    offsets: u32,
}

impl StreamOutput {
    /// By the registers, and RSRC2 of the vertex program. `None`: nothing is written.
    pub fn new(registers: Registers<'_>, rsrc2: u32) -> Option<StreamOutput> {
        // The first stream only.
        let buffers = registers.at(0x28b98) & 15;
        if registers.at(0x28b94) & 1 == 0 || buffers == 0 || rsrc2 >> 12 & 1 == 0 {
            return None;
        }
        let of = |number: u32| {
            let first = 0x28ad0 + 16 * number;
            (buffers >> number & 1 != 0).then(|| [registers.at(first), registers.at(first + 4)])
        };
        Some(StreamOutput { buffers: [0, 1, 2, 3].map(of), offsets: rsrc2 >> 8 & 15 })
    }

    /// Takes room for primitives of so many vertices, as many as fit in all buffers. Gives what is written, and how many primitives.
    pub fn take(&self, streams: &mut Streams, primitives: u32, vertices: u32) -> (Streamed, u32) {
        let filled = streams.filled;
        let buffers =
            || self.buffers.iter().zip(filled).filter_map(|(buffer, filled)| Some(((*buffer)?, filled)));
        let fits = |([size, each], filled): ([u32; 2], u32)| {
            size.saturating_sub(filled).checked_div(each.saturating_mul(vertices)).unwrap_or(u32::MAX)
        };
        let taken = buffers().map(fits).min().unwrap_or(0).min(primitives);
        for (filled, buffer) in streams.filled.iter_mut().zip(self.buffers) {
            if let Some([_, each]) = buffer {
                *filled = filled.saturating_add(taken * vertices * each);
            }
        }
        (Streamed { vertices: taken * vertices, filled, offsets: self.offsets }, taken)
    }
}

impl Streamed {
    /// The scalar registers behind user data, of the wave that begins with a vertex: how many of its vertices are written, the number of the
    /// first, and the offsets of buffers.
    pub fn registers(&self, first: u32) -> Vec<u32> {
        let count = self.vertices.saturating_sub(first).min(64);
        let offsets = self.filled.iter().enumerate().filter(|(n, _)| self.offsets >> n & 1 != 0);
        [count << 16, first].into_iter().chain(offsets.map(|(_, filled)| *filled)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_primitives_that_fit() {
        let mut registers = vec![0; 0x1_0000];
        let sets =
            [(0x28b94, 1), (0x28b98, 0b101), (0x28ad0, 100), (0x28ad4, 4), (0x28af0, 1000), (0x28af4, 2)];
        sets.iter().for_each(|(address, value)| registers[address / 4] = *value);
        assert_eq!(StreamOutput::new(Registers(&registers), 0), None);
        let output = StreamOutput::new(Registers(&registers), 1 << 12 | 0b101 << 8).unwrap();
        let mut streams = Streams { filled: [20, 7, 30, 0] };
        // Eighty words are left in the first buffer: six triangles of twelve words.
        let (streamed, taken) = output.take(&mut streams, 9, 3);
        assert_eq!((taken, streamed.vertices, streams.filled), (6, 18, [92, 7, 66, 0]));
        assert_eq!(streamed.registers(0), [18 << 16, 0, 20, 30]);
        assert_eq!(streamed.registers(64)[..2], [0, 64]);
        assert_eq!(output.take(&mut streams, 9, 3).1, 0);
    }
}
