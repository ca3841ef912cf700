//! Policies: the decisions that research changes. Each extension point has a folder, each policy a file. A
//! policy decides from a read-only view; the FTL checks the decision and carries it out.

pub mod background;
pub mod balancer;
pub mod demands;
pub mod event;
pub mod frontier;
pub mod mapper;
pub mod placement;
pub mod pool_state;
pub mod relocator;
pub mod router;
pub mod victim;
pub mod wear;

use std::fmt::Debug;

/// Name of a configuration enum's variant, in kebab case as serde writes it.
///
/// ```
/// # use wordline_ftl::policy::{frontier::FrontierKind, name_of};
/// assert_eq!(name_of(&FrontierKind::Mixed { layers: None }), "mixed");
/// assert_eq!(name_of(&FrontierKind::InOrder {}), "in-order");
/// ```
pub fn name_of(kind: &impl Debug) -> String {
    let text = format!("{kind:?}");
    let variant = text.split([' ', '(']).next().unwrap_or_default();
    let letters = variant.chars().enumerate().flat_map(|(n, letter)| {
        let dash = (n > 0 && letter.is_ascii_uppercase()).then_some('-');
        dash.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}
