//! The workload of a point as its keys give it: one kind, whose keys may be written without the kind.

use wordline_lab::trace::workload::Profile;
use wordline_lab::words::found_and_wanted;

use super::axes::merge;
use super::file_load::FileLoad;
use super::{WORKLOAD, Workload};

/// The kinds of workloads.
const KINDS: [&str; 7] = ["uniform-writes", "generated", "named", "replayed", "clients", "file", "volume"];

/// A fault: the value found, and the value wanted.
type Fault = (String, String);

/// The table of a workload that a name selects: a workload file, a job file, a profile or a built-in workload.
pub fn of_name(name: &str) -> toml::Table {
    let (kind, key) = match name {
        name if FileLoad::is_file(name) => ("file", "path"),
        name if Profile::named(name).is_ok() => ("volume", "profile"),
        _ => ("named", "name"),
    };
    let inner = toml::Table::from_iter([(key.to_owned(), name.into())]);
    toml::Table::from_iter([(kind.to_owned(), inner.into())])
}

/// Completes the value of `workload`: a name becomes a table, with the number of requests and the queue depth
/// of the workload `before` it was varied; keys beside the kind become keys of the kind.
pub(super) fn completed(value: toml::Value, before: &Workload) -> Result<toml::Table, Fault> {
    let mut table = match value {
        toml::Value::String(name) => {
            let base = toml::Value::try_from(before).expect("a workload that was read can be written");
            let kept = base.as_table().and_then(|base| base.values().next());
            let mut table = of_name(&name);
            for key in ["requests", "queue_depth"] {
                table
                    .extend(kept.and_then(|kept| kept.get(key)).map(|value| (key.to_owned(), value.clone())));
            }
            table
        }
        toml::Value::Table(table) => table,
        other => return Err((other.to_string(), "a name or a table".into())),
    };
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| table.contains_key(*kind)).collect();
    let [kind] = kinds[..] else {
        let wanted = format!("one of {}", KINDS.join(", "));
        let found = if kinds.is_empty() {
            "no kind of workload".into()
        } else {
            format!("both {}", kinds.join(" and "))
        };
        return Err((found, wanted));
    };
    let inner = table.remove(kind).unwrap_or(toml::Value::Boolean(false));
    let toml::Value::Table(mut inner) = inner else {
        return Err((format!("{kind} = {inner}"), format!("a table: {WORKLOAD}.{kind}.KEY")));
    };
    merge(&mut inner, table);
    Ok(toml::Table::from_iter([(kind.to_owned(), inner.into())]))
}

/// Reads a workload from its table.
pub(super) fn read(table: toml::Table) -> Result<Workload, Fault> {
    let wanted = "a workload: a name, such as \"randread-4k\", a file, or a table";
    toml::Value::Table(table)
        .try_into()
        .map_err(|error: toml::de::Error| found_and_wanted(error.message(), wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(keys: &str) -> Workload {
        read(toml::from_str(&format!("[named]\nname = \"mail\"\n{keys}")).expect("a table"))
            .expect("a workload")
    }

    fn done(text: &str) -> Result<Workload, Fault> {
        let mut table: toml::Table = toml::from_str(text).expect("a table");
        completed(table.remove("workload").expect("a workload"), &named("requests = 7")).and_then(read)
    }

    #[test]
    fn a_key_of_the_workload_needs_no_kind_and_a_name_keeps_the_number_of_requests() {
        assert_eq!(
            done("workload = { named = { name = 'mail' }, queue_depth = 3 }"),
            Ok(named("queue_depth = 3"))
        );
        assert_eq!(done("workload = 'mail'"), Ok(named("requests = 7")));
        let Ok(Workload::File(file)) = done("workload = 'a.fio'") else { panic!("a file") };
        assert_eq!((file.path.to_str(), file.requests), (Some("a.fio"), Some(7)));
        let Ok(Workload::Volume(volume)) = done("workload = 'centaur/hm_1'") else { panic!("a profile") };
        assert_eq!((&*volume.profile, volume.requests), ("centaur/hm_1", Some(7)));
    }

    #[test]
    fn faults_say_what_was_found_and_what_there_is() {
        for (text, found, wanted) in [
            ("workload = 3", "3", "a name or a table"),
            ("workload = {}", "no kind of workload", "one of uniform-writes"),
            ("workload = { named = {}, file = {} }", "both named and file", "one of"),
            ("workload = { named = 'mail' }", "named = \"mail\"", "a table: workload.named.KEY"),
            ("workload = { named = { name = 'mail' }, depth = 3 }", "an unknown key `depth`", "name"),
        ] {
            let (is, wants) = done(text).expect_err(text);
            assert!(is == found && wants.contains(wanted), "{text}: {is}, {wants}");
        }
    }
}
