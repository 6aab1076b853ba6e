//! Breaks the lines of pages that are made from tables, as all pages have them.

/// The longest line of a page, in characters; tables are not broken.
const WIDTH: usize = 140;

/// The page with every line of prose broken where it is too long. What goes on under a list item is indented.
pub(crate) fn wrapped(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        let indent = if line.starts_with("- ") { "  " } else { "" };
        let mut width = 0;
        for (n, word) in line.split(' ').enumerate() {
            let more = word.chars().count() + usize::from(n > 0);
            if n > 0 && width + more > WIDTH && !line.starts_with('|') {
                out.push('\n');
                out += indent;
                width = indent.len() + more - 1;
            } else {
                if n > 0 {
                    out.push(' ');
                }
                width += more;
            }
            out += word;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_and_tables_are_not() {
        let word = "123456789";
        let long = [word; 20].join(" ");
        let first = [word; 14].join(" ");
        assert_eq!(first.len(), 139);
        let rest = [word; 6].join(" ");
        assert_eq!(wrapped(&format!("{long}\n\nshort\n")), format!("{first}\n{rest}\n\nshort\n"));
        let table = format!("| {long} |\n");
        assert_eq!(wrapped(&table), table);
        let item = format!("- {}\n  {}\n", [word; 13].join(" "), [word; 7].join(" "));
        assert_eq!(wrapped(&format!("- {long}\n")), item);
    }
}
