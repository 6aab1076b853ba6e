//! The status that functions of HSA return.

use std::ffi::CStr;

/// `hsa_status_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Status(pub u32);

/// What safe functions return; the status is an error then, or an information that ends a loop.
pub type Result<T> = std::result::Result<T, Status>;

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)*) => {
        impl Status {
            $(#[doc = $text] pub const $name: Status = Status($value);)*

            /// What `hsa_status_string` says; `None` for what is no status.
            pub fn text(self) -> Option<&'static CStr> {
                match self.0 {
                    $($value => Some(match CStr::from_bytes_with_nul(concat!($text, "\0").as_bytes()) {
                        Ok(text) => text,
                        Err(_) => c"",
                    }),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = 0, "HSA_STATUS_SUCCESS: The function has been executed successfully.";
    INFO_BREAK = 1, "HSA_STATUS_INFO_BREAK: A traversal over a list of elements has been interrupted by the application before completing.";
    ERROR = 0x1000, "HSA_STATUS_ERROR: A generic error has occurred.";
    INVALID_ARGUMENT = 0x1001, "HSA_STATUS_ERROR_INVALID_ARGUMENT: One of the actual arguments does not meet a precondition stated in the documentation of the corresponding formal argument.";
    INVALID_QUEUE_CREATION = 0x1002, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: The requested queue creation is not valid.";
    INVALID_ALLOCATION = 0x1003, "HSA_STATUS_ERROR_INVALID_ALLOCATION: The requested allocation is not valid.";
    INVALID_AGENT = 0x1004, "HSA_STATUS_ERROR_INVALID_AGENT: The agent is invalid.";
    INVALID_REGION = 0x1005, "HSA_STATUS_ERROR_INVALID_REGION: The memory region is invalid.";
    INVALID_SIGNAL = 0x1006, "HSA_STATUS_ERROR_INVALID_SIGNAL: The signal is invalid.";
    INVALID_QUEUE = 0x1007, "HSA_STATUS_ERROR_INVALID_QUEUE: The queue is invalid.";
    OUT_OF_RESOURCES = 0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.";
    INVALID_PACKET_FORMAT = 0x1009, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: The AQL packet is malformed.";
    RESOURCE_FREE = 0x100a, "HSA_STATUS_ERROR_RESOURCE_FREE: An error has been detected while releasing a resource.";
    NOT_INITIALIZED = 0x100b, "HSA_STATUS_ERROR_NOT_INITIALIZED: An API other than hsa_init has been invoked while the reference count of the HSA runtime is zero.";
    REFCOUNT_OVERFLOW = 0x100c, "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW: The maximum reference count for the object has been reached.";
    INCOMPATIBLE_ARGUMENTS = 0x100d, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: The arguments passed to a functions are not compatible.";
    INVALID_INDEX = 0x100e, "HSA_STATUS_ERROR_INVALID_INDEX: The index is invalid.";
    INVALID_ISA = 0x100f, "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid.";
    INVALID_CODE_OBJECT = 0x1010, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is invalid.";
    INVALID_EXECUTABLE = 0x1011, "HSA_STATUS_ERROR_INVALID_EXECUTABLE: The executable is invalid.";
    FROZEN_EXECUTABLE = 0x1012, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen.";
    INVALID_SYMBOL_NAME = 0x1013, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: There is no symbol with the given name.";
    VARIABLE_ALREADY_DEFINED = 0x1014, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED: The variable is already defined.";
    VARIABLE_UNDEFINED = 0x1015, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED: The variable is undefined.";
    EXCEPTION = 0x1016, "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.";
    INVALID_ISA_NAME = 0x1017, "HSA_STATUS_ERROR_INVALID_ISA_NAME: The instruction set architecture name is invalid.";
    INVALID_CODE_SYMBOL = 0x1018, "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: The code object symbol is invalid.";
    INVALID_EXECUTABLE_SYMBOL = 0x1019, "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: The executable symbol is invalid.";
    INVALID_FILE = 0x1020, "HSA_STATUS_ERROR_INVALID_FILE: The file descriptor is invalid.";
    INVALID_CODE_OBJECT_READER = 0x1021, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: The code object reader is invalid.";
    INVALID_CACHE = 0x1022, "HSA_STATUS_ERROR_INVALID_CACHE: The cache is invalid.";
    INVALID_WAVEFRONT = 0x1023, "HSA_STATUS_ERROR_INVALID_WAVEFRONT: The wavefront is invalid.";
    INVALID_SIGNAL_GROUP = 0x1024, "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: The signal group is invalid.";
    INVALID_RUNTIME_STATE = 0x1025, "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE: The HSA runtime is not in the configuration state.";
    FATAL = 0x1026, "HSA_STATUS_ERROR_FATAL: The queue received an error that may require process termination.";
    INVALID_MEMORY_POOL = 40, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL: The memory pool is invalid.";
    MEMORY_APERTURE_VIOLATION = 41, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest legal address.";
    ILLEGAL_INSTRUCTION = 42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: The agent attempted to execute an illegal shader instruction.";
    MEMORY_FAULT = 43, "HSA_STATUS_ERROR_MEMORY_FAULT: The agent attempted to access an inaccessible address.";
    CU_MASK_REDUCED = 44, "HSA_STATUS_CU_MASK_REDUCED: The CU mask was successfully set but the mask attempted to enable a CU which was disabled for the process.";
    IMAGE_FORMAT_UNSUPPORTED = 0x3000, "HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED: Image format is not supported.";
    IMAGE_SIZE_UNSUPPORTED = 0x3001, "HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED: Image size is not supported.";
    IMAGE_PITCH_UNSUPPORTED = 0x3002, "HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED: Image pitch is not supported or invalid.";
    SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003, "HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED: Sampler descriptor is not supported or invalid.";
}

impl From<Result<()>> for Status {
    fn from(result: Result<()>) -> Status {
        result.err().unwrap_or(Status::SUCCESS)
    }
}

impl From<&warpjit_runtime::Error> for Status {
    fn from(error: &warpjit_runtime::Error) -> Status {
        match error {
            warpjit_runtime::Error::Memory(_) => Status::INVALID_ARGUMENT,
            _ => Status::OUT_OF_RESOURCES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let text = Status::INVALID_QUEUE.text().unwrap().to_str().unwrap();
        assert!(text.starts_with("HSA_STATUS_ERROR_INVALID_QUEUE: "));
        assert_eq!(Status(7).text(), None);
        assert_eq!(Status::from(Err(Status::FATAL)), Status::FATAL);
    }
}
