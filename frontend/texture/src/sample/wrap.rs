//! Wrap modes; docs/hardware/textures-nv.md section 7, docs/hardware/graphics-gcn.md section 5.

use super::sampler::Wrap;

impl Wrap {
    /// The texel of `n` that number `i` stands for; `None`: the border. Half-border modes clamp the coordinate beforehand.
    pub fn texel(self, i: i64, n: u32) -> Option<u32> {
        let n = i64::from(n.max(1));
        let mirrored = if i < 0 { !i } else { i };
        let inside = |i: i64| (0..n).contains(&i).then_some(i);
        let texel = match self {
            Wrap::Wrap => Some(i.rem_euclid(n)),
            Wrap::Mirror => {
                let m = i.rem_euclid(2 * n);
                Some(if m < n { m } else { 2 * n - 1 - m })
            }
            Wrap::ClampToEdge => Some(i.clamp(0, n - 1)),
            Wrap::Border | Wrap::ClampHalfBorder => inside(i),
            Wrap::MirrorOnceEdge => Some(mirrored.clamp(0, n - 1)),
            Wrap::MirrorOnceBorder | Wrap::MirrorOnceHalfBorder => inside(mirrored),
        };
        texel.map(|texel| texel as u32)
    }

    /// What becomes of a linear filter's coordinate, `256 * (u - 0.5)`, before its texels wrap: half-border modes clamp `u`.
    pub(super) fn clamp_linear(self, q: i64, n: u32) -> i64 {
        let end = 256 * i64::from(n.max(1)) - 128;
        match self {
            Wrap::ClampHalfBorder => q.clamp(-128, end),
            Wrap::MirrorOnceHalfBorder => ((q + 128).abs() - 128).clamp(-128, end),
            _ => q,
        }
    }

    /// As [`Wrap::clamp_linear`], of the texel number of a nearest filter: at the end, the last texel.
    pub(super) fn clamp_nearest(self, i: i64, n: u32) -> i64 {
        let last = i64::from(n.max(1)) - 1;
        match self {
            Wrap::ClampHalfBorder => i.clamp(0, last),
            Wrap::MirrorOnceHalfBorder => i.clamp(-1 - last, last),
            _ => i,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texels of -10 to 9 in a level of 4; `b` is the border.
    #[test]
    fn all_modes() {
        let table = [
            (Wrap::Wrap, "23012301230123012301"),
            (Wrap::Mirror, "10012332100123321001"),
            (Wrap::ClampToEdge, "00000000000123333333"),
            (Wrap::Border, "bbbbbbbbbb0123bbbbbb"),
            (Wrap::ClampHalfBorder, "bbbbbbbbbb0123bbbbbb"),
            (Wrap::MirrorOnceEdge, "33333332100123333333"),
            (Wrap::MirrorOnceBorder, "bbbbbb32100123bbbbbb"),
            (Wrap::MirrorOnceHalfBorder, "bbbbbb32100123bbbbbb"),
        ];
        for (wrap, expected) in table {
            let found: String =
                (-10..10).map(|i| wrap.texel(i, 4).map_or('b', |t| char::from(b'0' + t as u8))).collect();
            assert_eq!(found, expected, "{wrap:?}");
        }
    }

    #[test]
    fn half_borders() {
        // u from -1.5 to 5.5 in steps of 1, in a level of 4: q is 256 u - 128.
        let qs = |wrap: Wrap| [-1.5, 0.25, 3.5, 4.5].map(|u| wrap.clamp_linear((256.0 * u) as i64 - 128, 4));
        assert_eq!(qs(Wrap::ClampHalfBorder), [-128, -64, 768, 896]);
        assert_eq!(qs(Wrap::MirrorOnceHalfBorder), [256, -64, 768, 896]);
        assert_eq!(qs(Wrap::Border), [-512, -64, 768, 1024]);
        let nearest = |wrap: Wrap| [-5, -4, -1, 3, 4].map(|i| wrap.texel(wrap.clamp_nearest(i, 4), 4));
        assert_eq!(nearest(Wrap::ClampHalfBorder), [0, 0, 0, 3, 3].map(Some));
        assert_eq!(nearest(Wrap::MirrorOnceHalfBorder), [3, 3, 0, 3, 3].map(Some));
    }

    #[test]
    fn absurd_numbers() {
        for wrap in
            [Wrap::Wrap, Wrap::Mirror, Wrap::ClampToEdge, Wrap::MirrorOnceEdge, Wrap::MirrorOnceBorder]
        {
            for i in [i64::MIN, -1, 0, i64::MAX] {
                for n in [0, 1, u32::MAX] {
                    let texel = wrap.texel(i, n);
                    assert!(texel.is_none_or(|texel| texel < n.max(1)), "{wrap:?} {i} {n}");
                }
            }
        }
    }
}
