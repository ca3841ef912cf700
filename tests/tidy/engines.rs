//! The engines of the controller: their dependencies. No engine may access the fields of another.

use crate::source::words;
use crate::{File, Offence, assert_none, files, subjects};

/// The crates of the engines.
const FTL: &str = "crates/ftl/src/";
const SSD: &str = "crates/ssd/src/";

/// An engine, or several that share a folder: the crate, the folder and the structs.
struct Engine {
    of: &'static str,
    folder: &'static str,
    names: &'static [&'static str],
}

/// The engines in order. Each may use the engines to its left. The compiler sees to it that none of the FTL uses
/// one of the SSD. `docs/ARCHITECTURE.md` draws this as an arrow.
const ORDER: &[Engine] = &[
    Engine { of: FTL, folder: "blocks", names: &["BlockManager"] },
    Engine { of: FTL, folder: "map", names: &["Map", "MapCache", "MapTables", "BlockMap"] },
    Engine { of: FTL, folder: "gc", names: &["Gc"] },
    Engine { of: FTL, folder: "recovery", names: &["Recovery"] },
    Engine { of: SSD, folder: "cache", names: &["Cache"] },
    Engine { of: SSD, folder: "writer", names: &["Writer"] },
    Engine { of: SSD, folder: "front", names: &["Front"] },
];

/// Engines to which their crate's `engines` lends those to their left together.
const LENT_TO: [&str; 3] = ["recovery", "writer", "front"];

/// Modules of the crate to the right of an engine.
fn to_the_right(engine: &Engine) -> impl Iterator<Item = &'static str> {
    let after = ORDER.iter().skip_while(|other| other.folder != engine.folder).skip(1);
    let after = after.filter(|other| other.of == engine.of);
    let lent = (!LENT_TO.contains(&engine.folder)).then_some("engines");
    after.map(|other| other.folder).chain(lent).chain(["device"])
}

/// Uses of modules to the right of an engine, in a file of the engine.
fn wrong_uses(engine: &Engine, file: &File) -> Vec<Offence> {
    let of_line = |(n, line): (usize, &str)| {
        let module = to_the_right(engine).find(|module| line.contains(&format!("crate::{module}::")))?;
        let used = line.rsplit("::").next()?.trim_end_matches([';', ')', ',']);
        let names: Vec<&str> = used.trim_matches(['{', '}']).split(", ").collect();
        let what =
            format!("`{}` uses `{module}`, which is to its right: only ids may be used", engine.folder);
        let is_id = |name: &&str| name.ends_with("Id") || *name == "LogicalPage";
        (!names.iter().all(is_id)).then(|| Offence::new(format!("{}:{}", file.path, n + 1), what))
    };
    let code = file.text.lines().enumerate().take_while(|(_, line)| *line != "mod tests {");
    code.filter_map(of_line).collect()
}

/// Fields of an engine's structs that are not private.
fn open_fields(engine: &Engine, file: &File) -> Vec<Offence> {
    engine.names.iter().flat_map(|name| open_fields_of(name, file)).collect()
}

fn open_fields_of(name: &str, file: &File) -> Vec<Offence> {
    let head = format!("struct {name} {{");
    let fields =
        file.text.lines().skip_while(|line| !line.ends_with(&head)).skip(1).take_while(|line| *line != "}");
    let open = fields.filter(|line| line.trim_start().starts_with("pub"));
    open.map(|line| Offence::new(&file.path, format!("`{}` of `{name}` is not private", line.trim())))
        .collect()
}

/// Most fields of the device, including those of the struct that lends its engines together, and most lines
/// of the files that implement the device. `docs/engines.md` describes the rest.
const WIRING: (usize, usize) = (14, 548);

/// Methods that return a mutable part of an engine. They would make its fields public.
fn handed_out(file: &File) -> Vec<Offence> {
    let method = |(n, line): (usize, &str)| {
        let line = line.trim_start();
        // Another crate uses the engines of the FTL, so that they have public methods.
        let of_ftl = line.strip_prefix("pub fn ").filter(|_| file.path.starts_with(FTL));
        let method = line.strip_prefix("pub(crate) fn ").or(of_ftl)?;
        let name = method.split_once("_mut(&mut self")?.0;
        let what = format!(
            "`{name}_mut` gives a part of an engine away to be changed: make a method of what is done"
        );
        Some(Offence::new(format!("{}:{}", file.path, n + 1), what))
    };
    file.text.lines().enumerate().filter_map(method).collect()
}

#[test]
fn an_engine_knows_nothing_of_those_to_its_right_and_keeps_its_fields_to_itself() {
    let files = files();
    for engine in ORDER {
        let folder = format!("{}{}/", engine.of, engine.folder);
        let of_engine = subjects(&files, 2, |file| file.path.starts_with(&folder) && file.is_rust());
        for name in engine.names {
            let head = format!("struct {name} {{");
            assert!(of_engine.iter().any(|file| file.text.contains(&head)), "{folder} has no {name}");
        }
        let offences = of_engine.iter().flat_map(|file| {
            let mut offences = wrong_uses(engine, file);
            offences.extend(open_fields(engine, file));
            offences.extend(handed_out(file));
            offences
        });
        assert_none(&offences.collect::<Vec<_>>());
    }
}

/// Lines of a file that take the whole FTL.
fn uses_of_ftl(file: &File) -> Vec<Offence> {
    let code = file.text.lines().enumerate().take_while(|(_, line)| *line != "mod tests {");
    let used =
        code.filter(|(_, line)| words(line).any(|word| word == "Ftl") && !line.trim().starts_with("//"));
    used.map(|(n, _)| Offence::new(format!("{}:{}", file.path, n + 1), "takes `Ftl`: name what it uses"))
        .collect()
}

#[test]
fn an_engine_of_the_ftl_is_handed_what_it_uses() {
    let files = files();
    for engine in ORDER.iter().filter(|engine| engine.of == FTL && !LENT_TO.contains(&engine.folder)) {
        let folder = format!("{FTL}{}/", engine.folder);
        let of_engine = subjects(&files, 1, |file| file.path.starts_with(&folder) && file.is_rust());
        assert_none(&of_engine.iter().flat_map(|file| uses_of_ftl(file)).collect::<Vec<_>>());
    }
    let text = "fn audit(&self, ftl: &Ftl) {}\n";
    assert_eq!(uses_of_ftl(&File { path: "crates/ftl/src/map/mod.rs".into(), text: text.into() }).len(), 1);
}

/// Fields of a struct.
fn fields(file: &File, name: &str) -> usize {
    let head = format!("struct {name} {{");
    let body = file.text.lines().skip_while(|line| !line.ends_with(&head)).skip(1);
    body.take_while(|line| *line != "}").filter(|line| line.ends_with(',')).count()
}

#[test]
fn the_device_is_wiring() {
    let files = files();
    let of_device = subjects(&files, 3, |file| file.path.starts_with(&format!("{SSD}device/")));
    let lines: usize = of_device.iter().map(|file| file.text.lines().count()).sum();
    let structs = subjects(&files, 2, |file| {
        ["device/mod.rs", "engines.rs"].iter().any(|name| file.path == format!("{SSD}{name}"))
    });
    let of_struct =
        |name| structs.iter().map(|file| fields(file, name)).max().expect("there are files that tell");
    let (device, core) = (of_struct("Device"), of_struct("Core"));
    assert!(device > 0 && core > 0, "both structs are there: {device} and {core} fields");
    assert!(device + core <= WIRING.0, "the device has {device} fields, and {core} in `Core`");
    assert!(lines <= WIRING.1, "the device has {lines} lines: is all of it wiring?");
}

#[test]
fn a_look_to_the_right_and_an_open_field_are_caught() {
    let engine = &ORDER[0];
    let file = |text: &str| File { path: "crates/ftl/src/blocks/mod.rs".into(), text: text.into() };
    assert_eq!(wrong_uses(engine, &file("use crate::map::mapping::Mapping;\n")).len(), 1);
    assert_eq!(wrong_uses(engine, &file("use crate::gc::job::{Job, JobId};\n")).len(), 1);
    assert_eq!(wrong_uses(engine, &file("use crate::gc::job::JobId;\nuse crate::times::Spent;\n")).len(), 0);
    assert_eq!(
        open_fields(engine, &file("pub struct BlockManager {\n    pub(crate) table: Table,\n}\n")).len(),
        1
    );
    assert_eq!(open_fields(engine, &file("pub struct BlockManager {\n    table: Table,\n}\n")).len(), 0);
    let gives = |name: &str| file(&format!("    pub(crate) fn {name}(&mut self) -> &mut Table {{\n"));
    assert_eq!(handed_out(&gives("table_mut")).len(), 1);
    assert_eq!(handed_out(&gives("open")).len(), 0);
}
