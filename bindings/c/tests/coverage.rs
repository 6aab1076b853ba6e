//! Every capability of the Rust library has a call in C. The methods and settings of its public types are read from its source, and each
//! has a line here: the functions of C that do it, or why there are none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A public type, its methods and settings, and what does them in C: functions of `warpjit.h` without `warpjit_`, separated by spaces.
/// What begins with `-` is the reason why there is none.
const TYPES: &[(&str, &[(&str, &str)])] = &[
    (
        "Engine",
        &[
            ("new", "engine_new"),
            ("config", "- who made the engine has the settings"),
            ("ensure_handlers", "engine_ensure_handlers"),
            ("work", "engine_work"),
            ("memory", "memory_new"),
            ("wait_for_compiler", "engine_wait_for_compiler"),
            ("settle", "engine_settle"),
            ("run", "engine_run"),
            ("resume", "engine_resume"),
            ("run_stage", "engine_run_stage"),
            ("load", "program_load program_load_at"),
            ("prepare", "engine_prepare"),
            ("queue", "queue_new"),
            ("precompile", "engine_precompile"),
        ],
    ),
    (
        "Memory",
        &[
            ("new", "memory_new"),
            ("with", "memory_new"),
            ("over", "memory_over"),
            ("map", "memory_map"),
            ("map_shared", "memory_map_shared"),
            ("map_file", "memory_map_file"),
            ("map_host", "memory_map_host"),
            ("map_alias", "memory_map_alias"),
            ("map_device", "memory_map_device"),
            ("set_pager", "memory_set_pager"),
            ("watch_writes", "memory_watch_writes"),
            ("protect", "memory_protect"),
            ("unmap", "memory_unmap"),
            ("buffers", "memory_buffers"),
            ("take_dirty", "memory_take_dirty"),
            ("mark_dirty", "memory_mark_dirty"),
            ("is_coarse", "- of no use without the page table"),
            ("is_careful", "memory_is_careful"),
            ("load", "memory_load"),
            ("store", "memory_store"),
            ("read", "memory_read"),
            ("write", "memory_write"),
            ("atomic", "memory_atomic"),
            ("update32", "memory_atomic"),
            ("window_bytes", "memory_window"),
            ("base", "memory_window"),
            ("page_table", "- for generators of code"),
            ("has_near_guards", "- for generators of code"),
        ],
    ),
    (
        "MemoryOptions",
        &[
            ("new", "memory_options_new"),
            ("of_chip", "memory_options_set_chip"),
            ("address_bits", "memory_options_set_address_bits"),
            ("size", "memory_options_set_size"),
            ("ignore_high_bits", "memory_options_set_ignored_high_bits"),
            ("identity", "memory_options_set_identity"),
            ("identity_from", "- for HSA's library, whose processes share compiled code"),
            ("careful", "memory_options_set_careful"),
        ],
    ),
    (
        "Program",
        &[
            ("load", "program_load"),
            ("load_within", "program_load"),
            ("load_at", "program_load_at"),
            ("load_at_within", "program_load_at"),
            ("from_image", "- programs that somebody else has lifted are for Rust"),
            ("from_stage_image", "- programs that somebody else has lifted are for Rust"),
            ("interface", "program_stage"),
            ("name", "program_name"),
            ("address_of", "- positions occur in the IR as values of Rust only"),
            ("code_ranges", "program_code_ranges"),
            ("is_current", "program_is_current"),
            ("bytes_used", "program_bytes_used"),
            ("image", "program_ir program_needs program_code"),
            ("precompile", "engine_precompile"),
        ],
    ),
    (
        "ProgramOptions",
        &[
            ("new", "program_options_new"),
            ("isa", "program_options_new"),
            ("chip", "program_options_set_chip"),
            ("raw", "program_options_set_raw"),
            ("kernel", "program_options_set_kernel"),
            ("entry", "program_options_set_entry"),
            ("registers", "program_options_set_registers"),
            ("sgprs", "program_options_set_sgprs"),
            ("shared", "program_options_set_shared"),
            ("local", "program_options_set_local"),
            ("rsrc1", "program_options_set_rsrc"),
            ("rsrc2", "program_options_set_rsrc"),
            ("known_user_data", "program_options_set_known_user_data"),
            ("flat_apertures", "program_options_set_flat_apertures"),
            ("jump_targets", "program_options_set_jump_targets"),
            ("data_share_given", "program_options_set_data_share_given"),
            ("segment", "program_options_set_segment"),
            ("code_bytes", "program_options_set_code_bytes"),
            ("base", "program_options_set_base"),
            ("c0_given", "program_options_set_c0_given"),
            ("texture_handles", "program_options_set_texture_handles"),
            ("stage", "program_options_set_stage"),
        ],
    ),
    (
        "ProgramCache",
        &[
            ("new", "program_cache_new"),
            ("with_budget", "program_cache_new"),
            ("get", "program_cache_get"),
            ("invalidate", "program_cache_invalidate"),
            ("flush", "program_cache_flush"),
            ("clear", "program_cache_clear"),
            ("statistics", "program_cache_get_statistics"),
        ],
    ),
    (
        "Launch",
        &[
            ("grid", "launch_set_grid"),
            ("block", "launch_set_block"),
            ("grid_start", "launch_set_grid_start"),
            ("last_block", "launch_set_last_block"),
            ("dynamic_shared", "launch_set_dynamic_shared"),
            ("max_steps", "launch_set_max_steps"),
            ("args", "launch_add_arg launch_clear_args"),
            ("consts", "launch_set_constants"),
            ("globals", "launch_add_global launch_add_global_tiled"),
            ("user_data", "launch_set_user_data"),
            ("scratch_ring", "launch_set_scratch_ring"),
            ("registers", "launch_set_register"),
            ("capture_registers", "launch_set_capture"),
            ("shared", "launch_set_shared"),
            ("capture_shared", "launch_set_capture"),
            ("blocks", "launch_set_blocks"),
            ("cancel", "launch_set_cancel"),
            ("save", "launch_set_save"),
            (
                "textures",
                "launch_set_texture launch_set_sampler launch_set_surface launch_set_texture_tables",
            ),
            ("progress", "launch_set_progress"),
        ],
    ),
    (
        "Arg",
        &[
            ("u32", "launch_add_arg_u32"),
            ("f32", "launch_add_arg_f32"),
            ("u64", "launch_add_arg_u64"),
            ("shared", "launch_add_arg_shared"),
            ("bytes", "launch_add_arg"),
            ("u32s", "launch_add_arg"),
            ("f32s", "launch_add_arg"),
        ],
    ),
    (
        "Config",
        &[
            ("thread_count", "engine_threads"),
            ("threads", "config_set_threads"),
            ("idle", "config_set_idle"),
            ("compiler_threads", "config_set_compiler"),
            ("compiler_nice", "config_set_compiler"),
            ("compiler_queue", "config_set_compiler"),
            ("tier", "config_set_tier"),
            ("hot_after", "config_set_tier"),
            ("join_after", "config_set_join_after"),
            ("cache", "config_set_cache"),
            ("chunk_groups", "config_set_chunk_groups"),
            ("checked_memory", "config_set_checked_memory"),
            ("signals", "config_set_signals"),
            ("lockstep", "config_set_lockstep"),
            ("numerics", "config_set_numerics"),
            ("host", "config_set_host"),
            ("count", "config_set_count"),
            ("observe", "config_set_observe"),
            ("budget", "config_set_budget"),
        ],
    ),
    (
        "CacheConfig",
        &[
            ("new", "config_set_cache"),
            ("of_user", "config_set_user_cache"),
            ("folder", "config_set_cache"),
            ("max_bytes", "config_set_cache"),
        ],
    ),
    (
        "Observe",
        &[
            ("perf", "config_set_observe"),
            ("sample_rate", "config_set_observe"),
            ("count", "config_set_observe"),
            ("listings", "config_set_observe"),
        ],
    ),
    (
        "Queue",
        &[
            ("options", "- who made the queue has them"),
            ("engine", "- who made the queue has it"),
            ("submit", "queue_submit"),
            ("submit_batch", "queue_submit_batch"),
            ("finish", "queue_finish"),
        ],
    ),
    ("QueueOptions", &[("new", "queue_new"), ("priority", "queue_new"), ("on_drop", "queue_new")]),
    (
        "Submission",
        &[
            ("launch", "submission_of_launch"),
            ("prepared", "submission_of_prepared"),
            ("stage", "submission_of_stage"),
            ("after", "submission_add_dependency"),
            ("deadline", "submission_set_deadline"),
            ("within", "submission_set_deadline"),
            ("on_complete", "submission_on_complete"),
        ],
    ),
    (
        "Ticket",
        &[
            ("poll", "ticket_poll"),
            ("wait", "ticket_wait"),
            ("wait_timeout", "ticket_wait"),
            ("report", "ticket_wait"),
            ("cancel", "ticket_cancel"),
            ("dispatches", "ticket_dispatches"),
            ("take_batch", "ticket_take_batch"),
            ("on_complete", "submission_on_complete"),
        ],
    ),
    (
        "Dispatch",
        &[
            ("of", "queue_submit_batch"),
            ("grid", "queue_submit_batch"),
            ("args", "queue_submit_batch"),
            ("user_data", "queue_submit_batch"),
        ],
    ),
    (
        "Prepared",
        &[
            ("run", "prepared_run"),
            ("program", "- who prepared it has the program"),
            ("memory", "- who prepared it has the memory"),
            ("args_bytes", "prepared_sizes"),
            ("user_data_words", "prepared_sizes"),
            ("set_args", "prepared_set_args"),
            ("set_user_data", "prepared_set_user_data"),
            ("set_const", "prepared_set_constants"),
            ("set_grid", "prepared_set_grid"),
            ("set_blocks", "prepared_set_blocks"),
            ("set_cancel", "prepared_set_cancel"),
        ],
    ),
    (
        "Compilation",
        &[
            ("progress", "compilation_progress"),
            ("wait", "compilation_wait"),
            ("wait_timeout", "compilation_wait"),
            ("cancel", "compilation_cancel"),
        ],
    ),
    (
        "SavedLaunch",
        &[
            ("blocks_left", "saved_launch_info"),
            ("has_memory", "saved_launch_info"),
            ("to_bytes", "saved_launch_to_bytes"),
            ("to_bytes_with", "saved_launch_to_bytes"),
            ("from_bytes", "saved_launch_from_bytes"),
            ("restore_memory", "saved_launch_restore_memory"),
        ],
    ),
    (
        "SaveToken",
        &[
            ("new", "save_new"),
            ("after", "- for tests"),
            ("save", "save_now"),
            ("is_asked", "- who asks knows it"),
        ],
    ),
    (
        "CancelToken",
        &[("new", "cancel_new"), ("cancel", "cancel_now"), ("is_cancelled", "- who cancels knows it")],
    ),
    ("Batch", &[("new", "batch_new")]),
    ("OwnedBatch", &[("new", "batch_new"), ("input", "batch_add_input"), ("output", "batch_add_output")]),
    ("OwnedRows", &[("new", "batch_add_input"), ("every", "batch_add_input")]),
    ("Rows", &[("new", "batch_add_input"), ("every", "batch_add_input")]),
    (
        "RowsMut",
        &[
            ("new", "batch_add_output"),
            ("at", "batch_add_output"),
            ("every", "batch_add_output"),
            ("columns", "batch_add_output"),
        ],
    ),
    (
        "Machine",
        &[
            ("new", "vp1_new"),
            ("new_within", "vp1_new"),
            ("set_cancel", "vp1_set_cancel"),
            ("pc", "vp1_pc"),
            ("set_pc", "vp1_set_pc"),
            ("data_store", "vp1_data_store"),
            ("data_store_mut", "vp1_set_data_store"),
            ("register", "vp1_register"),
            ("set_register", "vp1_set_register"),
            ("r", "vp1_register"),
            ("set_r", "vp1_set_register"),
            ("a", "vp1_register"),
            ("set_a", "vp1_set_register"),
            ("v", "vp1_register"),
            ("set_v", "vp1_set_register"),
            ("run", "vp1_run"),
            ("not_compiled", "- a matter of speed alone"),
            ("registers", "vp1_register"),
        ],
    ),
];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The public methods and the settings of each type, by name of the type.
fn of_rust() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/src"), &mut files);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let source = fs::read_to_string(file).unwrap();
        let (mut methods_of, mut settings_of) = (None, None);
        let mut lines = source.lines().peekable();
        while let Some(line) = lines.next() {
            let word = |rest: &str| -> String {
                rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
            };
            if let Some(rest) = line.strip_prefix("impl") {
                let rest =
                    if rest.starts_with('<') { rest.split_once('>').map_or("", |two| two.1) } else { rest };
                methods_of = (!rest.contains(" for ")).then(|| word(rest.trim_start()));
            } else if line.starts_with("crate::setters::setters!") {
                settings_of = lines.next().map(|line| word(line.trim_start()));
            } else if line.starts_with('}') {
                (methods_of, settings_of) = (None, None);
            }
            let method = ["    pub fn ", "    pub unsafe fn ", "    pub const fn "]
                .iter()
                .find_map(|start| line.strip_prefix(start));
            if let (Some(of), Some(rest)) = (&methods_of, method) {
                found.entry(of.clone()).or_default().insert(word(rest));
            }
            let setting = line.strip_prefix("        ").filter(|rest| !rest.starts_with([' ', '#', '/']));
            if let (Some(of), Some(rest)) = (&settings_of, setting) {
                found.entry(of.clone()).or_default().insert(word(rest));
            }
        }
    }
    found
}

#[test]
fn each_capability_has_a_call() {
    let header = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/warpjit.h")).unwrap();
    let rust = of_rust();
    for (name, table) in TYPES {
        let known: BTreeSet<String> = table.iter().map(|(method, _)| (*method).into()).collect();
        let there = rust.get(*name).unwrap_or_else(|| panic!("there is no type {name}"));
        let new: Vec<&String> =
            there.difference(&known).filter(|method| !is_internal(name, method)).collect();
        assert!(new.is_empty(), "{name} has {new:?}: say here which call of C does it");
        let gone: Vec<&String> = known.difference(there).collect();
        assert!(gone.is_empty(), "{name} has no {gone:?}");
        for (method, calls) in *table {
            for call in calls.split(' ').take_while(|call| *call != "-") {
                assert!(header.contains(&format!("warpjit_{call}(")), "{name}::{method}: no warpjit_{call}");
            }
        }
    }
}

/// What the source calls public in a type that is public, and only the library can name.
fn is_internal(name: &str, method: &str) -> bool {
    matches!((name, method), ("Program", "of_kernel") | ("OwnedBatch", "with"))
}

/// The types themselves: what `lib.rs` gives to embedders and has methods is in the table, or is data.
#[test]
fn no_type_is_left_out() {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime/src/lib.rs");
    let lib = fs::read_to_string(lib).unwrap();
    let given: BTreeSet<&str> = lib
        .split("pub use ")
        .skip(1)
        .flat_map(|list| list.split(';').next().unwrap().split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .collect();
    // What a report gives, which C reads by `warpjit_report_...`; samplers without a launch, which only benchmarks have; and names of tiers,
    // which C has as constants.
    let others = ["Denied", "Error", "Fault", "FaultKind", "Samples", "Sampler", "BoundSampler", "Tier"];
    for name in of_rust().keys().map(String::as_str).filter(|name| given.contains(name)) {
        let is_known = TYPES.iter().any(|(known, _)| *known == name) || others.contains(&name);
        assert!(is_known, "{name}: say here which calls of C do what it does");
    }
}
