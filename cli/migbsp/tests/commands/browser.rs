//! A page in a real browser without a window: Chromium, from a package of the distribution.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// A browser on this machine.
pub(crate) struct Browser {
    program: PathBuf,
}

/// What a page did.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Errors of scripts, refused requests, and messages to the console.
    pub(crate) problems: Vec<String>,
    /// The addresses of all that the page fetched.
    pub(crate) fetched: Vec<String>,
    /// The value of the test's script.
    pub(crate) found: Value,
}

impl Browser {
    /// The browser of this machine. A machine without one gets no answer, and says how to install it; in CI that is an error.
    #[expect(
        clippy::print_stderr,
        reason = "a test that is skipped says how to run it"
    )]
    pub(crate) fn find() -> Option<Self> {
        let folders = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&folders).collect();
        let mut places = NAMES
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let program = places.find(|place| place.is_file());
        if program.is_none() {
            let missing = "no browser for the pages of `report`: apt-get install chromium";
            assert!(env::var_os("CI").is_none(), "{missing}");
            eprintln!("SKIPPED: {missing}");
        }
        program.map(|program| Self { program })
    }

    /// Opens `page`, and evaluates `script` in it: the body of an asynchronous function that returns a value.
    pub(crate) fn open(&self, page: &str, script: &str) -> Loaded {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("page.html");
        let page = page.replacen("<head>", &format!("<head><script>{WATCH}</script>"), 1);
        let test = format!("<script>{}</script></body>", TEST.replace("SCRIPT", script));
        let page = page.replacen("</body>", &test, 1);
        assert!(page.contains(WATCH) && page.contains(&test), "{page}");
        fs::write(&file, page).unwrap();
        let output = self.command(folder.path(), &file).output().unwrap();
        let (dom, log) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        assert!(output.status.success(), "{log}");
        let Some((_, found)) = dom.split_once("<pre id=\"found\">") else {
            panic!("the test's script did not end: {log}\n{dom}")
        };
        let found = found.split("</pre>").next().unwrap();
        let found = ["&lt;<", "&gt;>", "&amp;&"]
            .iter()
            .fold(found.to_owned(), |text, pair| {
                let (entity, character) = pair.split_at(pair.len() - 1);
                text.replace(entity, character)
            });
        let mut found: Value = serde_json::from_str(&found).unwrap();
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().unwrap().iter();
            items
                .map(|item| item.as_str().unwrap().to_owned())
                .collect()
        };
        let console = log.lines().filter(|line| line.contains("CONSOLE"));
        Loaded {
            problems: texts(&found["problems"])
                .into_iter()
                .chain(console.map(str::to_owned))
                .collect(),
            fetched: texts(&found["fetched"]),
            found: found["found"].take(),
        }
    }

    fn command(&self, folder: &Path, file: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args([
                "--headless",
                // The tests may run as root, where the sandbox does not start.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--enable-logging=stderr",
                "--window-size=1600,1000",
                "--virtual-time-budget=20000",
                "--dump-dom",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.join("profile").display()
            ))
            .arg(format!("file://{}", file.display()))
            .env("HOME", folder);
        command
    }
}

/// Names of Chromium, by distribution.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Collects what goes wrong, from the beginning.
const WATCH: &str = "\
window.problems = [];
addEventListener('error', (event) => problems.push(String(event.message ?? event.target?.src)), true);
addEventListener('unhandledrejection', (event) => problems.push(String(event.reason)));
document.addEventListener('securitypolicyviolation', (event) => problems.push(`refused: ${event.blockedURI}`));";

/// Evaluates the test's script when the page has loaded, and leaves its value in the page.
const TEST: &str = "\
addEventListener('load', async () => {
  let found = null;
  try { found = await (async () => { SCRIPT })(); } catch (error) { problems.push(String(error.stack ?? error)); }
  const fetched = performance.getEntriesByType('resource').map((entry) => entry.name);
  const element = document.createElement('pre');
  element.id = 'found';
  element.textContent = JSON.stringify({ problems, fetched, found });
  document.body.prepend(element);
});";

#[test]
fn errors_and_requests_of_a_page_are_seen() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let page = "<!DOCTYPE html><html><head><meta http-equiv=\"Content-Security-Policy\" \
                content=\"default-src 'none'; script-src 'unsafe-inline'\"></head><body>\
                <img src=\"http://127.0.0.1:9/a.png\"><script>nothing.here()</script></body></html>";
    let loaded = browser.open(page, "console.error('said'); return { a: '<&>' };");
    assert_eq!(loaded.found, serde_json::json!({ "a": "<&>" }));
    for part in [
        "nothing is not defined",
        "refused: http://127.0.0.1:9/a.png",
        "said",
    ] {
        let is_there = loaded.problems.iter().any(|problem| problem.contains(part));
        assert!(is_there, "{part}: {loaded:?}");
    }
    let fetching = page
        .replacen("<meta", "<meta name=\"none\"", 1)
        .replace("http-equiv", "data-none");
    let loaded = browser.open(&fetching, "return null;");
    assert_eq!(loaded.fetched, ["http://127.0.0.1:9/a.png"], "{loaded:?}");
}
