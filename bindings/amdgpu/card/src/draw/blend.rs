//! Blending: what becomes of a colour and of the one that is there.

/// CB_BLEND_CONTROL with the constant colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blend {
    pub enabled: bool,
    /// Factors of source and destination and how they are combined: of colours, of alpha.
    parts: [[u32; 3]; 2],
    constants: [f32; 4],
}

impl Blend {
    /// By the register.
    pub fn new(control: u32, constants: [f32; 4]) -> Blend {
        let part = |at: u32| [control >> at & 31, control >> (at + 8) & 31, control >> (at + 5) & 7];
        let color = part(0);
        // SEPARATE_ALPHA_BLEND
        let alpha = if control >> 29 & 1 != 0 { part(16) } else { color };
        Blend { enabled: control >> 30 & 1 != 0, parts: [color, alpha], constants }
    }

    /// Blends a colour with what is there. `sources`: the colour, and the second one for blending by two sources. `range`: what all are
    /// clamped to.
    pub fn apply(&self, sources: [[f32; 4]; 2], old: [f32; 4], range: Option<[f32; 2]>) -> [f32; 4] {
        let clamped = |color: [f32; 4]| match range {
            // Of a NaN it is the lower end.
            Some([low, high]) => color.map(|part| part.max(low).min(high)),
            None => color,
        };
        let [new, second] = sources.map(clamped);
        let constants = clamped(self.constants);
        std::array::from_fn(|n| {
            let [source, destination, combine] = self.parts[usize::from(n == 3)];
            let factor = |code: u32| match code {
                1 => 1.0,
                2 => new[n],
                3 => 1.0 - new[n],
                4 => new[3],
                5 => 1.0 - new[3],
                6 => old[3],
                7 => 1.0 - old[3],
                8 => old[n],
                9 => 1.0 - old[n],
                10 if n == 3 => 1.0,
                10 => new[3].min(1.0 - old[3]),
                13 => constants[n],
                14 => 1.0 - constants[n],
                15 => second[n],
                16 => 1.0 - second[n],
                17 => second[3],
                18 => 1.0 - second[3],
                19 => constants[3],
                20 => 1.0 - constants[3],
                _ => 0.0,
            };
            // 0 times infinity counts as 0.
            let times = |color: f32, factor: f32| if factor == 0.0 { 0.0 } else { color * factor };
            let (new_part, old_part) = (times(new[n], factor(source)), times(old[n], factor(destination)));
            match combine {
                0 => new_part + old_part,
                1 => new_part - old_part,
                2 => new[n].min(old[n]),
                3 => new[n].max(old[n]),
                _ => old_part - new_part,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_blending() {
        let (new, old) = ([1.0, 0.5, 0.0, 0.25], [0.0, 0.5, 1.0, 1.0]);
        let apply = |control| Blend::new(control, [0.5; 4]).apply([new, [0.125; 4]], old, None);
        // Alpha and 1 - alpha.
        assert_eq!(apply(1 << 30 | 4 | 5 << 8), [0.25, 0.5, 0.75, 0.8125]);
        // Sum; alpha kept.
        assert_eq!(apply(1 << 30 | 1 | 1 << 8 | 1 << 29 | 1 << 24), [1.0, 1.0, 1.0, 1.0]);
        // The larger; reverse difference.
        assert_eq!(apply(3 << 5 | 1 | 1 << 8), [1.0, 0.5, 1.0, 1.0]);
        assert_eq!(apply(4 << 5 | 1 | 1 << 8), [-1.0, 0.0, 1.0, 0.75]);
        // The constant, and the second source.
        assert_eq!(apply(13)[0], 0.5);
        assert_eq!(apply(15)[0], 0.125);
        let wide = Blend::new(1 | 1 << 8, [0.0; 4]).apply([[2.0; 4], [0.0; 4]], [0.5; 4], Some([0.0, 1.0]));
        assert_eq!(wide, [1.5; 4]);
    }
}
