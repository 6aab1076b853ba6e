//! Compares names of chips and boards: ignores capitals, blanks and brands.

/// Makers and brands, which say nothing of the chip.
const BRANDS: [&str; 5] = ["nvidia", "geforce", "amd", "ati", "radeon"];

/// A name in the form in which names are compared: small letters, without blanks, hyphens, underscores and brands.
pub(crate) fn plain_name(name: &str) -> String {
    let plain: String =
        name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase).collect();
    let mut rest = plain.as_str();
    while let Some(behind) = BRANDS.iter().find_map(|brand| rest.strip_prefix(brand)) {
        rest = behind;
    }
    rest.to_owned()
}

/// Finds a name in lists of names; both are compared as [`plain_name`] gives them.
pub(crate) fn find_named<T: Copy>(lists: &[(T, &[&str])], name: &str) -> Option<T> {
    let name = plain_name(name);
    let found = lists.iter().find(|(_, names)| names.iter().any(|known| plain_name(known) == name));
    found.map(|&(item, _)| item)
}
