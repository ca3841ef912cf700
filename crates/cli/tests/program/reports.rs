//! Tests report pages in a browser, at all widths, light and dark, with their charts and tables.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::browser::Browser;
use super::{Folder, wordline};

/// A page of each kind. They are created once.
static PAGES: LazyLock<(Folder, Vec<PathBuf>)> = LazyLock::new(|| {
    let folder = Folder::new();
    let runs: [&[&str]; 4] = [
        &["run", "--preset", "tiny", "--workload", "mixed-70-30", "--requests", "4000"],
        &["compare", "tiny", "fixed-latency", "--workload", "mixed-70-30", "--requests", "2000"],
        &[
            "sweep",
            "--preset",
            "tiny",
            "--workload",
            "randwrite-4k",
            "--requests",
            "300",
            "--seeds",
            "2",
            "--vary",
            "ftl.over_provisioning=0.21..0.39/6",
            "--vary",
            "ftl.gc.victim.policy=greedy,fifo",
        ],
        &["repro", "nandflashsim/fig12", "--seeds", "1", "--quick"],
    ];
    let mut pages = Vec::new();
    for (n, arguments) in runs.into_iter().enumerate() {
        let name = folder.path(&n.to_string());
        wordline(&[arguments, &["--no-progress", "--report", &name][..]].concat()).success();
        let inside = if n == 3 { "nandflashsim/fig12/report.html" } else { "report.html" };
        pages.push(Path::new(&name).join(inside));
    }
    (folder, pages)
});

/// Widths at which faults were found: a telephone, half a screen, the width with the narrowest table columns,
/// and a large screen.
const WIDTHS: [u32; 4] = [400, 1_280, 1_345, 2_560];

/// The test takes seconds, because a page is laid out again at each width. The middle widths are for pages
/// with tables of runs.
#[test]
fn pages_fit_all_widths_light_and_dark_and_load_nothing() {
    let Some(mut browser) = Browser::start() else { return };
    for (kind, page) in PAGES.1.iter().enumerate() {
        let in_the_middle = |width: &u32| kind < 2 || [400, 2_560].contains(width);
        for (n, width) in WIDTHS.into_iter().filter(in_the_middle).enumerate() {
            browser.show(page, width, if n % 2 == 0 { "light" } else { "dark" });
            let at = format!("{} at {width}", page.display());
            let found = browser.ask("document.documentElement.scrollWidth");
            assert_eq!(found, width, "{at}");
            assert_eq!(browser.ask("performance.getEntriesByType('resource').length"), 0, "{at}");
            let [tall, collided, alike, cut] = [TALL, COLLIDED, ALIKE, CUT].map(|script| browser.ask(script));
            assert_eq!(tall, json!([]), "numbers that do not stand in a line, {at}");
            assert_eq!(collided, json!([]), "labels of an axis that lie over each other, {at}");
            assert_eq!(alike, json!([]), "classes of a legend with one colour and one form, {at}");
            assert_eq!(cut, json!([]), "texts of charts that are cut off, {at}");
        }
        let charts = browser.ask("document.querySelector('.charts')?.clientWidth ?? 2560");
        assert!(charts.as_u64() > Some(2_300), "{}: charts take {charts} of 2560 pixels", page.display());
    }
}

/// Cells with more than two lines, which is the height of a number and its ratio to the first run.
const TALL: &str =
    "[...document.querySelectorAll('section table td[data-value]:not(.number):not(.numbers td)')]
    .filter(cell => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return new Set([...text.getClientRects()].map(line => Math.round(line.top))).size > 2;
    }).map(cell => cell.textContent)";

/// Pairs of axis labels of a chart that overlap.
const COLLIDED: &str = "[...document.querySelectorAll('.chart svg .role-axis-label')].flatMap(axis => {
    const seen = [...axis.querySelectorAll('text')].filter(text => text.textContent && text.getAttribute('opacity') !== '0'
        && getComputedStyle(text).opacity !== '0');
    const boxes = seen.map(text => [text.textContent, text.getBoundingClientRect()]);
    return boxes.slice(1).flatMap(([text, box], n) => {
        const [before, other] = boxes[n];
        const over = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        return over > 1 && down > 3 ? [before + ' and ' + text] : [];
    });
})";

/// Legend entries that look like another entry.
const ALIKE: &str = "[...document.querySelectorAll('.chart svg .role-legend')].flatMap(legend => {
    const looks = [...legend.querySelectorAll('.role-legend-symbol path')].map(path =>
        ['fill', 'stroke', 'd', 'stroke-dasharray'].map(name => path.getAttribute(name)).join(' '));
    return looks.filter((one, n) => looks.indexOf(one) !== n);
})";

/// Chart texts that are cut off. Texts that are shortened in the data are complete.
const CUT: &str = "(() => {
    const data = document.getElementById('charts-data').textContent;
    const lines = [...document.querySelectorAll('.chart svg text')].flatMap(text => {
        const parts = [...text.querySelectorAll('tspan')];
        return (parts.length ? parts : [text]).map(part => part.textContent);
    });
    return lines.filter(line => line.includes('…') && !data.includes(line.replaceAll('<', '\\\\u003c')));
})()";

#[test]
fn tables_are_sorted_filtered_and_copied() {
    let Some(mut browser) = Browser::start() else { return };
    let [run, compared, sweep, repro] = &PAGES.1[..] else { panic!("four pages") };
    browser.show(sweep, 1_280, "light");
    let first = "document.querySelector('#rows tbody tr').cells[2].dataset.value";
    let click = "document.querySelectorAll('#rows th .sort')[2].click()";
    let order = |browser: &mut Browser| {
        browser.ask(
            "[...document.querySelectorAll('#rows tbody tr')].map(row => Number(row.cells[2].dataset.value))",
        )
    };
    let before = order(&mut browser);
    browser.ask(click);
    let rising = order(&mut browser);
    browser.ask(click);
    let falling = browser.ask(first);
    let numbers = |list: &Value| -> Vec<f64> {
        list.as_array().expect("a list").iter().filter_map(Value::as_f64).collect()
    };
    let mut wanted = numbers(&before);
    wanted.sort_by(f64::total_cmp);
    assert_eq!(numbers(&rising), wanted, "by host.iops");
    assert_eq!(falling.as_str().map(str::parse::<f64>), wanted.last().map(|last| Ok(*last)));
    browser.ask(click);
    assert_eq!(order(&mut browser), before, "as it was");
    let filter = "const field = document.querySelector('#rows input'); field.value = 'fifo'; field.dispatchEvent(new Event('input'))";
    browser.ask(&format!("{{ {filter} }}"));
    let csv = browser.ask("document.querySelector('.sheet').wordline.csv()");
    let csv = csv.as_str().expect("text").lines().collect::<Vec<_>>();
    assert_eq!(csv.len(), 7, "a head and the rows with fifo: {csv:?}");
    assert!(
        csv[0].starts_with("ftl.over_provisioning,ftl.gc.victim.policy,host.iops,host.iops ±,"),
        "{}",
        csv[0]
    );
    assert!(csv[1..].iter().all(|line| line.contains(",fifo,")), "{csv:?}");
    let told = "(async () => { document.querySelector('.tools button').click();
        await new Promise(done => setTimeout(done, 300)); return document.querySelector('.tools [role=status]').textContent; })()";
    assert_eq!(browser.ask(told), "6 rows copied");

    let copied = |browser: &mut Browser, page: &Path, sheet: usize| {
        browser.show(page, 1_280, "light");
        let csv = browser.ask(&format!("document.querySelectorAll('.sheet')[{sheet}].wordline.csv()"));
        csv.as_str().expect("text").to_owned()
    };
    let csv = copied(&mut browser, run, 0);
    assert!(csv.starts_with("group,result,unit,value\n") && csv.contains("\nRead latency,p99,µs,"), "{csv}");
    let csv = copied(&mut browser, compared, 1);
    assert!(
        csv.starts_with("group,result,unit,tiny,fixed-latency\n") && csv.contains("\nFlash,energy,J,"),
        "{csv}"
    );
    let csv = copied(&mut browser, repro, 0);
    assert!(csv.starts_with("verdict,what,paper,unit,ours,"), "{csv}");
}

#[test]
fn runs_of_different_length_are_drawn_over_their_own() {
    let compared = std::fs::read_to_string(&PAGES.1[1]).expect("a page");
    assert!(compared.contains("Part of the run (%)") && compared.contains("over its own length: tiny "));
    let run = std::fs::read_to_string(&PAGES.1[0]).expect("a page");
    assert!(run.contains("Simulated time (") && !run.contains("Part of the run (%)"));
}

#[test]
fn every_report_has_the_four_parts() {
    for page in &PAGES.1 {
        let text = std::fs::read_to_string(page).expect("a page");
        let body = text.split("<body>").nth(1).expect("a body");
        let places = ["id=\"verdict\"", "id=\"charts\"", "class=\"sheet\"", "id=\"again\""];
        let found: Vec<Option<usize>> = places.iter().map(|part| body.rfind(part)).collect();
        assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{}: {found:?}", page.display());
        let again = body.split("id=\"again\"").nth(1).expect("it is there");
        for part in ["wordline ", "Seed", "Made by wordline", "<summary>Command", "<summary>Configuration"] {
            assert!(again.contains(part), "{}: {part}", page.display());
        }
    }
}

/// Folders for PATH in which `python3` has the package that draws charts. The Python of `make python` is
/// considered too. Without such a Python, returns `None` and prints a message.
fn path_with_package() -> Option<String> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let all = [path.clone(), format!("{}:{path}", own.display())];
    let has = |path: &String| {
        let tried = std::process::Command::new("python3")
            .args(["-c", "import vl_convert"])
            .env("PATH", path)
            .output();
        tried.is_ok_and(|ended| ended.status.success())
    };
    let found = all.into_iter().find(has);
    if found.is_none() {
        eprintln!("SKIPPED: no python3 with the package vl-convert-python: `make python` installs it");
    }
    found
}

const RUN: [&str; 8] =
    ["run", "--preset", "tiny", "--workload", "mixed-70-30", "--requests", "2000", "--no-progress"];

#[test]
fn charts_are_files_as_wide_as_a_column_or_a_page() {
    let Some(path) = path_with_package() else { return };
    let folder = Folder::new();
    let (column, page) = (&[][..], &["--charts-width", "page"][..]);
    for (kind, more, millimetres) in
        [("svg", column, 84.0), ("svg", page, 174.0), ("pdf", column, 84.0), ("png", column, 84.0)]
    {
        let name = format!("{kind}-{millimetres}");
        let into = format!("{kind}:{}", folder.path(&name));
        let arguments = [&RUN[..], &["--charts", &into], more].concat();
        let ended = super::program(&arguments).env("PATH", &path).output().expect("it was built");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        for chart in ["latency-tail", "time", "die-map", "tail-parts", "throughput"] {
            let file = std::fs::read(Path::new(&folder.path(&name)).join(format!("{chart}.{kind}")))
                .expect("it was drawn");
            let points = match kind {
                "svg" => after(&file, "width=\""),
                "pdf" => after(&file, "/MediaBox [0 0 "),
                // Pixels in the header of the file, at 300 per inch.
                _ => {
                    f64::from(u32::from_be_bytes(file[16..20].try_into().expect("four bytes"))) / 300.0 * 72.0
                }
            };
            let wanted: f64 = millimetres / 25.4 * 72.0;
            assert!((points - wanted).abs() < 1.0, "{chart}.{kind}: {points} points, wanted {wanted}");
        }
        assert!(Path::new(&folder.path(&name)).join("time.vl.json").is_file());
    }
}

/// The number after these words in a file.
fn after(file: &[u8], words: &str) -> f64 {
    let text = String::from_utf8_lossy(file);
    let rest = text.split(words).nth(1).unwrap_or_else(|| panic!("no {words}"));
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().expect("a number")
}

#[test]
fn charts_of_all_reports_stand_beside_their_specifications() {
    let Some(path) = path_with_package() else { return };
    let folder = Folder::new();
    let out = folder.path("out");
    let sweep = [
        "sweep",
        "--preset",
        "tiny",
        "--workload",
        "randwrite-4k",
        "--requests",
        "300",
        "--no-progress",
        "--vary",
        "ftl.over_provisioning=0.2,0.3",
        "--vary",
        "ftl.gc.victim.policy=greedy,fifo",
        "--vary",
        "workload.named.queue_depth=1,8",
    ];
    let repro = ["repro", "nandflashsim/fig12", "--seeds", "1", "--quick", "--no-progress"];
    // The second time checks that a folder with charts still counts as the folder of a report.
    for _ in 0..2 {
        for (arguments, inside, chart) in
            [(&sweep[..], "", "host-iops"), (&repro[..], "nandflashsim/fig12/", "paper-and-ours")]
        {
            let out = format!("{out}/{}", arguments[0]);
            let arguments = [arguments, &["--report", &out, "--charts", "svg"]].concat();
            let ended = super::program(&arguments).env("PATH", &path).output().expect("it was built");
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
            let charts = Path::new(&out).join(inside).join("charts");
            let found: Vec<_> = std::fs::read_dir(&charts)
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name())
                .collect();
            for ending in ["svg", "vl.json"] {
                let name = format!("{chart}.{ending}");
                assert!(found.iter().any(|file| *file == *name), "{name}: {found:?}");
            }
            if !inside.is_empty() {
                continue;
            }
            // Panels are fitted to the width.
            let points =
                after(&std::fs::read(charts.join(format!("{chart}.svg"))).expect("it was drawn"), "width=\"");
            assert!((points - 84.0 / 25.4 * 72.0).abs() < 1.0, "{points} points");
        }
    }
}

#[test]
fn charts_without_the_package_are_refused_before_anything_is_run() {
    let folder = Folder::new();
    let into = format!("pdf:{}", folder.path("figures"));
    let empty = folder.path("empty");
    let arguments = [&RUN[..], &["--charts", &into]].concat();
    let tried = super::program(&arguments).env("PATH", &empty).output().expect("it was built");
    let told = super::Finished::of(tried).refusal();
    assert!(
        told.contains("--charts: found no program python3") && told.contains("pip install vl-convert-python"),
        "{told}"
    );
    assert!(told.contains("no .vl.json was written") && folder.names().is_empty(), "{told}");

    // A Python without packages.
    let script = folder.with("bin/python3", "#!/bin/sh\nexit 1\n");
    let mut permissions = std::fs::metadata(&script).expect("it was written").permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&script, permissions).expect("it is ours");
    let bin = format!("{}:/bin:/usr/bin", folder.path("bin"));
    let tried = super::program(&arguments).env("PATH", &bin).output().expect("it was built");
    let told = super::Finished::of(tried).refusal();
    assert!(told.contains("found python3 without the package vl-convert-python"), "{told}");

    // A Python that has the package and fails to draw. The specifications must still be written.
    folder.with("bin/python3", "#!/bin/sh\ncase \"$2\" in 'import vl_convert') exit 0;; esac\ncat >/dev/null\necho 'no font' >&2\nexit 1\n");
    let tried = super::program(&arguments).env("PATH", &bin).output().expect("it was built");
    assert_eq!(tried.status.code(), Some(2));
    let told = String::from_utf8_lossy(&tried.stderr).into_owned();
    assert!(
        told.contains("did not draw them: no font") && told.contains(".vl.json files were written to"),
        "{told}"
    );
    assert!(Path::new(&folder.path("figures")).join("latency-tail.vl.json").is_file());
}

#[test]
fn what_is_wrong_with_charts_is_told() {
    let told = wordline(&[&RUN[..], &["--charts", "gif"]].concat()).refusal();
    assert!(told.contains("found `gif`, wanted pdf, svg or png"), "{told}");
    let told = wordline(&[&RUN[..], &["--charts-width", "page"]].concat()).refusal();
    assert!(told.contains("--charts"), "{told}");
}
