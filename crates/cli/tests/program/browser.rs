//! Chromium without a window, controlled through its debugging pipe, to test pages as a reader sees them.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Names of the browser in distributions.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    session: Option<String>,
    _profile: TempDir,
}

/// Path of the browser: `WORDLINE_CHROMIUM`, or the first one in the path. If there is none, returns `None`
/// and prints a message.
fn found() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WORDLINE_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = NAMES.iter().flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
    let found = all.into_iter().find(|file| file.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: no browser: install the package `chromium`, or name one in WORDLINE_CHROMIUM");
    }
    found
}

impl Browser {
    /// Starts the browser; `None` if there is none.
    pub fn start() -> Option<Self> {
        let program = found()?;
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        let mut data = OsString::from("--user-data-dir=");
        data.push(profile.path());
        // The pipe needs the file descriptors 3 and 4, which a shell can provide.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--disable-extensions",
            ])
            .arg(data)
            .arg("--remote-debugging-pipe")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let to = child.stdin.take().expect("it was asked for");
        let from = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut browser = Self { child, to, from, calls: 0, session: None, _profile: profile };
        let page = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let asked = json!({ "targetId": page["targetId"], "flatten": true });
        browser.session =
            browser.call("Target.attachToTarget", asked)["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", json!({}));
        Some(browser)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let bytes = [message.to_string().as_bytes(), &[0]].concat();
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).expect("the browser answers");
            assert_eq!(answer.pop(), Some(0), "the browser has ended at {method}");
            let mut answer: Value = serde_json::from_slice(&answer).expect("it answers in JSON");
            if answer["id"] == self.calls {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].take();
            }
        }
    }

    /// Shows a page at a width, light or dark, and waits until its charts are drawn.
    pub fn show(&mut self, page: &Path, width: u32, scheme: &str) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", dark);
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        let drawn = self.ask(
            "new Promise(done => { let looks = 0; const timer = setInterval(() => {
                const charts = [...document.querySelectorAll('.chart')];
                const all = document.readyState === 'complete' && document.querySelector('footer') && charts.every(one =>
                    one.parentElement.querySelector('.save')?.hidden === false);
                if (all || (looks += 1) > 600) { clearInterval(timer); done(all); }
            }, 50); })",
        );
        assert_eq!(drawn, true, "charts of {} at {width}", page.display());
    }

    /// Evaluates an expression on the page, which may be a promise, and returns its value.
    pub fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let mut answer = self.call("Runtime.evaluate", asked);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser also ends when its pipe closes, but this is faster.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
