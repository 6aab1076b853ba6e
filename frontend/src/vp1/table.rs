//! The instruction table: VP1's rows and slots, compiled by [`crate::envydis`].

use std::sync::LazyLock;

use super::dialect::Vp1;
use super::{Unit, rows, slots};
use crate::envydis::{self, Table};

/// One instruction form.
pub type Row = envydis::Row<Vp1>;

impl Row {
    /// The unit that executes it.
    pub fn unit(&self) -> Unit {
        self.form
    }

    /// Whether only G80 has it.
    pub fn g80_only(&self) -> bool {
        self.need.g80
    }
}

/// What a row asks of the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// That it is G80.
    pub(super) g80: bool,
}

static TABLE: LazyLock<Table<Vp1>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::SLOTS]);
    for lines in [rows::SCALAR, rows::VECTOR, rows::ADDRESS, rows::BRANCH] {
        table.add(|value| Unit::of(value as u32), (0, 0), "", lines);
    }
    table
});

/// The table.
pub(super) fn table() -> &'static Table<Vp1> {
    &TABLE
}

/// All rows, unit by unit.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}
