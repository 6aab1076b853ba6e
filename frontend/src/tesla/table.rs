//! The instruction table: Tesla's rows and slots, compiled by [`crate::envydis`].

use std::sync::LazyLock;

use super::dialect::Tesla;
use super::{Chip, Features, Form, STAGES, Stage, Target, rows, slots};
use crate::envydis::{self, Table};

/// One instruction form.
pub type Row = envydis::Row<Tesla>;

/// What a row or alternative asks of the chip and the program type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    pub(super) features: Features,
    pub(super) stages: u8,
}

impl Need {
    pub(super) fn met(self, target: Target) -> bool {
        target.chip.features().contains(self.features) && self.stages & target.stage.bit() != 0
    }
}

impl Row {
    /// The chips that have it.
    pub fn chips(&self) -> Vec<Chip> {
        Chip::ALL.into_iter().filter(|chip| chip.features().contains(self.need.features)).collect()
    }

    /// The program types that have it.
    pub fn stages(&self) -> Vec<Stage> {
        STAGES.into_iter().filter(|stage| self.need.stages & stage.bit() != 0).collect()
    }
}

static TABLE: LazyLock<Table<Tesla>> = LazyLock::new(|| {
    let mut table = Table::new(&[slots::SLOTS]);
    let short = |value| if value & 2 != 0 { Form::ShortControl } else { Form::Short };
    table.add(short, (0, 1), "", rows::SHORT);
    // Immediate forms are what the plain long ones leave: `end` has no alternative for them.
    table.add(|_| Form::Imm, (0x3_00000001, 0x3_00000003), "", rows::IMM);
    table.add(|_| Form::Long, (1, 3), "<end> <p>", rows::LONG);
    table.add(|_| Form::Control, (3, 3), "", rows::CONTROL);
    table
});

/// The table.
pub(super) fn table() -> &'static Table<Tesla> {
    &TABLE
}

/// All rows.
pub fn rows() -> &'static [Row] {
    &TABLE.rows
}

/// Reads `[F_X] [CP|VP]`.
pub(super) fn parse_need(brackets: &'static str) -> Need {
    let mut need = Need { features: Features::NONE, stages: 0xff };
    for group in brackets.split(['[', ']', ' ']).filter(|group| !group.is_empty()) {
        let feature = match group {
            "F_SM11" => Some(Features::SM11),
            "F_SM12" => Some(Features::SM12),
            "F_FP64" => Some(Features::FP64),
            "F_D3D10_1" => Some(Features::D3D10_1),
            _ => None,
        };
        match feature {
            Some(feature) => need.features = need.features.and(feature),
            None => {
                need.stages = group
                    .split('|')
                    .map(|name| match name {
                        "VP" => Stage::Vertex.bit(),
                        "GP" => Stage::Geometry.bit(),
                        "FP" => Stage::Fragment.bit(),
                        "CP" => Stage::Compute.bit(),
                        _ => unreachable!("the table needs `{name}`"),
                    })
                    .sum();
            }
        }
    }
    need
}
