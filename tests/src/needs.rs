//! Tests that need what is not everywhere: another program, or files that are not ours to pass on.

use libtest_mimic::Trial;

/// A test that `run` does with what it needs. Where that is missing, the test is listed as ignored and its kind says `what` it needs.
pub fn trial<T: Send + 'static>(
    name: &str,
    needed: Option<T>,
    what: &str,
    run: impl FnOnce(T) + Send + 'static,
) -> Trial {
    let Some(needed) = needed else {
        let reason = format!("needs {what}");
        let failure = reason.clone();
        return Trial::test(name, move || Err(failure.into())).with_kind(reason).with_ignored_flag(true);
    };
    Trial::test(name, move || {
        run(needed);
        Ok(())
    })
}
