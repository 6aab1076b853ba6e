//! A small frame, drawn by all families in the interpreter and in compiled code: interpreter and compiled code give the
//! same picture, and the families' pictures agree.

use draw::families;
use draw::picture::Picture;
use draw::renderer::Renderer;
use draw::scene::Scene;
use warpjit_runtime::{Config, Engine, Tier};

const SIZE: [u32; 2] = [64, 48];

fn pictures(tier: Tier) -> Vec<Picture> {
    let engine = Engine::new(Config::default().tier(tier)).unwrap();
    let scene = Scene::new();
    let draw = |name: &&str| {
        let mut renderer = Renderer::new(families::new(name, &engine).unwrap(), &scene).unwrap();
        renderer.frame(&scene, 0, SIZE).unwrap().0
    };
    families::NAMES.iter().map(draw).collect()
}

#[test]
fn families_and_tiers_draw_the_same() {
    let interpreted = pictures(Tier::Interp);
    let compiled = pictures(Tier::Jit);
    for ((name, one), other) in families::NAMES.iter().zip(&interpreted).zip(&compiled) {
        assert!(one.pixels == other.pixels, "{name}: interpreter and compiled code differ");
    }
    for (name, picture) in families::NAMES.iter().zip(&interpreted).skip(1) {
        let difference = picture.difference(&interpreted[0]);
        assert!(difference.is_small(), "{name}: {difference:?}");
    }
    // Something has been drawn, and not everywhere.
    let background = Scene::new().background;
    let drawn = interpreted[0].pixels.iter().filter(|pixel| **pixel != background).count();
    assert!((1000..3072).contains(&drawn), "{drawn} pixels drawn");
}
