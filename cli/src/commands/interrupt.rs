//! Ctrl-C: the first one stops the launch, which is reported; the second one ends the command at once.

use std::sync::{Mutex, Once, PoisonError};

use warpjit::outcome::Status;
use warpjit_runtime::CancelToken;

/// What the first Ctrl-C cancels.
static CANCELS: Mutex<Option<CancelToken>> = Mutex::new(None);

/// From now on, Ctrl-C cancels this.
pub(super) fn cancels(token: CancelToken) {
    static HANDLER: Once = Once::new();
    *CANCELS.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
    HANDLER.call_once(|| {
        // Where there can be no handler, Ctrl-C ends the command as it always does.
        let _ = ctrlc::set_handler(|| match CANCELS.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(token) => token.cancel(),
            None => std::process::exit(Status::Interrupted as i32),
        });
    });
}
