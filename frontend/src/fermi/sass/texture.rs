//! Text of surface, texture and graphics instructions.

use super::{Text, access, cache, source, type_name, wide};
use crate::fermi::operand::Operand;
use crate::fermi::{Inst, Op};

fn mnemonic(op: Op) -> &'static str {
    match op {
        Op::SuClamp => "SUCLAMP",
        Op::SuBfm => "SUBFM",
        Op::SuEau => "SUEAU",
        Op::SuLdGB => "SULDGA",
        Op::SuLdB => "SULD.B",
        Op::SuRedP => "SURED.P",
        Op::SuStGB => "SUSTGA.B",
        Op::SuStGP => "SUSTGA.P",
        Op::SuStB => "SUST.B",
        Op::SuStP => "SUST.P",
        Op::SuQ => "SUQ",
        Op::SuLea => "SULEA",
        Op::Interp => "IPA",
        Op::LdVertex => "PFETCH",
        Op::LdAttr => "ALD",
        Op::StAttr => "AST",
        Op::Al2p => "AL2P",
        Op::PixInfo => "PIXLD",
        Op::Out => "OUT",
        Op::Tex => "TEX",
        Op::TexFetch => "TLD",
        Op::TexGather => "TLD4",
        Op::TexQueryLod => "TMML",
        Op::TexQuery => "TXQ",
        Op::TexCsaa => "TXA",
        _ => "TXD",
    }
}

/// A word of envydis's listing as the vendor spells it. Dimensions are operands and have none.
fn modifier(word: &'static str) -> &'static str {
    match word {
        "t" => "T",
        "p" => "P",
        "lauto" | "all" => "",
        "lzero" => "LZ",
        "lbias" => "LB",
        "llod" => "LL",
        "lbiasa" => "LBA",
        "lloda" => "LLA",
        "shadow" => "DC",
        "off" => "AOFFI",
        "off8" => "PTP",
        "ms" => "MS",
        "cl" => "CL",
        "ind" => "B",
        "sfilter" => "FILTER",
        "slod" => "LOD",
        "swrap" => "WRAP",
        "sbcolor" => "BORDER_COLOUR",
        "tdims" => "DIMENSION",
        "ttype" => "TEXTURE_TYPE",
        "tsamplepos" => "SAMPLER_POS",
        "unk39" => "PHYS",
        "out" => "O",
        "patch" => "P",
        _ => "",
    }
}

fn dimension(word: &str) -> Option<&'static str> {
    Some(match word {
        "t1d" | "1d" => "1D",
        "a1d" => "ARRAY_1D",
        "t2d" | "2d" => "2D",
        "a2d" => "ARRAY_2D",
        "t3d" | "3d" => "3D",
        "e2d" => "ARRAY_2D",
        "tcube" => "CUBE",
        "acube" => "ARRAY_CUBE",
        _ => return None,
    })
}

pub(super) fn describe(inst: &Inst, text: &mut Text) {
    let mods = &inst.mods;
    text.name = mnemonic(inst.op).into();
    let texture = matches!(
        inst.op,
        Op::Tex | Op::TexFetch | Op::TexGather | Op::TexQueryLod | Op::TexQuery | Op::TexCsaa | Op::TexGrad
    );
    text.flag(wide(inst.src(0)), "E");
    if inst.op == Op::SuRedP {
        text.suffix(&format!("{:?}", mods.atom).to_ascii_uppercase());
    }
    if matches!(inst.op, Op::SuLdGB | Op::SuLdB | Op::SuStGB | Op::SuStB | Op::LdAttr | Op::StAttr) {
        text.suffix(&access(mods.ty));
    }
    text.suffix(cache(mods.cache));
    if matches!(inst.op, Op::SuLdGB | Op::SuStGB | Op::SuStGP | Op::SuClamp) {
        // How the bits of the format are taken.
        let ty = if inst.op == Op::SuClamp { mods.ty } else { inst.src(0).and_then(|src| src.ty) };
        text.suffix(&type_name(ty));
    }
    if inst.op == Op::Interp {
        text.flag(mods.sat, "SAT");
    }
    let mut shape = None;
    for word in mods.words() {
        match (texture, dimension(word)) {
            (true, Some(name)) => shape = Some(name),
            (false, Some(name)) => {
                text.suffix(name);
            }
            (true, None) if inst.op == Op::TexGather && matches!(word, "r" | "g" | "b" | "a") => {
                text.suffix(&word.to_ascii_uppercase());
            }
            (true, None) => {
                text.suffix(modifier(word));
            }
            (false, None) => match modifier(word) {
                "" => {
                    text.suffix(&word.to_ascii_uppercase());
                }
                name => {
                    text.suffix(name);
                }
            },
        }
    }
    if texture {
        text.flag(mods.live, "LIVE").flag(mods.dall, "NDV");
        sample(inst, shape, text);
        return;
    }
    if inst.pdst.is_some() || matches!(inst.op, Op::SuClamp | Op::SuBfm | Op::SuLea | Op::PixInfo) {
        text.pdst(inst);
    }
    if inst.dst.is_some() {
        text.dst(inst);
    }
    text.srcs(inst, 0);
    if matches!(inst.op, Op::SuLdGB | Op::SuStGB | Op::SuStGP) {
        text.pred(inst);
    }
}

/// Destination, coordinates, texture, sampler, more coordinates, shape, mask.
fn sample(inst: &Inst, shape: Option<&str>, text: &mut Text) {
    text.dst(inst);
    let is_slot = |operand| matches!(operand, Operand::Tex(_) | Operand::Sampler(_));
    let mut coordinates = inst.srcs().iter().filter(|src| !is_slot(src.operand));
    text.operands.extend(coordinates.next().map(|src| source(*src)));
    // A vector of no registers is the zero register.
    text.operands.extend(coordinates.map(|src| match src.operand {
        Operand::Vec { count: 0, .. } => "RZ".into(),
        _ => source(*src),
    }));
    text.operands.extend(inst.srcs().iter().filter(|src| is_slot(src.operand)).map(|src| source(*src)));
    text.operands.extend(shape.map(String::from));
    if let Some(Operand::Vec { mask, .. }) = inst.dst {
        text.operand(format!("{mask:#x}"));
    }
}
