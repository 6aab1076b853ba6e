//! What is wrong with a container, by name and number, as the runtime's own kinds have it.

use warpjit_frontend::container::ContainerError;

/// The name of the kind.
pub(super) fn kind(error: &ContainerError) -> &'static str {
    match error {
        ContainerError::Empty => "Empty",
        ContainerError::TooLong { .. } => "TooLong",
        ContainerError::RaggedWords { .. } => "RaggedWords",
        ContainerError::Text { .. } => "Text",
        ContainerError::Elf { .. } => "Elf",
        ContainerError::Unsupported { .. } => "Unsupported",
        ContainerError::Foreign { .. } => "Foreign",
        ContainerError::Kernel { .. } => "Kernel",
        // Of which errors of the runtime's own are made.
        ContainerError::Stopped(_) => "Stopped",
    }
}

/// The number in a field.
pub(super) fn number(error: &ContainerError, name: &str) -> Option<u64> {
    match (error, name) {
        (ContainerError::TooLong { len, .. } | ContainerError::RaggedWords { len }, "len") => Some(*len),
        (ContainerError::TooLong { most, .. }, "most") => Some(*most),
        (ContainerError::Text { line, .. }, "line") => Some((*line).into()),
        (ContainerError::Elf { offset, .. } | ContainerError::Unsupported { offset, .. }, "offset") => {
            Some(*offset)
        }
        _ => None,
    }
}
