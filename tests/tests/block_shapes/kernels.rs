//! The kernels of `block_shapes.rs`, and the results of their threads.

/// Shared memory: a word for each thread; 16 words for each y, of which those of great x reach into the next; as many that nobody stores.
const OWN: usize = 0x100;
pub const TILE: usize = 0x1200;
const QUIET: usize = 0x2300;
pub const SHARED_BYTES: usize = 0x3500;

/// What each kernel begins with. r9: the thread's number in its block, r10: the block's, r11: where the result belongs,
/// r12: the sum of all that the thread comes by, r13: 4 * number, r14 and r15: 64 y and 4 x, r16: their sum, r17 and
/// r18: 64 x and 4 y.
pub const BEGIN: &str = "
    param r7 3; param r8 4; mul r9 r3 r8; add r9 r9 r2; mul r9 r9 r7; add r9 r9 r1; param r7 6
    param r8 7; mul r10 r6 r8; add r10 r10 r5; mul r10 r10 r7; add r10 r10 r4; param r7 5
    mul r11 r10 r7; add r11 r11 r9; shl r11 r11 2; param r7 0; add r11 r11 r7; addi r12 r10 0
    shl r13 r9 2; shl r14 r2 6; shl r15 r1 2; add r16 r14 r15; shl r17 r1 6; shl r18 r2 2
";
pub const END: &str = "
    stg r11 r12; exit
";
/// Makes r24 four times the number of the thread's partner.
pub const PARTNER: &str = "
    param r23 8; mul r24 r1 r23; param r23 9; mul r25 r2 r23; add r24 r24 r25; param r23 10
    mul r25 r3 r23; add r24 r24 r25; param r23 11; add r24 r24 r23; param r23 5; sub r25 r24 r23
    min r24 r24 r25; shl r24 r24 2
";

pub struct Kernel {
    pub name: &'static str,
    /// Between [`BEGIN`] and [`END`]; `PARTNER` stands for that text.
    pub source: &'static str,
    pub model: fn(&mut Block),
}

pub const KERNELS: [Kernel; 5] = [
    Kernel {
        name: "indices",
        source: "
            mix r12 r1; mix r12 r2; mix r12 r3; mix r12 r4; mix r12 r5; mix r12 r6; param r20 1
            add r21 r20 r16; ldg r22 r21; mix r12 r22; add r21 r20 r14; ldg r22 r21; mix r12 r22
            add r21 r20 r17; ldg r22 r21; mix r12 r22
        ",
        model: indices,
    },
    Kernel {
        name: "exchange",
        source: "
            loop r19
            add r20 r9 r19; shl r21 r10 8; add r20 r20 r21; sts r13 0x100 r20; add r20 r16 r19
            sts r16 0x1200 r20
            bar
            PARTNER
            lds r20 r24 0x100; mix r12 r20; add r20 r17 r18; lds r21 r20 0x1200; mix r12 r21; lds r21 r14 0x1200
            mix r12 r21
            bar
            again r19 3
        ",
        model: exchange,
    },
    Kernel {
        name: "product",
        source: "
            loop r19
            add r20 r16 r19; sts r16 0x1200 r20
            bar
            lds4 r20 r14 0x1200; lds4 r24 r14 0x1210; lds r28 r15 0x1200; xor r28 r28 r20; mix r12 r28
            lds r28 r15 0x1240; xor r28 r28 r21; mix r12 r28; lds r28 r15 0x1280; xor r28 r28 r22; mix r12 r28
            lds r28 r15 0x12c0; xor r28 r28 r23; mix r12 r28; lds r28 r15 0x2300; xor r28 r28 r24; mix r12 r28
            lds r28 r15 0x2340; xor r28 r28 r27; mix r12 r28
            bar
            again r19 4
        ",
        model: product,
    },
    Kernel {
        name: "divergence",
        source: "
            loop r19
            mov r20 3
            if r2 r20
            add r21 r9 r19; sts r13 0x100 r21; lds r22 r14 0x2300; mix r12 r22
            endif
            mov r20 5
            if r20 r1
            sts r16 0x1200 r16; lds r22 r17 0x2304; mix r12 r22; mix r12 r2
            endif
            bar
            PARTNER
            lds r20 r24 0x100; mix r12 r20; lds r20 r17 0x1200; mix r12 r20
            bar
            again r19 2
        ",
        model: divergence,
    },
    Kernel {
        name: "constants",
        source: "
            sts r16 0x1200 r16
            bar
            ldc r20 r14 0x1200; lds r21 r14 0x1200; mix r12 r20; mix r12 r21; lds r20 r17 0x1200; ldc r21 r17 0x1200
            mix r12 r20; mix r12 r21; ldc r20 r15 0x1200; lds r21 r15 0x1200; mix r12 r20; mix r12 r21
            lds r20 r18 0x2300; ldc r21 r18 0x2300; lds r22 r18 0x2304; ldc r23 r18 0x2304; mix r12 r20; mix r12 r21
            mix r12 r22; mix r12 r23
        ",
        model: constants,
    },
];

/// What a word of some memory begins with: 0 shared memory, 1 the table, 2 constants.
pub fn word(memory: u32, index: usize) -> u32 {
    (index as u32 ^ memory << 28).wrapping_add(1).wrapping_mul(0x9e37_79b1).rotate_right(11)
}

pub struct Thread {
    pub place: [usize; 3],
    pub number: usize,
    /// The number of the thread whose word it takes.
    pub partner: usize,
    pub block: [usize; 3],
    pub block_number: usize,
    pub sum: u32,
}

impl Thread {
    fn mix(&mut self, word: u32) {
        self.sum = self.sum.wrapping_mul(5).wrapping_add(word);
    }

    /// Where its word of the tile is, and where the one is with x and y exchanged; from the begin of either.
    fn tile(&self) -> (usize, usize) {
        let [x, y, _] = self.place;
        (16 * y + x, 16 * x + y)
    }
}

/// Shared memory in words: beyond its end there are zeros.
pub struct Shared(pub Vec<u32>);

impl Shared {
    pub fn get(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn set(&mut self, index: usize, word: u32) {
        if let Some(place) = self.0.get_mut(index) {
            *place = word;
        }
    }
}

pub struct Block {
    pub threads: Vec<Thread>,
    pub shared: Shared,
}

impl Block {
    /// What all threads do between two barriers.
    pub fn each(&mut self, what: impl Fn(&mut Thread, &mut Shared)) {
        self.threads.iter_mut().for_each(|thread| what(thread, &mut self.shared));
    }
}

fn indices(block: &mut Block) {
    block.each(|t, _| {
        let indices = [t.place, t.block].concat();
        indices.into_iter().for_each(|index| t.mix(index as u32));
        let [x, y, _] = t.place;
        [16 * y + x, 16 * y, 16 * x].into_iter().for_each(|index| t.mix(word(1, index)));
    });
}

fn exchange(block: &mut Block) {
    for round in 0..3 {
        block.each(|t, shared| {
            shared.set(OWN / 4 + t.number, (t.number + (t.block_number << 8)) as u32 + round);
            let (own, _) = t.tile();
            shared.set(TILE / 4 + own, 4 * own as u32 + round);
        });
        block.each(|t, shared| {
            let (_, turned) = t.tile();
            let places = [OWN / 4 + t.partner, TILE / 4 + turned, TILE / 4 + 16 * t.place[1]];
            places.into_iter().for_each(|place| t.mix(shared.get(place)));
        });
    }
}

fn product(block: &mut Block) {
    for round in 0..4 {
        block.each(|t, shared| shared.set(TILE / 4 + t.tile().0, 4 * t.tile().0 as u32 + round));
        block.each(|t, shared| {
            let [x, y, _] = t.place;
            let row = TILE / 4 + 16 * y;
            let (column, quiet) = (TILE / 4 + x, QUIET / 4 + x);
            let pairs = [
                (0, column),
                (1, column + 16),
                (2, column + 32),
                (3, column + 48),
                (4, quiet),
                (7, quiet + 16),
            ];
            pairs.into_iter().for_each(|(k, other)| t.mix(shared.get(row + k) ^ shared.get(other)));
        });
    }
}

fn divergence(block: &mut Block) {
    for round in 0..2 {
        block.each(|t, shared| {
            let [x, y, _] = t.place;
            if y < 3 {
                shared.set(OWN / 4 + t.number, t.number as u32 + round);
                t.mix(shared.get(QUIET / 4 + 16 * y));
            }
            if x > 5 {
                shared.set(TILE / 4 + t.tile().0, 4 * t.tile().0 as u32);
                t.mix(shared.get(QUIET / 4 + 16 * x + 1));
                t.mix(y as u32);
            }
        });
        block.each(|t, shared| {
            t.mix(shared.get(OWN / 4 + t.partner));
            t.mix(shared.get(TILE / 4 + 16 * t.place[0]));
        });
    }
}

fn constants(block: &mut Block) {
    block.each(|t, shared| shared.set(TILE / 4 + t.tile().0, 4 * t.tile().0 as u32));
    block.each(|t, shared| {
        let [x, y, _] = t.place;
        let (row, column, along) = (TILE / 4 + 16 * y, TILE / 4 + 16 * x, TILE / 4 + x);
        let quiet = QUIET / 4 + y;
        let found = [
            word(2, row),
            shared.get(row),
            shared.get(column),
            word(2, column),
            word(2, along),
            shared.get(along),
            shared.get(quiet),
            word(2, quiet),
            shared.get(quiet + 1),
            word(2, quiet + 1),
        ];
        found.into_iter().for_each(|word| t.mix(word));
    });
}
