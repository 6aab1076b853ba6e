//! Which kernels of a file its reader links.

#[cfg(doc)]
use crate::module::Module;

/// Which kernels of a file are selected. All are in [`Module::kernels`], but of an ELF cubin only those that are selected
/// are linked (functions in sections of their own put behind the code, addresses put in): many kernels that call the
/// same functions would have a copy each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selection<'a> {
    /// All.
    All,
    /// All, to be listed and not run: what other files define may be missing, and is 0 then.
    Listing,
    /// The kernel of that name, or the only one; of several without a name none.
    Kernel(Option<&'a str>),
}

impl Selection<'_> {
    /// Whether a kernel is selected.
    pub(super) fn selects(self, name: &str) -> bool {
        match self {
            Selection::All | Selection::Listing | Selection::Kernel(None) => true,
            Selection::Kernel(Some(selected)) => selected == name,
        }
    }
}
