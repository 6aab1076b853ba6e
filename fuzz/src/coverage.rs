//! Counts what a fuzzing run has covered. The counts of all workers are added up and printed at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use warpjit_frontend::{Chip, Isa, fermi, gcn, tesla, vp1};

use crate::Guest;
use crate::guest::Left;
use crate::oracle::Setting;

/// Counts by topic and name, and the operations of each instruction set that guests had.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    operations: BTreeMap<String, BTreeSet<String>>,
}

impl Coverage {
    /// Counts something.
    pub fn count(&mut self, topic: &str, name: impl Into<String>) {
        self.add(topic, name.into(), 1);
    }

    fn add(&mut self, topic: &str, name: String, times: u64) {
        *self.counts.entry(topic.into()).or_default().entry(name).or_default() += times;
    }

    /// How often something was counted.
    pub fn counted(&self, topic: &str, name: &str) -> u64 {
        self.counts.get(topic).and_then(|names| names.get(name)).copied().unwrap_or(0)
    }

    /// All that another one has counted.
    pub fn merge(&mut self, other: Coverage) {
        for (topic, names) in other.counts {
            for (name, times) in names {
                self.add(&topic, name, times);
            }
        }
        for (isa, names) in other.operations {
            self.operations.entry(isa).or_default().extend(names);
        }
    }

    /// A guest that was refused. Messages differ in their numbers only.
    pub fn refused(&mut self, isa: Isa, reason: &str) {
        let plain: String =
            reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(60).collect();
        self.count("refused", format!("{isa}: {plain}"));
    }

    /// A guest and how it ended.
    pub fn guest(&mut self, guest: &Guest, left: &Left) {
        let isa = guest.chip.isa();
        let end = match &left.report.fault {
            _ if left.report.cancelled => "took too long",
            Some(fault) => fault.kind.name(),
            None => "done",
        };
        self.count("ended with", format!("{isa} {end}"));
        let names = self.operations.entry(isa.name().into()).or_default();
        operations(guest.chip, &guest.code, names);
    }

    /// A run that was compared.
    pub fn setting(&mut self, setting: Setting, left: &Left) {
        self.count("host", format!("{:?}", setting.host));
        self.count("chunks of", setting.groups.map_or("auto".into(), |n| n.to_string()));
        self.count("tier", format!("{:?}", setting.tier));
        self.count("compiled code ran", if left.report.stats.jit_share > 0.0 { "yes" } else { "no" });
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (topic, names) in &self.counts {
            let mut names: Vec<_> = names.iter().collect();
            names.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
            let more = names.len().saturating_sub(16);
            let list: Vec<String> =
                names.iter().take(16).map(|(name, times)| format!("{name} {times}")).collect();
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let _ = writeln!(text, "{topic}: {}{more}", list.join(", "));
        }
        for (isa, names) in &self.operations {
            let all = Isa::parse(isa).map_or(0, all_operations);
            let _ = writeln!(text, "{isa}: {} of {all} operations", names.len());
        }
        text
    }
}

/// The names of the operations in some code, from its beginning on; words that are none are skipped.
fn operations(chip: Chip, code: &[u8], names: &mut BTreeSet<String>) {
    let mut at = 0;
    while at + 4 <= code.len() {
        let (name, bytes) = match chip {
            Chip::Tesla(chip) => tesla::decode(code, at as u32, tesla::Target::compute(chip))
                .map_or((None, 4), |inst| (Some(format!("{:?}", inst.op)), usize::from(inst.len))),
            Chip::Fermi(chip) => fermi::decode(code, at as u32, chip)
                .map_or((None, 4), |inst| (Some(format!("{:?}", inst.op)), usize::from(inst.len))),
            Chip::Gcn(chip) => gcn::decode(&code[at..], at as u64, chip)
                .map_or((None, 4), |inst| (Some(inst.op.name().to_owned()), usize::from(inst.len))),
            Chip::Vp1(_) => {
                let word = u32::from_le_bytes([code[at], code[at + 1], code[at + 2], code[at + 3]]);
                let row = vp1::table::rows().iter().find(|row| u64::from(word) & row.mask == row.value);
                (row.map(|row| format!("{:?}", row.op)), 4)
            }
        };
        names.extend(name);
        at += bytes.max(4);
    }
}

/// How many operations the instruction set's table has.
fn all_operations(isa: Isa) -> usize {
    fn count<T: std::fmt::Debug>(ops: impl Iterator<Item = T>) -> usize {
        ops.map(|op| format!("{op:?}")).collect::<BTreeSet<_>>().len()
    }
    match isa {
        Isa::Tesla => count(tesla::table::rows().iter().map(|row| row.op)),
        Isa::Fermi => count(fermi::table::rows().iter().map(|row| row.op)),
        Isa::Gcn => count(gcn::table::rows().iter().map(|row| row.op)),
        Isa::Vp1 => count(vp1::table::rows().iter().map(|row| row.op)),
    }
}
