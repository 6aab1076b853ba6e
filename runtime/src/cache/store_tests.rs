//! Tests of the cache's files: complete or missing, with one process or several, and within the size limit.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const KEY: Key = key(1, 2);

/// A key that two numbers tell.
const fn key(a: u8, b: u8) -> Key {
    let mut bytes = [0; digest::BYTES];
    (bytes[0], bytes[31]) = (a, b);
    Key(bytes)
}

/// A folder of its own for a test, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("warpjit-store-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn store(folder: &Path, max_bytes: u64) -> Store {
    Store::new(CacheConfig { folder: folder.to_owned(), max_bytes })
}

fn path_of(store: &Store, key: Key) -> PathBuf {
    store.config.folder.join(key.name())
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
    assert_eq!(store.load(key(1, 3)), None);
    assert_eq!(names(&folder).len(), 1);
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn nothing_is_lost_of_what_threads_store_at_the_same_time() {
    let folder = folder("threads");
    let threads = 4;
    let rounds = 25;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let folder = &folder;
            scope.spawn(move || {
                let store = store(folder, 1 << 20);
                for round in 0..rounds {
                    store.update(KEY, |before| {
                        let mut all = before.unwrap_or_default().to_vec();
                        std::thread::sleep(Duration::from_micros(200));
                        all.push(thread * rounds + round);
                        all
                    });
                }
            });
        }
    });
    let mut all = store(&folder, 1 << 20).load(KEY).unwrap();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..threads * rounds));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_update_waits_for_one_of_another_process() {
    let folder = folder("waits");
    let store = store(&folder, 1 << 20);
    store.save(KEY, b"old");
    // Locks belong to descriptors, so this is as good as another process.
    let other = Folder::open(&store.config).unwrap();
    other.lock();
    std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            store.update(KEY, |before| [before.unwrap(), b" and newer"].concat());
        });
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(store.load(KEY).as_deref(), Some(&b"old"[..]));
        store.save(KEY, b"new");
        drop(other);
        late.join().unwrap();
    });
    assert_eq!(store.load(KEY).as_deref(), Some(&b"new and newer"[..]));
    // One that never gives way is not waited for without end.
    let other = Folder::open(&store.config).unwrap();
    other.lock();
    store.update(KEY, |_| b"in spite of it".to_vec());
    assert_eq!(store.load(KEY).as_deref(), Some(&b"in spite of it"[..]));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_with_any_byte_changed_or_cut_anywhere_is_none() {
    let folder = folder("changed");
    let store = store(&folder, 1 << 20);
    let contents: Vec<u8> = (0..150u8).collect();
    store.save(KEY, &contents);
    let path = path_of(&store, KEY);
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
    fs::copy(&path, path_of(&store, key(9, 9))).unwrap();
    assert_eq!(store.load(key(9, 9)), None);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let folder = folder("evict");
    let store = store(&folder, 4 * 1100);
    let contents = vec![7; 1000];
    let key = |number| key(number, 0);
    let age = |number, seconds| {
        let file = File::options().write(true).open(path_of(&store, key(number))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for number in 0..4 {
        store.save(key(number), &contents);
        age(number, 100 - u64::from(number));
    }
    // The oldest is used again.
    assert!(store.load(key(0)).is_some());
    store.save(key(4), &contents);
    let there: Vec<bool> = (0..5).map(|number| path_of(&store, key(number)).exists()).collect();
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
    store.save(key(5, 5), b"y");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((store.load(KEY).as_deref(), store.load(key(5, 5))), (Some(&b"x"[..]), None));
    // A link in the place of a file is not followed, a folder not read.
    let path = path_of(&store, KEY);
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
                    store.save(key(number % 3, 0), bytes);
                    let found = store.load(key((number + 1) % 3, 0));
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
        fs::remove_file(path_of(&store, KEY)).unwrap();
        make(&path_of(&store, KEY)).unwrap();
        assert_eq!(store.load(KEY), None);
        store.save(KEY, b"contents");
        assert_eq!(store.load(KEY).as_deref(), Some(&b"contents"[..]));
        assert_eq!(names(&folder).len(), 1);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_folder_is_the_one_that_was_looked_at() {
    let (mine, other) = (folder("mine"), folder("swapped-in"));
    let store = store(&mine, 1 << 20);
    store.save(KEY, b"mine");
    let held = Folder::open(&store.config).expect("ours");
    // Somebody swaps another folder in, with a file of his under the same name.
    store_at(&other).save(KEY, b"his");
    let away = folder("away");
    fs::rename(&mine, &away).unwrap();
    fs::rename(&other, &mine).unwrap();
    let (mut file, _) = held.file(&KEY.name()).expect("the file");
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    assert!(bytes.ends_with(b"mine"));
    // What is written and removed goes there, too.
    held.new_file("1-1.tmp").unwrap().write_all(b"new").unwrap();
    renameat(&held.0, "1-1.tmp", &held.0, "new.code").unwrap();
    assert!(away.join("new.code").exists());
    held.evict(0, 0);
    assert!(names(&away).is_empty() && names(&mine).len() == 1);
    fs::remove_dir_all(away).unwrap();
    fs::remove_dir_all(mine).unwrap();
}

fn store_at(folder: &Path) -> Store {
    store(folder, 1 << 20)
}

#[test]
fn a_folder_behind_a_link_is_not_used() {
    let (real, link) = (folder("real"), folder("link"));
    store_at(&real).save(KEY, b"x");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    // However the name is written.
    for end in ["", "/", "/.", "//"] {
        let link = std::path::PathBuf::from(format!("{}{end}", link.display()));
        assert_eq!(store_at(&link).load(KEY), None);
        store_at(&link).save(key(5, 5), b"y");
    }
    assert_eq!(names(&real).len(), 1);
    fs::remove_file(link).unwrap();
    fs::remove_dir_all(real).unwrap();
}

#[test]
fn files_that_others_may_write_or_have_are_not_used() {
    let folder = folder("others");
    let store = store_at(&folder);
    store.save(KEY, b"x");
    let path = path_of(&store, KEY);
    let loads = || store.load(KEY).is_some();
    for (mode, right) in [(0o620, false), (0o602, false), (0o644, true), (0o600, true)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(loads(), right, "{mode:o}");
    }
    // A second name may be in a folder of somebody else's.
    fs::hard_link(&path, folder.join("second")).unwrap();
    assert!(!loads());
    fs::remove_file(folder.join("second")).unwrap();
    assert!(loads());
    if rustix::process::geteuid().is_root() {
        // Only root can give files away.
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(!loads());
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        std::os::unix::fs::chown(&folder, Some(12345), None).unwrap();
        assert!(!loads());
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_of_another_key_is_none_whatever_its_header_says() {
    let folder = folder("rekeyed");
    let store = store_at(&folder);
    let (one, other) = (key(1, 1), key(2, 2));
    store.save(one, b"code of one");
    let mut bytes = fs::read(path_of(&store, one)).unwrap();
    bytes[8..8 + digest::BYTES].copy_from_slice(&other.0);
    fs::write(path_of(&store, other), bytes).unwrap();
    fs::set_permissions(path_of(&store, other), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.load(other), None);
    fs::remove_dir_all(folder).unwrap();
}
