//! Passes the commit to the package. The build script of the command line does the same, so that both
//! programs give equal names to runs at equal commits. Without a checkout, as in a source distribution, the
//! commit is `WORDLINE_COMMIT`.

use std::env;
use std::path::Path;
use std::process::Command;

/// Returns the output of git in the folder of this package.
fn git(arguments: &[&str]) -> Option<String> {
    let folder = env::var_os("CARGO_MANIFEST_DIR")?;
    let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the commit of the checkout. Returns `None` if this folder is inside the checkout of another
/// project.
fn of_checkout() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != "bindings/python/" {
        return None;
    }
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=WORDLINE_COMMIT");
    let given = env::var("WORDLINE_COMMIT").ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = given.or_else(of_checkout) {
        println!("cargo:rustc-env=WORDLINE_COMMIT={commit}");
    }
}
