//! Look-ups in tables of words.
//!
//! Up to 128 words are permuted ([`super::special`]). A gather takes as long as loading the words one by one. Formulas
//! mostly look up two words at the same index; these come from one table, made for that behind the code, of both words
//! side by side: sixteen loads for two vectors.

use foldhash::HashMap;
use iced_x86::Code;
use warpjit_ir::{Block, Function, Imm, InstData, Opcode, Value, WordTable};

use super::asm::{A, Mem, R, Src, With};
use super::code::Size;
use super::int::{AND, SHL_BY};
use super::lower::Lower;
use super::special::MOST_PERMUTED;
use crate::context::at;
use crate::error::Error;
use crate::operands::{arg, malformed, number, result};

/// Words of the largest tables that are put side by side.
const MOST_WORDS: usize = 256;

/// Look-ups that come with another.
#[derive(Default)]
pub(super) struct Pairs {
    /// By the first one's result: the second one's, and its table.
    second: HashMap<Value, (Value, &'static WordTable)>,
    /// Vectors of second ones.
    made: HashMap<Value, Vec<R>>,
}

impl Pairs {
    /// Finds look-ups that follow each other.
    pub fn new(f: &Function, order: &[Block]) -> Pairs {
        let mut pairs = Pairs::default();
        for &b in order {
            for two in f.block(b).insts.windows(2) {
                let (x, y) = (f.inst(two[0]), f.inst(two[1]));
                let ((Opcode::Lookup, &Imm::Table(p)), (Opcode::Lookup, &Imm::Table(q))) =
                    ((x.op, &x.imm), (y.op, &y.imm))
                else {
                    continue;
                };
                let fits = p.words().len() == q.words().len() && p.words().len() <= MOST_WORDS;
                let (Some(first), Some(second)) = (x.result, y.result) else { continue };
                let taken = pairs.second.values().any(|&(v, _)| v == first);
                if fits && x.args == y.args && !taken {
                    pairs.second.insert(first, (second, q));
                }
            }
        }
        pairs
    }

    /// Forgets what may not have been made where code goes on.
    pub fn forget(&mut self) {
        self.made.clear();
    }
}

impl Lower<'_> {
    /// Host address of a table's words.
    pub fn table(&mut self, table: &'static WordTable) -> R {
        let index = number(&mut self.tables, table);
        let tables = self.a.load_fixed(true, Mem::at(self.context, at::TABLES));
        self.a.load_fixed(true, Mem::at(tables, 8 * index as i32))
    }

    /// The words at the lanes' indices.
    pub fn lookup(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
        let own = result(data)?;
        if let Some(made) = self.pairs.made.remove(&own) {
            return Ok(made);
        }
        let x = self.regs(arg(data, 0)?)?;
        let pair = self.pairs.second.get(&own).copied();
        if table.words().len() <= MOST_PERMUTED {
            let tables: Vec<&WordTable> = [table].into_iter().chain(pair.map(|(_, other)| other)).collect();
            let mut words = self.permuted_words(&tables, &x).into_iter();
            let firsts = words.next().unwrap_or_default();
            if let (Some((second, _)), Some(seconds)) = (pair, words.next()) {
                self.pairs.made.insert(second, seconds);
            }
            return Ok(firsts);
        }
        if let Some((second, other)) = pair {
            let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
            for &i in x.iter() {
                let [first, second] = self.both_words(table, other, i);
                firsts.push(first);
                seconds.push(second);
            }
            self.pairs.made.insert(second, seconds);
            return Ok(firsts);
        }
        let base = self.table(table);
        let inside = self.known().get(arg(data, 0)?).possible() <= table.index_mask().into();
        Ok(x.iter()
            .map(|&i| {
                let i = if inside { i } else { self.a.v3(AND[0], i, Src::C32(table.index_mask())) };
                let i = self.a.v2i(SHL_BY[0], i, 2);
                let all = self.a.k_const(true);
                self.gather32(base, i, all, 0, None)
            })
            .collect())
    }

    /// The words of two tables at the same sixteen indices.
    fn both_words(&mut self, first: &WordTable, second: &WordTable, index: R) -> [R; 2] {
        let words = first.words().iter().zip(second.words());
        let bytes: Vec<u8> = words.flat_map(|(p, q)| [p.to_le_bytes(), q.to_le_bytes()]).flatten().collect();
        let entry = self.a.pool.add(&bytes);
        let base = self.a.gpr();
        self.a.put(Code::Lea_r64_m, &[A::Def(base, Size::Q), A::Pool(entry)], With::default());
        let index = self.a.v3(AND[0], index, Src::C32(first.index_mask()));
        self.buffer_bytes = self.buffer_bytes.max(64);
        self.a.store64(Mem::stack(0), index);
        // Two lanes in each quarter of a vector, and the two behind them in the other's.
        let mut quarters = Vec::new();
        for lane in (0..16).step_by(2) {
            let [p, q] = [lane, lane + 1].map(|lane| {
                let at = self.a.load32(Mem::stack(4 * lane));
                Mem::indexed(base, at, 8, 0)
            });
            let (low, both) = (self.a.zmm(), self.a.zmm());
            self.a.put(Code::EVEX_Vmovq_xmm_xmmm64, &[A::Def(low, Size::X), A::Mem(p)], With::default());
            let args = [A::Def(both, Size::X), A::Use(low, Size::X), A::Mem(q)];
            self.a.put(Code::EVEX_Vmovhps_xmm_xmm_m64, &args, With::default());
            quarters.push(both);
        }
        let halves: Vec<R> =
            [0, 1, 4, 5].iter().map(|&n| self.join_quarters(quarters[n], quarters[n + 2])).collect();
        let [even, odd] = [0, 1].map(|n| self.a.join_halves(halves[n], halves[n + 2]));
        [0x88, 0xdd].map(|which| {
            let d = self.a.zmm();
            let args = [A::Def(d, Size::Z), A::Use(even, Size::Z), A::Use(odd, Size::Z), A::I8(which)];
            self.a.put(Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8, &args, With::default());
            d
        })
    }

    /// Two quarters of a vector as its lower half.
    fn join_quarters(&mut self, low: R, high: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(low, Size::Y), A::Use(high, Size::X), A::I8(1)];
        self.a.put(Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8, &args, With::default());
        d
    }
}
