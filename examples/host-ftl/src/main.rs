//! The program `wordline` with an additional device type.

fn main() -> std::process::ExitCode {
    wordline_cli::main_with(wordline_lab::devices::Registry::default().with::<host_ftl::HostFtlType>())
}
