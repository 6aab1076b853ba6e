//! Packs a folder of launch files into one archive, as `tests/corpus/tesla-op.tar.gz` is made:
//!
//! ```sh
//! cargo run -p warpjit-tests --example pack_corpus -- /tmp/tesla-op tests/corpus/tesla-op.tar.gz
//! ```
//!
//! `tar xzf` unpacks it; the tests read it in place.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, archive] = args.as_slice() else {
        eprintln!("usage: pack_corpus FOLDER ARCHIVE.tar.gz");
        return ExitCode::from(2);
    };
    match warpjit_tests::corpus::pack(Path::new(folder), Path::new(archive)) {
        Ok(files) => {
            println!("{files} files in {archive}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder} to {archive}: {error}");
            ExitCode::from(2)
        }
    }
}
