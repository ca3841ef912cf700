//! Passes the commit of the checkout to the program. Without a checkout, as in a package, the commit is
//! `WORDLINE_COMMIT`. Runs again only if the checkout changes its commit.

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
    if git(&["rev-parse", "--show-prefix"])? != "crates/cli/" {
        return None;
    }
    // Each commit and each checkout adds a line to the log of HEAD.
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
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    match given.or_else(of_checkout) {
        Some(commit) => {
            println!("cargo:rustc-env=WORDLINE_VERSION={version} ({commit})");
            println!("cargo:rustc-env=WORDLINE_COMMIT={commit}");
        }
        None => println!("cargo:rustc-env=WORDLINE_VERSION={version}"),
    }
}
