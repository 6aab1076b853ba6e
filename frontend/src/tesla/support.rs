//! The generated table of what is supported.

/// A markdown table of every row.
pub fn support_table() -> String {
    String::new()
}
