//! Draws frames with each family, says how long they took, and compares the pictures.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use draw::families;
use draw::picture::{Difference, Picture, TOLERANCE};
use draw::renderer::{Renderer, Times};
use draw::scene::Scene;
use indicatif::{ProgressBar, ProgressStyle};
use warpjit_runtime::{Config, Engine, Tier};

/// Draws a scene with the vertex and pixel programs of three families of GPUs, and compares the pictures.
#[derive(Parser)]
struct Args {
    /// Frames of the animation.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,
    /// The folder for the pictures, FAMILY_NUMBER.png.
    #[arg(long, default_value = "target/draw")]
    out: PathBuf,
    /// Columns and rows, both even.
    #[arg(long, value_name = "WxH", default_value = "640x480", value_parser = parse_size)]
    size: [u32; 2],
    /// The family to draw with.
    #[arg(long, value_enum, default_value = "all")]
    family: FamilyName,
    /// Host threads to use; 0: one for each processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// How programs are executed; the pictures are the same.
    #[arg(long, value_enum, default_value = "auto")]
    tier: TierName,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FamilyName {
    Tesla,
    Fermi,
    Gcn,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TierName {
    Interp,
    Jit,
    Auto,
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let numbers = text.split_once('x').and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    match numbers {
        Some(size) if size.iter().all(|&n: &u32| n > 0 && n <= 8192 && n.is_multiple_of(2)) => Ok(size),
        _ => Err("must be like 640x480, both even and at most 8192".into()),
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: the pictures differ");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether the pictures agree.
fn run(args: &Args) -> Result<bool> {
    let tier = match args.tier {
        TierName::Interp => Tier::Interp,
        TierName::Jit => Tier::Jit,
        TierName::Auto => Tier::Auto,
    };
    let engine = Engine::new(Config::default().tier(tier).threads(args.threads))?;
    let names: &[&str] = match args.family {
        FamilyName::All => &families::NAMES,
        one => &families::NAMES[one as usize..][..1],
    };
    let scene = Scene::new();
    let mut renderers = names
        .iter()
        .map(|name| Renderer::new(families::new(name, &engine)?, &scene))
        .collect::<Result<Vec<_>>>()?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;

    // The bar shows on a terminal only.
    let bar = if args.frames > 1 { ProgressBar::new(u64::from(args.frames)) } else { ProgressBar::hidden() };
    bar.set_style(ProgressStyle::with_template(
        "{elapsed_precise} {wide_bar} {pos}/{len} frames, {eta} left",
    )?);
    let mut times: Vec<Vec<Times>> = vec![Vec::new(); renderers.len()];
    let mut difference: Option<Difference> = None;
    for number in 0..args.frames {
        let mut first: Option<Picture> = None;
        for (renderer, times) in renderers.iter_mut().zip(&mut times) {
            let (picture, time) =
                renderer.frame(&scene, number, args.size).with_context(|| renderer.name())?;
            times.push(time);
            save(&picture, &args.out.join(format!("{}_{number:04}.png", renderer.name())))?;
            match &first {
                None => first = Some(picture),
                Some(first) => {
                    let from_first = picture.difference(first);
                    difference = Some(difference.map_or(from_first, |greatest| greatest.or(from_first)));
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    for (renderer, times) in renderers.iter().zip(&times) {
        print_times(renderer.name(), times);
    }
    let Some(difference) = difference else { return Ok(true) };
    println!(
        "greatest difference {} of 255; of pixels that differ by more than {TOLERANCE}: {} of {}; greatest of the others {}",
        difference.greatest, difference.apart, difference.pixels, difference.greatest_near
    );
    Ok(difference.is_small())
}

fn save(picture: &Picture, path: &std::path::Path) -> Result<()> {
    let write = || -> Result<()> { Ok(picture.write_png(BufWriter::new(File::create(path)?))?) };
    write().with_context(|| path.display().to_string())
}

/// The first frame stands for itself: programs are compiled in it.
fn print_times(name: &str, times: &[Times]) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let line = |what: &str, times: &[Times]| {
        let mean =
            |part: fn(&Times) -> Duration| ms(times.iter().map(part).sum::<Duration>()) / times.len() as f64;
        let quads = times.iter().map(|time| time.quads).sum::<usize>() / times.len();
        println!(
            "{name:5} {what}: {:.1} ms (vertices {:.1}, rasteriser {:.1}, pixels {:.1}, output {:.1}), {quads} quads",
            mean(Times::total),
            mean(|time| time.vertices),
            mean(|time| time.rasteriser),
            mean(|time| time.pixels),
            mean(|time| time.output)
        );
    };
    let (first, later) = times.split_at(1);
    line("first frame", first);
    if !later.is_empty() {
        line("later frames", later);
    }
}
