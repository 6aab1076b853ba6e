//! Random numbers that are the same on every host.

/// xorshift64*
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// For a seed; near seeds give unrelated numbers.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.bits();
        random
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let product = u128::from(self.0) * 0x2545_f491_4f6c_dd1d;
        (product ^ product >> 64) as u64
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(limit)) >> 32) as u32
    }

    /// True in that many cases of a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }

    /// Contents of a register that is worth a test.
    pub fn word(&mut self) -> u32 {
        const EDGES: [u32; 40] = [
            0,
            1,
            2,
            3,
            0xffff_ffff,
            0xffff_fffe,
            0x7fff_ffff,
            0x8000_0000,
            0x8000_0001,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7f80_0001,
            0xffc1_2345,
            0x7fff_ffff,
            0x0080_0000,
            0x8080_0000,
            0x007f_ffff,
            0x0000_0001,
            0x807f_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x7f7f_ffff,
            0xff7f_ffff,
            0x4f00_0000,
            0xcf00_0000,
            0x4f80_0000,
            0x5f00_0000,
            0x4b00_0000,
            0x4b80_0001,
            0x3eff_ffff,
            0x3f00_0001,
            0x0000_ffff,
            0xffff_0000,
            0x0000_8000,
            0x00ff_ffff,
            0x0080_0001,
            0x7ff0_0000,
            0xfff8_0000,
            0x7bff_fc00,
        ];
        match self.below(10) {
            0..=2 => self.pick(&EDGES),
            3..=4 => self.below(64),
            5 => (self.below(64) as f32 - 20.5).to_bits(),
            6 => f32::to_bits((self.bits() as u32 as f32) / (1u64 << self.below(40)) as f32),
            7 => self.pick(&EDGES) ^ 1 << self.below(32),
            _ => self.bits() as u32,
        }
    }
}

/// splitmix64, without edges or weights: for what a test makes of bits itself.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// For a seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.bits() >> 16) % limit
    }

    /// True with a probability of 1 in the given number.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}
