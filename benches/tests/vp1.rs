//! Tests that the VP1 programs compute what their Rust versions compute.

use warpjit_benches::vp1::cases;
use warpjit_runtime::{Config, Tier};

#[test]
fn programs_hold() {
    for case in cases(4000) {
        for tier in [Tier::Interp, Tier::Jit] {
            let mut machine = case.machine(&Config::default().tier(tier)).unwrap();
            case.run(&mut machine).unwrap();
            assert_eq!(machine.not_compiled(), None);
            assert!(case.holds(&machine), "{} {tier:?}", case.name);
        }
    }
}
