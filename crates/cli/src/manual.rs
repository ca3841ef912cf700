//! `wordline completions` and `wordline man`: completions for shells, and pages for `man`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man as Page;
use wordline_lab::Error;

use crate::failure::Failure;
use crate::output;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  wordline completions bash > wordline.bash     to be sourced, or put among bash's completions
  wordline completions fish > wordline.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  wordline man > wordline.1
  wordline man trace convert > wordline-trace-convert.1
  wordline man --all man1";

/// Prints a completion script for a shell.
#[derive(Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// Prints a `man` page of the program or of a command.
#[derive(Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct Man {
    /// The command, such as `trace convert`; the program itself if not given.
    command: Vec<String>,
    /// Writes the pages of all commands into an existing directory.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<PathBuf>,
}

/// Prints a completion script.
pub fn completions(arguments: &Completions, mut program: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "wordline", &mut script);
    output::written(std::io::stdout().lock().write_all(&script))
}

/// Prints a page, or writes all pages to a folder.
pub fn man(arguments: &Man, mut program: clap::Command) -> Result<(), Failure> {
    program = program.disable_help_subcommand(true);
    program.build();
    if let Some(directory) = &arguments.all {
        let failed = |reason| Error::File { path: directory.clone(), action: "write", reason };
        return Ok(clap_mangen::generate_to(program, directory).map_err(failed)?);
    }
    let mut command = program;
    for name in &arguments.command {
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let error = Error::Argument {
            what: "command".into(),
            found: format!("{name:?}"),
            wanted: match names.is_empty() {
                true => format!("nothing below {}", command.get_name()),
                false => wordline_lab::config::one_of(name, &names),
            },
        };
        command = command.find_subcommand(name).cloned().ok_or(error)?;
    }
    let title = command.get_bin_name().unwrap_or("wordline").replace(' ', "-");
    let mut page = Vec::new();
    let rendered = Page::new(command.clone()).title(title).render(&mut page);
    rendered
        .and_then(|()| std::io::stdout().lock().write_all(&page))
        .or_else(|reason| output::written(Err(reason)))
}
