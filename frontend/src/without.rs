//! Instruction sets that this build leaves out (cargo features `tesla`, `fermi`, `gcn` and `vp1`). Their chips have names, so that
//! a message can say what is missing; nothing else can be done for them.

/// Makes the front end of an instruction set that is left out.
macro_rules! without {
    ($front_end:ident, $isa:ident, $all:expr, $default:expr) => {
        use crate::error::{CodeError, LoadError, SourceError, SourceErrors};
        use crate::front_end::{FrontEnd, LaunchRules, Target};
        use crate::image::{CodeOptions, KernelImage};
        use crate::isa::{Isa, Stage};
        use crate::module::{Kernel, Module};

        /// The front end of an instruction set that this build leaves out.
        #[derive(Debug)]
        pub struct $front_end;

        fn missing() -> String {
            CodeError::IsaLeftOut { isa: Isa::$isa }.to_string()
        }

        impl FrontEnd for $front_end {
            fn chips(&self) -> Vec<&'static str> {
                $all.into_iter().map(|chip| chip.name()).collect()
            }

            fn parse_chip(&self, name: &str) -> Option<crate::Chip> {
                Chip::parse(name).map(Into::into)
            }

            fn default_chip(&self) -> crate::Chip {
                $default.into()
            }
        }

        impl Target for Chip {
            fn isa(&self) -> Isa {
                Isa::$isa
            }

            fn launch_rules(&self) -> LaunchRules {
                LaunchRules::none()
            }

            fn lift(
                &self,
                _module: &Module,
                _kernel: &Kernel,
                _options: &CodeOptions,
                _meter: &warpjit_ir::Meter,
            ) -> Result<KernelImage, LoadError> {
                Err(CodeError::IsaLeftOut { isa: Isa::$isa }.into())
            }

            fn listing(&self, _code: &[u8], _base: u32, _stage: Stage) -> String {
                format!("// {}\n", missing())
            }

            fn assemble(&self, _text: &str, _stage: Stage) -> Result<Vec<u8>, SourceErrors> {
                Err(SourceErrors(vec![SourceError { line: 1, column: 1, reason: missing() }]))
            }
        }
    };
}
