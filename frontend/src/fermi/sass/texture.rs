//! Text of surface, texture and graphics instructions.

use super::{Text, access, cache, source, type_name, wide};
use crate::fermi::modifier::{
    AttrSpace, Emission, InterpMode, InterpSample, Modifier, PixelInfo, SurfaceElement, SurfaceLayout,
    SurfaceOutside, SurfaceQuery, SurfaceShape, TexComponent, TexFlag, TexLevel, TexOffset, TexPhase,
    TexQuery, TexShape,
};
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

/// A modifier as the vendor spells it; empty where it is not shown.
fn name(modifier: Modifier) -> &'static str {
    match modifier {
        Modifier::TexPhase(TexPhase::T) => "T",
        Modifier::TexPhase(TexPhase::P) | Modifier::AttrSpace(AttrSpace::Patch) => "P",
        Modifier::TexLevel(TexLevel::Auto) | Modifier::InterpMode(InterpMode::Mul) => "",
        Modifier::TexLevel(TexLevel::Zero) => "LZ",
        Modifier::TexLevel(TexLevel::Bias) => "LB",
        Modifier::TexLevel(TexLevel::Given) => "LL",
        Modifier::TexLevel(TexLevel::BiasA) => "LBA",
        Modifier::TexLevel(TexLevel::GivenA) => "LLA",
        Modifier::TexFlag(TexFlag::Shadow) => "DC",
        Modifier::TexFlag(TexFlag::Clamp) => "CL",
        Modifier::TexFlag(TexFlag::Samples) => "MS",
        Modifier::TexFlag(TexFlag::Indirect) => "B",
        Modifier::TexOffset(TexOffset::One) | Modifier::InterpSample(InterpSample::Offset) => "AOFFI",
        Modifier::TexOffset(TexOffset::Four) => "PTP",
        Modifier::TexComponent(TexComponent::R) => "R",
        Modifier::TexComponent(TexComponent::G) => "G",
        Modifier::TexComponent(TexComponent::B) => "B",
        Modifier::TexComponent(TexComponent::A) => "A",
        Modifier::TexShape(TexShape::D1) | Modifier::SurfaceShape(SurfaceShape::D1) => "1D",
        Modifier::TexShape(TexShape::Array1) => "ARRAY_1D",
        Modifier::TexShape(TexShape::D2) | Modifier::SurfaceShape(SurfaceShape::D2) => "2D",
        Modifier::TexShape(TexShape::Array2) | Modifier::SurfaceShape(SurfaceShape::Array2) => "ARRAY_2D",
        Modifier::TexShape(TexShape::D3) | Modifier::SurfaceShape(SurfaceShape::D3) => "3D",
        Modifier::TexShape(TexShape::Cube) => "CUBE",
        Modifier::TexShape(TexShape::ArrayCube) => "ARRAY_CUBE",
        Modifier::TexQuery(TexQuery::Size) => "DIMENSION",
        Modifier::TexQuery(TexQuery::Type) => "TEXTURE_TYPE",
        Modifier::TexQuery(TexQuery::SamplePosition) => "SAMPLER_POS",
        Modifier::TexQuery(TexQuery::Filter) => "FILTER",
        Modifier::TexQuery(TexQuery::Level) => "LOD",
        Modifier::TexQuery(TexQuery::Wrap) => "WRAP",
        Modifier::TexQuery(TexQuery::Border) => "BORDER_COLOUR",
        Modifier::SurfaceLayout(SurfaceLayout::Surface) => "SD",
        Modifier::SurfaceLayout(SurfaceLayout::Linear) => "PL",
        Modifier::SurfaceLayout(SurfaceLayout::Block) => "BL",
        Modifier::SurfaceElement(SurfaceElement::R1) => "R1",
        Modifier::SurfaceElement(SurfaceElement::R2) => "R2",
        Modifier::SurfaceElement(SurfaceElement::R4) => "R4",
        Modifier::SurfaceElement(SurfaceElement::R8) => "R8",
        Modifier::SurfaceElement(SurfaceElement::R16) => "R16",
        Modifier::SurfaceOutside(SurfaceOutside::Zero) => "ZERO",
        Modifier::SurfaceOutside(SurfaceOutside::Ignore) => "IGN",
        Modifier::SurfaceOutside(SurfaceOutside::Clamp) => "CLAMP",
        Modifier::SurfaceOutside(SurfaceOutside::Trap) => "TRAP",
        Modifier::SurfaceOutside(SurfaceOutside::Surface) => "SDCL",
        Modifier::SurfaceQuery(SurfaceQuery::Rank) => "RANK",
        Modifier::SurfaceQuery(SurfaceQuery::Format) => "PIXFMT",
        Modifier::SurfaceQuery(SurfaceQuery::SampleSize) => "SMPLSZ",
        Modifier::SurfaceQuery(SurfaceQuery::Size) => "DIM",
        Modifier::SurfaceQuery(SurfaceQuery::Components) => "RGBA",
        Modifier::SurfaceQuery(SurfaceQuery::BlockSize) => "BLKSZ",
        Modifier::InterpMode(InterpMode::Pass) => "PASS",
        Modifier::InterpMode(InterpMode::Flat) => "FLAT",
        Modifier::InterpMode(InterpMode::Colour) => "SC",
        Modifier::InterpSample(InterpSample::Centroid) => "CENT",
        Modifier::PixelInfo(PixelInfo::SampleCount) => "SAMPLECNT",
        Modifier::PixelInfo(PixelInfo::CoverageMask) => "COVMASK",
        Modifier::PixelInfo(PixelInfo::Covered) => "COVERED",
        Modifier::PixelInfo(PixelInfo::Offset) => "OFFSET",
        Modifier::PixelInfo(PixelInfo::CentroidOffset) => "CENT_OFFSET",
        Modifier::PixelInfo(PixelInfo::SampleId) => "SAMPLEID",
        Modifier::AttrSpace(AttrSpace::Out) => "O",
        Modifier::AttrSpace(AttrSpace::Physical) => "PHYS",
        Modifier::Emission(Emission::Emit) => "EMIT",
        Modifier::Emission(Emission::Restart) => "RESTART",
        // Printed with their own instructions.
        Modifier::ConstMode(_) | Modifier::CacheOp(_) | Modifier::CacheKind(_) | Modifier::Breakpoint(_) => {
            ""
        }
    }
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
    // A texture's shape is an operand.
    for modifier in mods.listed().filter(|modifier| !matches!(modifier, Modifier::TexShape(_))) {
        text.suffix(name(modifier));
    }
    if texture {
        text.flag(mods.live, "LIVE").flag(mods.dall, "NDV");
        sample(inst, mods.get::<TexShape>().map(|shape| name(Modifier::TexShape(shape))), text);
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
