//! The instruction table: Fermi's rows and slots, compiled by [`crate::envydis`].

use std::sync::LazyLock;

use super::dialect::Fermi;
use super::{Chip, Family, Form, rows, slots, slots_media};
use crate::envydis::{self, Table};

/// One instruction form.
pub type Row = envydis::Row<Fermi>;

impl Row {
    /// The family that has it, if not both do.
    pub fn family(&self) -> Option<Family> {
        self.need
    }

    /// The chips that have it.
    pub fn chips(&self) -> Vec<Chip> {
        Chip::ALL.iter().copied().filter(|chip| self.available(*chip)).collect()
    }
}

static TABLE: LazyLock<Table<Fermi>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::FLAGS, slots::FIELDS, slots_media::MEDIA]);
    table.add(|_| Form::Short, (8, 8), "", rows::SHORT);
    let classes = [rows::F32, rows::F64, rows::IMM, rows::INT, rows::MISC, rows::MEMORY, rows::TEXTURE];
    for (class, lines) in classes.into_iter().enumerate() {
        let class = class as u8;
        table.add(move |_| Form::Long(class), (u64::from(class), 0xf), "<join> <p>", lines);
    }
    table.add(|_| Form::Control, (7, 0xf), "", rows::CONTROL);
    table
});

/// The table.
pub(super) fn table() -> &'static Table<Fermi> {
    &TABLE
}

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}
