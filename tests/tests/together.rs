//! The tests that may run side by side in one process, a module each. One program of them is linked sooner than many, and all processors
//! have work until the last test.
//!
//! The others are programs of their own: they count what their process allocates, or have a list of tests that is made when they run. All are
//! named in tests/Cargo.toml.

mod address_wrap;
mod bad_fermi;
mod bad_gcn;
mod bad_input;
mod bad_programs;
mod block_shapes;
mod buffer_versions;
mod chains;
mod chips;
mod citations;
mod code_in_memory;
mod differential;
mod fast_numerics;
mod fault_lanes;
mod fermi_cubins;
mod fermi_programs;
mod gcn_blocks;
mod gcn_entry;
mod gcn_memory;
mod gcn_scalar;
mod gcn_shared_data;
mod gcn_vector;
mod global_windows;
mod helper_lanes;
mod indexed_loads;
mod joined_warps;
mod lanes_apart;
mod lanes_descending;
mod lanes_in_runs;
mod launch_file;
mod launches;
mod limits;
mod lockstep;
mod long_code;
mod minimum_maximum;
mod quads_that_end;
mod random_fermi;
mod random_tesla;
mod saved;
mod scalar_accesses;
mod shared_lines;
mod special_functions;
mod stage_files;
mod struct_args;
mod unsafe_page;
mod vertex_streams;
mod vp1;
mod waits;
mod wave_votes;

/// A file that nobody names would not be compiled.
#[test]
fn every_file_is_a_test() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect("a text");
    let (manifest, modules) = (read("Cargo.toml"), read("tests/together.rs"));
    let mut found = 0;
    for entry in std::fs::read_dir(folder.join("tests")).expect("a folder") {
        let name = entry.expect("a file").file_name().into_string().expect("a name");
        let Some(name) = name.strip_suffix(".rs") else { continue };
        let named = manifest.contains(&format!("name = \"{name}\"\n"))
            || modules.contains(&format!("\nmod {name};\n"));
        assert!(named, "tests/tests/{name}.rs is neither in tests/Cargo.toml nor in tests/tests/together.rs");
        found += 1;
    }
    assert!(found > 40, "{found} files");
}
