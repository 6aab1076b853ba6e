//! Tests `warpjit bench --suite`: results, JSON, baselines, exit statuses.

mod common;

use std::fs;

use common::{IOTA, LAUNCH, folder, json, warpjit};
use serde_json::{Value, json as value};

const EXPECT: &str = "[[expect]]\nbuffer = 'out'\nu32 = [0, 1, 2, 3]\ntype = 'u32'\n";

/// A suite of three good launch files, in `suite/`.
fn suite(name: &str) -> std::path::PathBuf {
    let home = folder(name, IOTA, &format!("{LAUNCH}{EXPECT}"));
    fs::create_dir_all(home.join("suite/deep/er")).unwrap();
    let text = fs::read_to_string(home.join("launch.toml")).unwrap();
    for (path, up) in
        [("b/launch.toml", "../.."), ("deep/er/x.launch.toml", "../../.."), ("a.launch.toml", "..")]
    {
        let path = home.join("suite").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("code.bin", &format!("{up}/code.bin"))).unwrap();
    }
    fs::write(home.join("suite/notes.toml"), "no launch file").unwrap();
    home
}

fn names(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn a_suite_is_run_saved_and_compared_with_itself() {
    let home = suite("suite_good");
    let args = ["bench", "--suite", "suite", "--runs", "2", "--threads", "1", "--tier", "jit"];
    let (status, object) = json(&home, &[&args[..], &["--save", "base.json"]].concat());
    assert_eq!((status, &object["status"]), (0, &"ok".into()));
    assert_eq!(names(&object["rows"]), ["a", "b", "deep/er/x"]);
    let row = &object["rows"][0];
    assert_eq!((&row["thread_instructions"], &row["warp_instructions"]), (&20.into(), &5.into()));
    assert_eq!((&row["tier"], &row["threads"], &row["status"]), (&"jit".into(), &1.into(), &"ok".into()));
    assert_eq!(row["lanes_active"], 0.125);
    assert_eq!(row["runs_ms"].as_array().unwrap().len(), 2);
    let (median, min) = (row["median_ms"].as_f64().unwrap(), row["min_ms"].as_f64().unwrap());
    assert!(0.0 < min && min <= median && row["spread"].as_f64().unwrap() >= 0.0);
    assert!(object["host"]["processors"].as_u64().unwrap() > 0);
    assert_eq!(object["comparison"], Value::Null);
    let saved: Value = serde_json::from_slice(&fs::read(home.join("base.json")).unwrap()).unwrap();
    assert_eq!(saved["rows"], object["rows"]);

    // The baseline may be replaced by the run that is compared with it.
    let (status, object) =
        json(&home, &[&args[..], &["--baseline", "base.json", "--save", "base.json"]].concat());
    assert_eq!(status, 0);
    let compared = &object["comparison"];
    assert_eq!(names(&compared["rows"]), ["a", "b", "deep/er/x"]);
    for (at, row) in compared["rows"].as_array().unwrap().iter().enumerate() {
        let before = saved["rows"][at]["median_ms"].as_f64().unwrap();
        let now = object["rows"][at]["median_ms"].as_f64().unwrap();
        let ratio = row["ratio"].as_f64().unwrap();
        assert!((ratio * now / before - 1.0).abs() < 1e-9, "{row}");
    }
    let (status, out, err) = warpjit(&home, &[&args[..], &["--baseline", "base.json"]].concat());
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains("thread insts") && out.contains("geometric mean of 3: "), "{out}");
}

#[test]
fn a_baseline_with_other_instruction_counts_is_status_1() {
    let home = suite("suite_counts");
    let args = ["bench", "--suite", "suite", "--runs", "1"];
    assert_eq!(warpjit(&home, &[&args[..], &["--save", "base.json"]].concat()).0, 0);
    let mut saved: Value = serde_json::from_slice(&fs::read(home.join("base.json")).unwrap()).unwrap();
    saved["rows"][1]["thread_instructions"] = value!(21);
    saved["rows"][2]["name"] = value!("other");
    fs::write(home.join("base.json"), saved.to_string()).unwrap();
    let (status, object) = json(&home, &[&args[..], &["--baseline", "base.json"]].concat());
    assert_eq!((status, &object["status"]), (1, &"mismatch".into()));
    let compared = &object["comparison"];
    assert_eq!(compared["rows"][1]["error"], "thread instructions differ: 20 here, 21 in the baseline");
    assert_eq!((&compared["rows"][1]["ratio"], &compared["rows"][0]["error"]), (&Value::Null, &Value::Null));
    assert_eq!((&compared["new"], &compared["gone"]), (&value!(["deep/er/x"]), &value!(["other"])));
    let (status, out, _) = warpjit(&home, &[&args[..], &["--baseline", "base.json"]].concat());
    assert_eq!(status, 1);
    assert!(out.contains("error: thread instructions differ: 20 here, 21 in the baseline"), "{out}");
    assert!(out.contains("geometric mean of 1: "), "{out}");
    // Nothing to compare.
    for row in saved["rows"].as_array_mut().unwrap() {
        row["name"] = value!(format!("{}.before", row["name"].as_str().unwrap()));
    }
    fs::write(home.join("base.json"), saved.to_string()).unwrap();
    let (status, out, _) = warpjit(&home, &[&args[..], &["--baseline", "base.json"]].concat());
    assert_eq!(status, 1);
    assert!(out.contains("error: no row is in both"), "{out}");
}

#[test]
fn bad_rows_are_rows_and_the_gravest_is_the_status() {
    let home = suite("suite_rows");
    let args = ["bench", "--suite", "suite", "--runs", "1"];
    let good = fs::read_to_string(home.join("suite/a.launch.toml")).unwrap();
    fs::write(home.join("suite/wrong.launch.toml"), good.replace("[0, 1, 2, 3]", "[0, 1, 2, 4]")).unwrap();
    let (status, object) = json(&home, &args);
    assert_eq!((status, &object["status"]), (1, &"mismatch".into()));
    let row = &object["rows"][3];
    assert_eq!((&row["name"], &row["status"]), (&"wrong".into(), &"mismatch".into()));
    assert!(row["message"].as_str().unwrap().starts_with("buffer \"out\" element 3"), "{row}");

    // A buffer that is too small: the store of the last thread faults.
    fs::write(
        home.join("suite/faults.launch.toml"),
        good.replace("[[arg]]\nbuffer = 'out'", "[[arg]]\nu32 = 0"),
    )
    .unwrap();
    let (status, object) = json(&home, &args);
    assert_eq!((status, &object["status"]), (3, &"fault".into()));
    assert!(object["rows"][3]["message"].as_str().unwrap().starts_with("memory fault at pc"), "{object}");

    fs::write(home.join("suite/bad.launch.toml"), good.replace("grid", "gird")).unwrap();
    let (status, object) = json(&home, &args);
    assert_eq!((status, &object["status"]), (2, &"error".into()));
    let row = &object["rows"][2];
    assert_eq!((&row["name"], &row["status"]), (&"bad".into(), &"error".into()));
    assert!(row["message"].as_str().unwrap().contains("launch.grid: missing"), "{row}");
    let (status, out, _) = warpjit(&home, &args);
    assert_eq!(status, 2);
    for line in ["wrong", "faults", "bad"] {
        assert!(out.lines().any(|l| l.starts_with(line)), "{out}");
    }
}

#[test]
fn bad_suites_and_baselines_are_status_2() {
    let home = suite("suite_bad");
    let fails = |args: &[&str], wanted: &str| {
        let (status, out, err) = warpjit(&home, &[&["bench", "--runs", "1"], args].concat());
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(wanted), "{args:?}: {err}");
    };
    fails(&["--suite", "none"], "error: none: No such file or directory");
    fs::create_dir_all(home.join("empty/er")).unwrap();
    fails(&["--suite", "empty"], "error: empty: holds no launch file");
    fails(&["--suite", "suite", "--baseline", "none.json"], "error: baseline none.json: No such file");
    fs::write(home.join("cut.json"), "{\"format\": \"warpjit-bench 1\", \"rows\": [").unwrap();
    fails(
        &["--suite", "suite", "--baseline", "cut.json"],
        "error: baseline cut.json: broken: EOF while parsing",
    );
    fs::write(home.join("other.json"), "{\"rows\": []}").unwrap();
    fails(
        &["--suite", "suite", "--baseline", "other.json"],
        "is not what `warpjit bench --suite --save` writes",
    );
    fs::write(home.join("later.json"), "{\"format\": \"warpjit-bench 2\"}").unwrap();
    fails(
        &["--suite", "suite", "--baseline", "later.json"],
        "its format is \"warpjit-bench 2\", not \"warpjit-bench 1\"",
    );
    fs::write(home.join("row.json"), "{\"format\":\"warpjit-bench 1\",\"version\":\"0\",\"host\":{\"cpu\":\"\",\"processors\":1,\"platform\":\"\"},\"rows\":[{\"name\":1}]}").unwrap();
    fails(&["--suite", "suite", "--baseline", "row.json"], "error: baseline row.json: broken: ");
    fails(
        &["--suite", "suite", "--save", "none/base.json"],
        "error: --save none/base.json: cannot be written",
    );
    fails(&[], "required arguments were not provided");
    fails(&["launch.toml", "--suite", "suite"], "cannot be used with");
    fails(&["launch.toml", "--baseline", "base.json"], "cannot be used with");
    fails(&["--baseline", "base.json"], "--suite <DIR>");
    let (status, out, _) = warpjit(&home, &["bench", "--help"]);
    assert_eq!(status, 0);
    assert!(out.contains("--suite") && out.contains("--baseline") && out.contains("gravest"), "{out}");
}
