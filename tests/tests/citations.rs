//! What is cited from `docs/hardware` is there: each page that a source file or a document names, and each section of it.
//!
//! A citation is the folder, a page and mostly sections: `docs/hardware/tesla.md section 6`, `docs/hardware/gcn.md sections 2 and 6.1`,
//! `docs/hardware/vp1.md §7`. It may go on in the next line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What a citation begins with.
const FOLDER: &str = "docs/hardware/";

/// A page, without `.md`, and the sections of it that a citation names.
struct Citation {
    page: String,
    sections: Vec<String>,
}

/// The citations that begin in a line; they may go on in the line `next`.
fn citations(line: &str, next: &str) -> Vec<Citation> {
    let line = line.trim_end();
    let next = next.trim_start().trim_start_matches(['/', '!', '#', ';']).trim_start();
    let text = format!("{line} {next}");
    let mut found = Vec::new();
    for (at, _) in line.match_indices(FOLDER) {
        let rest = &text[at + FOLDER.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (page, rest) = rest.split_at(end);
        if let Some(rest) = rest.strip_prefix(".md")
            && !page.is_empty()
        {
            found.push(Citation { page: page.to_owned(), sections: sections(rest) });
        }
    }
    found
}

/// The sections named by what follows a page: ` section 5`, ` sections 3, 4 and 6.1`, ` sections 5 to 7`, ` §7.2`.
fn sections(rest: &str) -> Vec<String> {
    let rest = rest.trim_start_matches(['`', ' ', ',', '(']);
    let named = ["sections ", "section ", "§§", "§"].into_iter().find_map(|word| rest.strip_prefix(word));
    let Some(mut rest) = named else { return Vec::new() };
    let mut found = Vec::new();
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches('.');
        if number.is_empty() {
            break;
        }
        found.push(number.to_owned());
        let joins = [", ", " and ", " to ", "-"];
        let Some(more) = joins.into_iter().find_map(|join| rest[end..].strip_prefix(join)) else { break };
        rest = more;
    }
    if found.is_empty() {
        // Not a number, so no page has it.
        found.push(rest.split_whitespace().next().unwrap_or("(nothing)").to_owned());
    }
    found
}

/// Pages that a line cites by another folder than [`FOLDER`], of which pages in `docs` give the last part only.
fn misplaced<'a>(line: &str, pages: impl Iterator<Item = &'a String>) -> Vec<String> {
    let is_other = |page: &String| {
        let name = format!("{page}.md");
        line.match_indices(&format!("/{name}")).any(|(at, _)| {
            let folder = &line[..=at];
            !folder.ends_with("hardware/")
                && folder.trim_end_matches('/').ends_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    pages.filter(|page| is_other(page)).cloned().collect()
}

/// The numbers of a page's sections.
fn headings(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .filter_map(|line| line.trim_start_matches('#').split_whitespace().next())
        .map(|number| number.trim_end_matches('.').to_owned())
        .filter(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        .collect()
}

/// The pages, without `.md`, and the numbers of their sections.
fn pages(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(root.join(FOLDER)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            pages.insert(name, headings(&fs::read_to_string(&path).unwrap()));
        }
    }
    pages
}

/// The .rs and .md files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with(".git") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn what_is_cited_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pages = pages(&root);
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut count = 0;
    let mut dangling = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let name = file.strip_prefix(&root).unwrap().display();
        for (n, line) in lines.iter().enumerate() {
            for page in misplaced(line, pages.keys().filter(|page| *page != "README")) {
                dangling.push(format!("{name}:{}: {page}.md is in {FOLDER}", n + 1));
            }
            let next = lines.get(n + 1).copied().unwrap_or("");
            for Citation { page, sections } in citations(line, next) {
                count += 1;
                let place = format!("{name}:{}", n + 1);
                let Some(headings) = pages.get(&page) else {
                    dangling.push(format!("{place}: there is no page {FOLDER}{page}.md"));
                    continue;
                };
                for section in sections.iter().filter(|section| !headings.contains(*section)) {
                    dangling.push(format!("{place}: {FOLDER}{page}.md has no section {section}"));
                }
            }
        }
    }
    assert!(dangling.is_empty(), "{} citations lead nowhere:\n{}", dangling.len(), dangling.join("\n"));
    assert!(count > 80, "only {count} citations were found");
}

#[test]
fn citations_of_all_forms_are_read() {
    let read = |line: &str, next: &str| -> Vec<String> {
        let found = citations(line, next);
        found.iter().map(|cited| format!("{}: {}", cited.page, cited.sections.join(" "))).collect()
    };
    assert_eq!(read("//! Atomics (docs/hardware/tesla.md section 4).", ""), ["tesla: 4"]);
    assert_eq!(read("/// docs/hardware/tesla.md sections 3, 4 and 9.1.", ""), ["tesla: 3 4 9.1"]);
    assert_eq!(read("As `docs/hardware/tesla.md` (sections 5 to 7) says.", ""), ["tesla: 5 7"]);
    assert_eq!(read("docs/hardware/vp1.md §7, docs/hardware/divergence.md", ""), ["vp1: 7", "divergence: "]);
    assert_eq!(read("docs/hardware/gcn.md section 5, \"Memory\"", ""), ["gcn: 5"]);
    let wrapped = ["    /// What a wave does (docs/hardware/gcn.md", "    /// sections 2 and 5)."];
    assert_eq!(read(wrapped[0], wrapped[1]), ["gcn: 2 5"]);
    let word = [FOLDER, "tesla.md section SFU has it"].concat();
    assert_eq!(read(&word, ""), ["tesla: SFU"]);
    assert_eq!(read("The folder docs/hardware/ is no page.", ""), [""; 0]);
    let all = ["gcn".to_owned(), "vp1".to_owned()];
    let elsewhere = ["Facts", "/gcn.md section 3"].concat();
    assert_eq!(misplaced(&elsewhere, all.iter()), ["gcn"]);
    assert_eq!(misplaced("docs/hardware/gcn.md, docs/isa-gcn.md, gcn.md", all.iter()), [""; 0]);
    let page = "# Page\n\n## 1. First\n\ntext\n\n### 1.2 Second\n\n## Unwind\n";
    assert_eq!(headings(page).into_iter().collect::<Vec<_>>(), ["1", "1.2"]);
}
