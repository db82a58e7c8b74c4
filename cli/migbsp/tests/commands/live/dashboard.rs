//! A page of a run is served while the run goes on, to its own viewers alone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::browser::Browser;
use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::under_way::UnderWay;

/// An address that is free now.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// A run of this number of supersteps whose page is at an address.
fn run(folder: &Folder, supersteps: &str) -> (UnderWay, SocketAddr) {
    let address = free();
    let supersteps = format!("application.supersteps={supersteps}");
    let dashboard = format!("--dashboard={address}");
    let up = ["up", "--local", "2", "--", "run", "heat.toml", "--set"];
    let words = [&up[..], &[&supersteps, &dashboard]].concat();
    let up = UnderWay::start(&mut folder.command(&words));
    let began = Instant::now();
    while TcpStream::connect(address).is_err() {
        let is_late = Duration::from_secs(10) < began.elapsed();
        assert!(!is_late && !up.is_over(), "{:?}", up.ends_within(0));
        thread::sleep(Duration::from_millis(10));
    }
    (up, address)
}

/// A connection on which a request with these first words and headers has been sent.
fn asking(address: SocketAddr, first: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let limit = Some(Duration::from_secs(10));
    stream.set_read_timeout(limit).unwrap();
    write!(stream, "{first} HTTP/1.1\r\n{headers}\r\n").unwrap();
    stream
}

/// The whole response to a request.
fn response(address: SocketAddr, first: &str, headers: &str) -> String {
    let headers = format!("{headers}Connection: close\r\n");
    let mut text = String::new();
    let mut stream = asking(address, first, &headers);
    stream.read_to_string(&mut text).unwrap();
    text
}

fn page(address: SocketAddr) -> String {
    response(address, "GET /", &format!("Host: {address}\r\n"))
}

/// What `stream` receives until it has `words`.
#[track_caller]
fn until(stream: &mut TcpStream, words: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(words) {
        let count = stream.read(&mut bytes).unwrap();
        assert!(0 < count, "closed before {words:?}: {text}");
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    text
}

#[test]
fn viewers_see_the_run_grow_and_one_that_does_not_read_disturbs_nothing() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let (up, address) = run(&folder, "900000");
    let own = format!("Host: {address}\r\n");
    let mut deaf = asking(address, "GET /events", &own);
    for _ in 0..200 {
        write!(deaf, "GET / HTTP/1.1\r\n{own}\r\n").unwrap();
    }
    let mut viewers = [(); 3].map(|()| asking(address, "GET /events", &own));
    for viewer in &mut viewers {
        until(viewer, "data: ");
    }
    let first = page(address);
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{first}");
    for _ in 0..2 {
        for viewer in &mut viewers {
            until(viewer, "data: ");
        }
    }
    let began = Instant::now();
    while page(address) == first {
        assert!(
            began.elapsed() < Duration::from_secs(15),
            "it does not grow"
        );
        thread::sleep(Duration::from_millis(100));
    }
    up.signal("INT");
    for mut viewer in viewers {
        until(
            &mut viewer,
            "event: end\ndata: \"The run was interrupted.\"\n\n",
        );
        assert!(page(address).starts_with("HTTP/1.1 200 OK\r\n"));
    }
    let ended = up.ends_within(15);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let line = format!("dashboard: http://{address}/ until the run ends\n");
    assert!(ended.stderr.contains(&line), "{ended:?}");
    drop(deaf);
}

#[test]
fn viewers_get_the_last_state_of_a_run_that_is_complete() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let (up, address) = run(&folder, "150");
    let mut viewer = asking(address, "GET /events", &format!("Host: {address}\r\n"));
    until(
        &mut viewer,
        "event: end\ndata: \"The run is complete.\"\n\n",
    );
    let last = page(address);
    assert!(last.contains("<dt>supersteps</dt><dd>150</dd>"), "{last}");
    drop(viewer);
    let ended = up.ends_within(10);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("the mode decayed"), "{ended:?}");
}

#[test]
fn a_page_in_a_browser_grows_and_keeps_what_was_opened_and_where_it_was() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = Folder::new().with("heat.toml", HEAT);
    let (up, address) = run(&folder, "60");
    let body = |path: &str| {
        let whole = response(
            address,
            &format!("GET {path}"),
            &format!("Host: {address}\r\n"),
        );
        whole.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let mut viewer = asking(address, "GET /events", &format!("Host: {address}\r\n"));
    let first = body("/");
    let scripts = ["/live.js", "/page.js"];
    let scripts = scripts.map(|path| (format!("<script src=\"{path}\"></script>"), body(path)));
    until(&mut viewer, "event: end");
    let last = body("/");
    drop(viewer);
    up.ends_within(10);
    assert_ne!(first, last);
    // The server that the page asks.
    let server = format!(
        "window.handlers = {{}};\n\
         window.EventSource = class {{\n\
           addEventListener(name, handle) {{ handlers[name] = handle; }}\n\
           close() {{ window.isClosed = true; }}\n\
         }};\n\
         window.fetch = async () => ({{ ok: true, text: async () => {} }});",
        // Nothing in it ends the script.
        Value::from(last).to_string().replace('<', "\\u003c")
    );
    let mut page = first.replacen("<head>", &format!("<head><script>{server}</script>"), 1);
    for (reference, text) in scripts {
        assert!(page.contains(&reference), "{reference}: {page}");
        page = page.replacen(&reference, &format!("<script>{text}</script>"), 1);
    }
    let loaded = browser.open(&page, GROWING);
    assert!(loaded.problems.is_empty(), "{loaded:?}");
    let found = loaded.found;
    assert_ne!(found["before"], "60", "{found}");
    assert_eq!(found["after"], "60", "{found}");
    assert_eq!(found["isOpen"], true, "{found}");
    assert_eq!(found["tables"], 1, "{found}");
    assert_eq!(found["isReplaced"], true, "{found}");
    assert_eq!(found["isKept"], true, "{found}");
    let shift = found["shift"].as_f64().unwrap();
    assert!(shift.abs() < 2.0, "{found}");
    assert_eq!(
        (&found["isClosed"], &found["state"]),
        (&true.into(), &"It is over.".into())
    );
}

/// Opens a table above what is seen, lets the page grow, and ends the run.
const GROWING: &str = "\
const supersteps = () =>
  [...document.querySelectorAll('dl.figures div')].find((part) => part.firstChild.textContent === 'supersteps').lastChild.textContent;
const opened = () => document.querySelector('#timeline').parentElement.querySelector('details.data');
const section = (id) => document.getElementById(id).parentElement;
const seen = () => document.getElementById('hosts').getBoundingClientRect().top;
const [first, kept] = [section('timeline'), section('configuration')];
const before = supersteps();
opened().open = true;
await new Promise((done) => setTimeout(done, 50));
document.getElementById('hosts').scrollIntoView();
const top = seen();
await handlers.message({ data: '1' });
const shift = seen() - top;
await handlers.end({ data: '\"It is over.\"' });
return {
  before, after: supersteps(), shift, isOpen: opened().open, tables: opened().querySelectorAll('table').length,
  isReplaced: section('timeline') !== first, isKept: section('configuration') === kept, isClosed: window.isClosed,
  state: document.querySelector('body > [role=status]:not(#tip)').textContent,
};";

#[test]
fn other_sites_other_paths_and_changes_are_refused() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let (up, address) = run(&folder, "900000");
    let own = format!("Host: {address}\r\n");
    let with = |header: &str| format!("{own}{header}\r\n");
    for (first, headers, status) in [
        ("GET /", own.clone(), "200 OK"),
        ("HEAD /", own.clone(), "200 OK"),
        ("GET /live.js", own.clone(), "200 OK"),
        ("GET /page.js", own.clone(), "200 OK"),
        (
            "GET /",
            with(&format!("Origin: http://{address}")),
            "200 OK",
        ),
        ("GET /", "Host: localhost:9\r\n".to_owned(), "200 OK"),
        ("GET /", String::new(), "400 Bad Request"),
        (
            "GET /",
            "Host: evil.example\r\n".to_owned(),
            "403 Forbidden",
        ),
        (
            "GET /events",
            with("Origin: http://evil.example"),
            "403 Forbidden",
        ),
        ("GET /events", with("Origin: null"), "403 Forbidden"),
        ("GET /", with("Sec-Fetch-Site: cross-site"), "403 Forbidden"),
        ("GET /heat.toml", own.clone(), "404 Not Found"),
        ("GET /../heat.toml", own.clone(), "404 Not Found"),
        (
            "POST /",
            with("Content-Length: 0"),
            "405 Method Not Allowed",
        ),
        ("GET /", with("Content-Length: 5"), "400 Bad Request"),
    ] {
        let found = response(address, first, &headers);
        let expected = format!("HTTP/1.1 {status}\r\n");
        assert!(found.starts_with(&expected), "{first} {headers}: {found}");
        for guard in [
            "content-security-policy: default-src 'none'; ",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(found.contains(guard), "{first}: {guard}: {found}");
        }
        let (_, body) = found.split_once("\r\n\r\n").unwrap();
        assert_eq!(body.is_empty(), first.starts_with("HEAD"), "{found}");
    }
    up.signal("TERM");
    let ended = up.ends_within(10);
    assert_eq!(ended.code, Some(143), "{ended:?}");
}

#[test]
fn an_address_in_use_is_an_error_before_anything_starts() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let next = address.port() + 1;
    let dashboard = format!("--dashboard={address}");
    let up = ["up", "--local", "1", "--", "run", "heat.toml", &dashboard];
    let message = format!(
        "--dashboard={address}: Address already in use (os error 98); another program listens there: try \
         --dashboard=127.0.0.1:{next}, or --dashboard=127.0.0.1:0 for any free port"
    );
    folder.fails(&up, 2, &message);
}

#[test]
fn addresses_are_checked_and_those_that_others_reach_are_warned_of() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = ["up", "--local", "1", "--", "run", "heat.toml"];
    for bad in [
        "--dashboard=7448",
        "--dashboard=127.0.0.1:99999",
        "--dashboard=",
    ] {
        let ended = folder.run(&[&up[..], &[bad]].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--dashboard"), "{ended:?}");
    }
    let open = folder.run(&[&up[..], &["--dashboard=0.0.0.0:0"]].concat());
    assert_eq!(open.code, Some(0), "{open:?}");
    assert!(open.stderr.contains("has no password"), "{open:?}");
}
