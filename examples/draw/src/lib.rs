//! A small software GPU. It draws a scene with the native machine code of vertex and pixel programs of three families of GPUs, and the
//! three pictures agree.
//!
//! docs/software-gpu.md walks through it. In short:
//!
//! - [`scene`] has meshes, camera and draw calls: what a game would give;
//! - [`renderer`] takes a draw call from vertex arrays to pixels;
//! - [`rasteriser`] does the fixed part of a GPU between the two programs: clipping, triangles, quads, depth;
//! - [`families`] run the programs with warpjit, each as its hardware would be set up;
//! - [`texture`] makes textures and lays them out as each family's hardware reads them;
//! - [`picture`] is the render target.

pub mod families;
pub mod matrix;
pub mod picture;
pub mod rasteriser;
pub mod renderer;
pub mod scene;
pub mod texture;
