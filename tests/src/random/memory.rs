//! Makes random statements that access memory.
//!
//! The results must not depend on the order of warps. So lanes share only read-only memory, counters that each have one
//! commutative operation, and the memory of their own warp.

use warpjit_frontend::tesla::Chip;

use super::generator::Generator;
use super::program::{COMMON, Item, PLANES};

const GLOBAL_TYPES: [(&str, u32); 7] =
    [("u8", 1), ("s8", 1), ("u16", 2), ("s16", 2), ("b32", 4), ("b64", 8), ("b128", 16)];
/// Operations of `red` and `atom`: the first have a counter each.
const OPERATIONS: [&str; 11] = [
    "add u32", "add s32", "inc u32", "dec u32", "max u32", "max s32", "min u32", "min s32", "and b32",
    "or b32", "xor b32",
];

impl Generator {
    pub(super) fn memory_statement(&mut self) {
        let atomics = self.shape.chip != Chip::G80;
        let locks = matches!(self.shape.chip, Chip::G200 | Chip::Gt215);
        match self.random.below(25) {
            20..=22 => self.plane(),
            23 => self.shared_by_lane(),
            24 if self.may_fault && !self.ended && self.together() && self.random.chance(40) => self.beyond(),
            0..=3 => self.own_global(),
            4 => self.read_only_global(),
            5..=6 if self.shape.lockstep && self.shape.single_warp() => self.common_global(),
            7..=10 => self.shared(),
            11 => self.shared_in_a_row(),
            12..=13 => self.local(),
            14 => self.constant(),
            15 if atomics => self.count(),
            16..=17 if atomics => self.atomic(),
            18 if locks => self.locked(),
            19 if self.may_fault => self.fault(),
            _ => self.own_global(),
        }
    }

    /// Puts the last instruction under a predicate, now and then.
    fn maybe_guard(&mut self) {
        if self.random.chance(65) {
            return;
        }
        let guard =
            (self.random.pick(&[1, 2, 5, 6, 0x11, 0x13, 0x1c, 0x1e]), u64::from(self.random.below(4)));
        self.guard_last(guard);
    }

    fn guard_last(&mut self, (condition, creg): (u64, u64)) {
        if let Some(Item::Inst { word, len: 8, .. }) = self.items.last_mut() {
            *word = *word & !(0x1f << 39 | 3 << 44) | condition << 39 | creg << 44;
        }
    }

    /// A register name for that many bytes.
    fn value(&mut self, bytes: u32) -> String {
        let number = self.data();
        match bytes {
            8 => format!("$r{}d", number & !1),
            16 => format!("$r{}q", number & !3),
            _ => format!("$r{number}"),
        }
    }

    /// `$r20`: an aligned address in the thread's own memory.
    fn own_address(&mut self, bytes: u32) {
        if self.random.chance(50) {
            let offset = self.random.below(0x80 / bytes) * bytes;
            self.text(&format!("add b32 $r20 $r17 {offset:#x}"));
        } else {
            let (from, mask) = (self.data(), self.random.pick(&[0x7f, 0x1f]) & !(bytes - 1));
            self.text(&format!("and b32 $r20 $r{from} {mask:#x}\nadd b32 $r20 $r20 $r17"));
        }
    }

    /// A load or store through `$r20`.
    fn access(&mut self, ty: &str, bytes: u32, store: bool) {
        let (window, value) = (self.random.below(16), self.value(bytes));
        if store {
            self.text(&format!("st {ty} g{window}[$r20] {value}"));
        } else {
            self.text(&format!("ld {ty} {value} g{window}[$r20]"));
        }
    }

    fn own_global(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
            self.own_address(bytes);
            let store = self.random.chance(55);
            self.access(ty, bytes, store);
            self.maybe_guard();
        }
    }

    /// The thread's element of an array, or one that another thread reads too where nobody writes.
    fn plane(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
            let plane = bytes.trailing_zeros();
            let store = self.random.chance(60);
            if store || self.random.chance(50) {
                let base = PLANES + plane * self.shape.plane_bytes();
                self.text(&format!("shl b32 $r20 $r16 {plane:#x}\nadd b32 $r20 $r20 {base:#x}"));
                self.access(ty, bytes, store);
            } else {
                let offset = self.random.below(8) * bytes;
                let shift = if self.random.chance(70) { plane } else { 4 };
                self.text(&format!(
                    "and b32 $r20 $r23 0x3f\nshl b32 $r20 $r20 {shift:#x}\nadd b32 $r20 $r20 $r18\n\
                     add b32 $r20 $r20 {offset:#x}"
                ));
                self.access(ty, bytes, false);
            }
            self.maybe_guard();
        }
    }

    /// The last lanes access what is behind an array.
    fn beyond(&mut self) {
        self.may_fault = false;
        let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
        let end = (PLANES + 5 * self.shape.plane_bytes()).next_multiple_of(0x1000);
        let threads = self.shape.threads() * self.shape.blocks();
        let start = end - self.random.below(threads) * bytes;
        let plane = bytes.trailing_zeros();
        self.text(&format!("shl b32 $r20 $r16 {plane:#x}\nadd b32 $r20 $r20 {start:#x}"));
        // Elements of other threads: read only.
        self.access(ty, bytes, false);
    }

    /// The lane's word in its warp's shared memory, and its neighbour's.
    fn shared_by_lane(&mut self) {
        let (from, to) = (self.data(), self.data());
        let other = 4 * self.random.below(3);
        self.text(&format!(
            "and b32 $r28 $r23 0x1f\nshl b32 $r28 $r28 0x2\nmov $r20 $a2\nadd b32 $r20 $r20 $r28\n\
             shl $a3 $r20 0x0\nst b32 s[$a3] $r{from}"
        ));
        self.maybe_guard();
        self.text(&format!("long mov b32 $r{to} b32 s[$a3+{other:#x}]"));
        self.maybe_guard();
    }

    fn read_only_global(&mut self) {
        let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
        let mask = self.random.pick(&[0xfff, 0xff, 0x3f]) & !(bytes - 1);
        let from = if self.random.chance(60) { self.data() } else { self.random.pick(&[16, 22, 23]) };
        self.text(&format!("and b32 $r20 $r{from} {mask:#x}\nadd b32 $r20 $r20 $r18"));
        self.access(ty, bytes, false);
        self.maybe_guard();
    }

    /// Lanes of the warp store to each other's words.
    fn common_global(&mut self) {
        let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
        let (from, mask) = (self.data(), self.random.pick(&[0x3f, 0x0f]) & !(bytes - 1));
        self.text(&format!("and b32 $r20 $r{from} {mask:#x}\nadd b32 $r20 $r20 {COMMON:#x}"));
        let store = self.random.chance(50);
        self.access(ty, bytes, store);
        self.maybe_guard();
    }

    /// Some address register: an address in shared memory that this warp may use, with `room` bytes behind it.
    fn shared_address(&mut self, areg: u32, room: u32) {
        let from = self.data();
        if self.shape.single_warp() && self.random.chance(25) {
            let shift = self.random.below(3);
            return self.text(&format!("shl $a{areg} $r{from} {shift:#x}"));
        }
        let mask = self.random.pick(&[0x1ff - room, 0x3c, 0x1c, 0x07]) & 0x1ff;
        let mask = if self.random.chance(50) { mask & !3 } else { mask };
        let mask = if mask > 0x1ff - room { 0x3f } else { mask };
        self.text(&format!(
            "and b32 $r28 $r{from} {mask:#x}\nmov $r20 $a2\nadd b32 $r20 $r20 $r28\nshl $a{areg} $r20 0x0"
        ));
    }

    fn shared(&mut self) {
        self.shared_address(3, 0x20);
        for _ in 0..1 + self.random.below(2) {
            let offset = self.random.pick(&[0, 0, 4, 8, 0x10]);
            self.shared_access(&format!("$a3+{offset:#x}"));
        }
    }

    fn shared_access(&mut self, place: &str) {
        let register = self.data();
        let half = format!("$r{register}{}", self.random.pick(&["l", "h"]));
        let loads = self.shape.chip != Chip::G80;
        let text = match self.random.below(10) {
            0..=3 => format!("st b32 s[{place}] $r{register}"),
            4 => format!("st b16 s[{place}] {half}"),
            5 => format!("st b8 s[{place}] {half}"),
            6 if loads => format!("ld $r{register} {} s[{place}]", self.random.pick(&["u8", "u16", "s16"])),
            7 if loads => format!("ld {half} {} s[{place}]", self.random.pick(&["u8", "u16", "s16"])),
            8 if loads => format!("ld $r{register} b32 s[{place}]"),
            _ => format!("long mov b32 $r{register} b32 s[{place}]"),
        };
        self.text(&text);
        self.maybe_guard();
    }

    /// Several accesses with post-increment.
    fn shared_in_a_row(&mut self) {
        let areg = self.random.pick(&[1, 3, 4]);
        self.shared_address(areg, 0x40);
        for _ in 0..2 + self.random.below(2) {
            let step = self.random.pick(&[4, 8, 4, 12]);
            self.shared_access(&format!("$a{areg}++{step:#x}"));
        }
    }

    fn local(&mut self) {
        let from = self.data();
        if self.random.chance(80) {
            let mask = self.random.pick(&[0x3f, 0x3c, 0x7f, 0x0c, 0xffff]);
            self.text(&format!("and b32 $r28 $r{from} {mask:#x}\nshl $a3 $r28 0x0"));
        } else {
            self.text(&format!("shl $a3 $r{from} 0x0"));
        }
        for _ in 0..1 + self.random.below(3) {
            let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
            let value = self.value(bytes);
            let place = match self.random.below(4) {
                0 => format!("$a3+{:#x}", self.random.below(0x40)),
                1 => format!("{:#x}", self.random.below(0x48)),
                2 => format!("$a3++{:#x}", 1 + self.random.below(16)),
                _ => "$a3".to_owned(),
            };
            if self.random.chance(50) {
                self.text(&format!("st {ty} l[{place}] {value}"));
            } else {
                self.text(&format!("ld {ty} {value} l[{place}]"));
            }
            self.maybe_guard();
        }
    }

    fn constant(&mut self) {
        let (from, to) = (self.data(), self.data());
        let shift = self.random.pick(&["0x0", "0x1", "0x2"]);
        if self.random.chance(50) {
            self.text(&format!("shl $a3 $r{from} {shift}"));
        } else {
            self.text(&format!("and b32 $r28 $r{from} 0xff\nshl $a3 $r28 {shift}"));
        }
        let bank = self.random.pick(&[0, 1, 2, 5, 15]);
        let ty = self.random.pick(&["u8", "u16", "s16", "b32", "b32"]);
        let offset = self.random.below(32) * 4;
        self.text(&format!("ld $r{to} {ty} c{bank}[$a3+{offset:#x}]"));
        self.maybe_guard();
    }

    /// Counters of all lanes.
    fn count(&mut self) {
        let number = self.random.below(OPERATIONS.len() as u32);
        let operation = OPERATIONS[number as usize];
        // Counting up and down commutes with itself for one limit only.
        let value = if matches!(number, 2 | 3) { 22 } else { self.data() };
        self.text(&format!("add b32 $r20 $r19 {:#x}\nred {operation} g0[$r20] $r{value}", number * 8));
        self.maybe_guard();
    }

    fn atomic(&mut self) {
        let wide = self.shape.chip == Chip::G200 && self.random.chance(25);
        let bytes = if wide { 8 } else { 4 };
        if self.shape.single_warp() && self.random.chance(50) {
            let from = self.data();
            let mask = self.random.pick(&[0x38, 0x08]);
            self.text(&format!(
                "and b32 $r20 $r{from} {mask:#x}\nadd b32 $r20 $r20 $r19\nadd b32 $r20 $r20 0x100"
            ));
        } else {
            self.own_address(bytes);
        }
        let (to, a, b) = (self.value(bytes), self.value(bytes), self.value(bytes));
        let window = self.random.below(16);
        let bits = bytes * 8;
        let text = match self.random.below(8) {
            0 => format!("exch b{bits} {to} g{window}[$r20] {a}"),
            1..=2 => format!("cas b{bits} {to} g{window}[$r20] {a} {b}"),
            3 => format!(
                "red {} g{window}[$r20] {a}",
                if wide { "add u64" } else { self.random.pick(&OPERATIONS) }
            ),
            _ if wide => format!("ld add u64 {to} g{window}[$r20] {a}"),
            _ => format!("ld {} {to} g{window}[$r20] {a}", self.random.pick(&OPERATIONS)),
        };
        self.text(&text);
        self.maybe_guard();
    }

    /// Takes a lock, and gives it back where that worked, mostly.
    fn locked(&mut self) {
        self.shared_address(3, 0x20);
        let (to, value) = (self.data(), self.data());
        let creg = u64::from(self.random.below(3));
        self.text(&format!("ld lock $c{creg} $r{to} b32 s[$a3]"));
        self.maybe_guard();
        self.arithmetic();
        self.text(&format!("st unlock b32 s[$a3] $r{value}"));
        if self.random.chance(80) {
            self.guard_last((5, creg));
        }
    }

    /// One thread accesses what it must not.
    fn fault(&mut self) {
        self.may_fault = false;
        let (ty, bytes) = self.random.pick(&GLOBAL_TYPES);
        self.own_address(bytes);
        let thread = self.random.below(self.shape.threads() * self.shape.blocks());
        let bad = self.random.below(5);
        let store = self.random.chance(50);
        let text = match bad {
            0..=1 if bytes > 1 => format!("add b32 $r21 $r20 {:#x}", self.random.below(bytes - 1) + 1),
            2 if store => "long mov b32 $r21 $r18".to_owned(),
            3 => "mov b32 $r21 0xfffffff0".to_owned(),
            4 => format!("add b32 $r21 $r20 {:#x}", 0x0080_0000),
            _ => "mov b32 $r21 0x100".to_owned(),
        };
        self.text(&format!(
            "{text}\nmov b32 $r28 {thread}\nset $c3 # e u32 $r16 $r28\nlong mov b32 $r20 $r21"
        ));
        self.guard_last((5, 3));
        if self.shape.chip != Chip::G80 && bytes == 4 && self.random.chance(40) {
            let (to, value) = (self.data(), self.data());
            self.text(&format!("ld add u32 $r{to} g3[$r20] $r{value}"));
        } else {
            self.access(ty, bytes, store);
        }
    }
}
