//! `wordline policies`: the available policies of a device, and the designs, which replace several policies
//! at once.

use clap::Args;
use serde_json::{Value, json};
use wordline_lab::config::{self, Policy};
use wordline_lab::devices::Registry;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline policies
  wordline policies victim            the policies of an extension point
  wordline policies cost-benefit      the page of a policy
  wordline policies design            the designs
  wordline policies centaur           the page of a design
  wordline policies victim/fifo --json";

/// Lists the extension points of a device with their policies, and the designs, or shows the page of one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// An extension point, a policy, POINT/POLICY, `design` or a design; all extension points if not given.
    name: Option<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let Some(name) = &arguments.name else {
        let all = config::policies(registry);
        return output::json_or(&arguments.json, &all, || table(&all));
    };
    let mut found = config::find_policies(registry, name)?;
    if found.iter().all(|policy| policy.seam == *name) {
        return output::json_or(&arguments.json, &found, || table(&found));
    }
    // Several keys may name the same policy.
    found.dedup_by(|next, before| (&next.seam, &next.policy) == (&before.seam, &before.policy));
    let pages: Vec<Value> = found
        .iter()
        .map(|policy| {
            let mut value = json!(policy);
            value["page"] = json!(policy.page);
            value
        })
        .collect();
    output::json_or_text(&arguments.json, &pages, || {
        found.iter().map(|policy| &*policy.page).collect::<Vec<_>>().join("\n")
    })
}

/// One line for each policy. An asterisk marks the default policy.
fn table(policies: &[Policy]) -> String {
    let mark = |policy: &Policy| if policy.default { "*" } else { "" };
    let row = |policy: &Policy| {
        json!({
            "seam": policy.seam, "key": policy.key, "policy": format!("{}{}", policy.policy, mark(policy)),
            "description": policy.description,
        })
    };
    let rows: Vec<Value> = policies.iter().map(row).collect();
    let table = output::rows(&rows, &["seam", "key", "policy", "description"]);
    format!("{table}\n\n* used by default\n")
}
