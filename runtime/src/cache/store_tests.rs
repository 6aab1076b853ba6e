//! The files: whole or none, by one process or several, up to a size.

use super::*;
use std::os::unix::fs::PermissionsExt;

const KEY: Key = Key([1, 2]);

/// A folder of its own for a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("warpjit-store-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn store(folder: &Path, max_bytes: u64) -> Store {
    Store::new(CacheConfig { folder: folder.to_owned(), max_bytes })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = folder("saved");
    let store = store(&folder, 1 << 20);
    assert_eq!(store.load(KEY), None);
    for contents in [&b"first"[..], b"", b"the second is longer"] {
        store.save(KEY, contents);
        assert_eq!(store.load(KEY).as_deref(), Some(contents));
    }
    assert_eq!(store.load(Key([1, 3])), None);
    assert_eq!(names(&folder).len(), 1);
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_with_any_byte_changed_or_cut_anywhere_is_none() {
    let folder = folder("changed");
    let store = store(&folder, 1 << 20);
    let contents: Vec<u8> = (0..150u8).collect();
    store.save(KEY, &contents);
    let path = store.path(KEY);
    let right = fs::read(&path).unwrap();
    assert_eq!(right.len(), HEADER + 150);
    let mut wrong = Vec::new();
    for at in 0..right.len() {
        // Magic, key, length, checksum, contents: a bit of each.
        let mut changed = right.clone();
        changed[at] ^= 1 << (at % 8);
        wrong.push(changed);
        wrong.push(right[..at].to_vec());
    }
    wrong.push([&right[..], &[0]].concat());
    wrong.push(vec![0; right.len()]);
    for bytes in wrong {
        fs::write(&path, &bytes).unwrap();
        assert_eq!(store.load(KEY), None);
    }
    store.save(KEY, &contents);
    assert_eq!(store.load(KEY), Some(contents));
    // The name does not make it another's.
    fs::copy(&path, store.path(Key([9, 9]))).unwrap();
    assert_eq!(store.load(Key([9, 9])), None);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let folder = folder("evict");
    let store = store(&folder, 4 * 1100);
    let contents = vec![7; 1000];
    let key = |number| Key([number, 0]);
    let age = |number, seconds| {
        let file = File::options().write(true).open(store.path(key(number))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for number in 0..4 {
        store.save(key(number), &contents);
        age(number, 100 - number);
    }
    // The oldest is used again.
    assert!(store.load(key(0)).is_some());
    store.save(key(4), &contents);
    let there: Vec<bool> = (0..5).map(|number| store.path(key(number)).exists()).collect();
    assert_eq!(there, [true, false, true, true, true]);
    // More than there may be at all is not stored.
    store.save(key(5), &vec![7; 5000]);
    assert_eq!(store.load(key(5)), None);
    assert_eq!(names(&folder).len(), 4);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_that_nobody_finished_go_after_a_while() {
    let folder = folder("abandoned");
    let store = store(&folder, 1 << 20);
    store.save(KEY, b"x");
    fs::write(folder.join("1-0.tmp"), b"old").unwrap();
    fs::write(folder.join("2-0.tmp"), b"new").unwrap();
    fs::write(folder.join("other"), b"not ours").unwrap();
    let old = File::options().write(true).open(folder.join("1-0.tmp")).unwrap();
    old.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
    store.save(KEY, b"y");
    let mut left = names(&folder);
    left.retain(|name| !name.ends_with(".code"));
    left.sort();
    assert_eq!(left, ["2-0.tmp", "other"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn folders_and_files_that_are_not_ours_are_left_alone() {
    let folder = folder("foreign");
    let store = store(&folder, 1 << 20);
    store.save(KEY, b"x");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(store.load(KEY), None);
    store.save(Key([5, 5]), b"y");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((store.load(KEY).as_deref(), store.load(Key([5, 5]))), (Some(&b"x"[..]), None));
    // A link in the place of a file is not followed, a folder not read.
    let path = store.path(KEY);
    fs::rename(&path, folder.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.join("elsewhere"), &path).unwrap();
    assert_eq!(store.load(KEY), None);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(store.load(KEY), None);
    store.save(KEY, b"z");
    // A file where the folder should be.
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, b"").unwrap();
    store.save(KEY, b"z");
    assert_eq!(store.load(KEY), None);
    fs::remove_file(folder).unwrap();
}

#[test]
fn writers_and_readers_see_whole_files() {
    let folder = folder("race");
    let contents: Vec<Vec<u8>> = (1..5u8).map(|n| vec![n; 3000 * usize::from(n)]).collect();
    std::thread::scope(|scope| {
        for bytes in &contents {
            let (folder, contents) = (&folder, &contents);
            scope.spawn(move || {
                // Small enough that files are removed meanwhile, too.
                let store = store(folder, 20_000);
                for number in 0..60 {
                    store.save(Key([number % 3, 0]), bytes);
                    let found = store.load(Key([(number + 1) % 3, 0]));
                    assert!(found.is_none_or(|found| contents.contains(&found)));
                }
            });
        }
    });
    assert!(names(&folder).iter().all(|name| name.ends_with(".code")));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_entry_that_is_no_file_is_replaced() {
    let folder = folder("no-file");
    let store = store(&folder, 1 << 20);
    store.save(KEY, b"contents");
    for make in [
        |path: &Path| fs::create_dir(path),
        |path: &Path| std::os::unix::fs::symlink("/dev/null", path),
        |path: &Path| std::os::unix::fs::symlink("/nowhere/at/all", path),
    ] {
        fs::remove_file(store.path(KEY)).unwrap();
        make(&store.path(KEY)).unwrap();
        assert_eq!(store.load(KEY), None);
        store.save(KEY, b"contents");
        assert_eq!(store.load(KEY).as_deref(), Some(&b"contents"[..]));
        assert_eq!(names(&folder).len(), 1);
    }
    fs::remove_dir_all(folder).unwrap();
}
