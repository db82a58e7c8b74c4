//! Requests to a dashboard: its address and names, which requests are answered, and what responses forbid browsers.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use experiments::Failure;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::mpsc;

use crate::dashboard::SCRIPTS;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    /// The page.
    Page,
    /// A script of it, by its place among [`SCRIPTS`].
    Script(usize),
    /// The stream of its news.
    Events,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) reason: &'static str,
}

/// What `request` asks for, of a server with these names.
///
/// # Errors
///
/// If it comes from another site, asks for a change, or for what is not there.
pub(super) fn check<B: Body>(request: &Request<B>, own: &OwnNames) -> Result<Resource, Refusal> {
    let refuse = |status, reason| Err(Refusal { status, reason });
    let headers = request.headers();
    let Some(host) = only(headers, &HOST) else {
        return refuse(StatusCode::BAD_REQUEST, "a request has one Host");
    };
    let stated = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    if !own.has(host) || stated.is_some_and(|stated| stated != host) {
        return refuse(StatusCode::FORBIDDEN, OTHER_NAME);
    }
    if comes_from_elsewhere(headers, host) {
        return refuse(StatusCode::FORBIDDEN, OTHER_SITE);
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "the page can only be read: GET or HEAD",
        );
    }
    if !request.body().is_end_stream() {
        return refuse(StatusCode::BAD_REQUEST, "a request for a page has no body");
    }
    let path = request.uri().path();
    let script = SCRIPTS.iter().position(|script| *script == path);
    match (path, script) {
        ("/", _) => Ok(Resource::Page),
        ("/events", _) => Ok(Resource::Events),
        (_, Some(script)) => Ok(Resource::Script(script)),
        _ => refuse(
            StatusCode::NOT_FOUND,
            "there is only the page of the run, at /",
        ),
    }
}

/// Whether a browser says that the page of another site asks `host`.
fn comes_from_elsewhere(headers: &HeaderMap, host: &str) -> bool {
    let own = |origin: &str| {
        origin
            .strip_prefix("http://")
            .is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    };
    if headers.contains_key(ORIGIN) && !only(headers, &ORIGIN).is_some_and(own) {
        return true;
    }
    // `none`: the user has opened the address.
    let site = HeaderName::from_static("sec-fetch-site");
    headers.contains_key(&site)
        && !only(headers, &site).is_some_and(|site| ["same-origin", "none"].contains(&site))
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none());
    value.and_then(|value| value.to_str().ok())
}

const OTHER_NAME: &str = "this server is not asked by that name: open it as localhost, by its address, or by the name given \
                          to --dashboard";

const OTHER_SITE: &str =
    "pages of other sites may not ask this server: open its address in a tab of its own";

/// The address of `--dashboard`: a host and a TCP port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DashboardAddress {
    /// A name or an address.
    host: String,
    port: u16,
}

impl DashboardAddress {
    /// The default, for the command line.
    pub(crate) const DEFAULT: &str = "127.0.0.1:7448";

    /// Binds a socket to it.
    ///
    /// # Errors
    ///
    /// If it is in use, or no address of this machine.
    pub(super) fn bind(&self) -> Result<TcpListener, Failure> {
        TcpListener::bind((self.host.as_str(), self.port)).map_err(|error| {
            let (port, next) = (self.port, self.port.saturating_add(1));
            let host = bracketed(&self.host);
            let remedy = match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "another program listens there: try --dashboard={host}:{next}, or --dashboard={host}:0 for any \
                     free port"
                ),
                io::ErrorKind::PermissionDenied => "give a port above 1023".to_owned(),
                _ => "give an address of this machine, as --dashboard=127.0.0.1:7448".to_owned(),
            };
            Failure::Usage(format!("--dashboard={host}:{port}: {error}; {remedy}"))
        })
    }

    /// The names under which a server at `bound` can be asked.
    pub(super) fn names(&self, bound: IpAddr) -> OwnNames {
        let is_name = self.host.parse::<IpAddr>().is_err();
        OwnNames {
            name: is_name.then(|| self.host.to_ascii_lowercase()),
            is_loopback: bound.is_loopback(),
        }
    }
}

impl FromStr for DashboardAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "must be HOST:PORT, such as 127.0.0.1:7448 or [::1]:0".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let port = port.parse().map_err(|_| expected())?;
        let bracketed = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(host) => host
                .parse::<Ipv6Addr>()
                .map_err(|_| expected())?
                .to_string(),
            None => host.to_owned(),
        };
        let is_name = |host: &str| {
            let is_part =
                |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
            !host.is_empty() && host.chars().all(is_part)
        };
        if bracketed.is_none() && !is_name(&host) {
            return Err(expected());
        }
        Ok(Self { host, port })
    }
}

/// The names under which a server can be asked.
///
/// A name that another site controls may lead to this server (DNS rebinding), and a browser would let that site read the
/// page. Addresses and `localhost` lead nowhere else, and the port does not matter, so a page can be viewed through a
/// tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnNames {
    /// The name that the user has given.
    name: Option<String>,
    /// Whether it is asked by this machine alone.
    is_loopback: bool,
}

impl OwnNames {
    /// Whether a request for `authority`, a host and a port, is meant for this server.
    pub(super) fn has(&self, authority: &str) -> bool {
        let Ok(parsed) = authority.parse::<Authority>() else {
            return false;
        };
        // A user's name and password are no part of a host.
        if authority.contains('@') {
            return false;
        }
        let host = parsed.host();
        let unbracketed = host.trim_start_matches('[').trim_end_matches(']');
        match unbracketed.parse::<IpAddr>() {
            Ok(address) => !self.is_loopback || address.is_loopback(),
            Err(_) => {
                let host = host.to_ascii_lowercase();
                host == "localhost" || self.name.as_ref() == Some(&host)
            }
        }
    }
}

/// `host` as it stands before a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

/// The body of a response.
#[derive(Debug)]
pub(super) enum Content {
    /// All of it; `None`: nothing is left.
    Whole(Option<Bytes>),
    /// It arrives bit by bit, and ends when its sender is dropped.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        ctx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            Self::Whole(whole) => Poll::Ready(whole.take()),
            Self::Stream(arriving) => arriving.poll_recv(ctx),
        };
        data.map(|data| data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => {
                let length = whole.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// The whole of something.
pub(super) fn whole(kind: &'static str, content: impl Into<Bytes>) -> Response<Content> {
    guarded(kind, Content::Whole(Some(content.into())))
}

/// News, as they arrive.
pub(super) fn stream(news: mpsc::Receiver<Bytes>) -> Response<Content> {
    guarded("text/event-stream", Content::Stream(news))
}

/// Why there is nothing.
pub(super) fn refusal(refusal: Refusal) -> Response<Content> {
    let mut response = whole("text/plain; charset=utf-8", format!("{}\n", refusal.reason));
    *response.status_mut() = refusal.status;
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

fn guarded(kind: &'static str, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in GUARDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What browsers must not do with a response.
const GUARDS: [(HeaderName, &str); 7] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a request with these first words and headers.
    #[track_caller]
    fn check(first: (&str, &str), headers: &[(&str, &str)], expect: Result<Resource, u16>) {
        let address: DashboardAddress = DashboardAddress::DEFAULT.parse().unwrap();
        let own = address.names([127, 0, 0, 1].into());
        let (method, uri) = first;
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Content::Whole(None)).unwrap();
        let found = super::check(&request, &own).map_err(|refusal| refusal.status.as_u16());
        assert_eq!(found, expect, "{first:?} {headers:?}");
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:7448");

    #[test]
    fn there_are_a_page_scripts_and_a_stream() {
        check(("GET", "/"), &[HOST], Ok(Resource::Page));
        check(("HEAD", "/?a=b"), &[HOST], Ok(Resource::Page));
        check(("GET", "/live.js"), &[HOST], Ok(Resource::Script(0)));
        check(("GET", "/page.js"), &[HOST], Ok(Resource::Script(1)));
        check(("GET", "/events"), &[HOST], Ok(Resource::Events));
        check(
            ("GET", "http://127.0.0.1:7448/"),
            &[HOST],
            Ok(Resource::Page),
        );
        for path in [
            "/index.html",
            "//",
            "/events/",
            "/../etc/passwd",
            "/%2e%2e/",
            "/favicon.ico",
            "*",
        ] {
            check(("GET", path), &[HOST], Err(404));
        }
        for method in [
            "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH",
        ] {
            check((method, "/"), &[HOST], Err(405));
        }
    }

    #[test]
    fn other_names_are_refused_whatever_is_asked() {
        check(("GET", "/"), &[], Err(400));
        check(("GET", "/"), &[HOST, HOST], Err(400));
        for host in [
            "evil.example:7448",
            "10.0.0.9",
            "localhost.evil.example",
            "@127.0.0.1",
        ] {
            check(("GET", "/"), &[("host", host)], Err(403));
            check(("POST", "/x"), &[("host", host)], Err(403));
        }
        check(("GET", "http://evil.example/"), &[HOST], Err(403));
        check(
            ("GET", "/"),
            &[("host", "localhost:8000")],
            Ok(Resource::Page),
        );
    }

    #[test]
    fn other_sites_are_refused() {
        let own = ("origin", "http://127.0.0.1:7448");
        check(("GET", "/events"), &[HOST, own], Ok(Resource::Events));
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:7448",
            "http://127.0.0.1:80",
            "",
        ] {
            check(("GET", "/events"), &[HOST, ("origin", origin)], Err(403));
        }
        check(("GET", "/"), &[HOST, own, own], Err(403));
        for (site, expect) in [
            ("same-origin", Ok(Resource::Page)),
            ("none", Ok(Resource::Page)),
            ("same-site", Err(403)),
            ("cross-site", Err(403)),
        ] {
            check(("GET", "/"), &[HOST, ("sec-fetch-site", site)], expect);
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in [
            DashboardAddress::DEFAULT,
            "[::1]:0",
            "localhost:80",
            "0.0.0.0:65535",
            "login-1:8000",
        ] {
            assert!(good.parse::<DashboardAddress>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "7448",
            "127.0.0.1",
            ":7448",
            "::1:7448",
            "[::1]",
            "[name]:1",
            "a b:1",
            "a:65536",
            "a/b:1",
        ] {
            assert!(bad.parse::<DashboardAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_of_other_sites_are_none_of_a_server() {
        let names = |address: &str, bound: &str| {
            let address: DashboardAddress = address.parse().unwrap();
            address.names(bound.parse().unwrap())
        };
        let own = names(DashboardAddress::DEFAULT, "127.0.0.1");
        for good in [
            "127.0.0.1:7448",
            "localhost",
            "LOCALHOST:1",
            "[::1]:7448",
            "127.8.8.8:80",
        ] {
            assert!(own.has(good), "{good}");
        }
        for bad in [
            "",
            "evil.example:7448",
            "localhost.evil.example",
            "10.0.0.9:7448",
            "127.0.0.1@evil",
            "a b",
            "::1",
        ] {
            assert!(!own.has(bad), "{bad}");
        }
        let open = names("login-1:7448", "10.0.0.9");
        for good in [
            "login-1:7448",
            "Login-1",
            "10.0.0.9:7448",
            "localhost:7448",
            "[fe80::1]:7448",
        ] {
            assert!(open.has(good), "{good}");
        }
        assert!(!open.has("login-2:7448"));
        assert!(!names("0.0.0.0:7448", "0.0.0.0").has("login-1:7448"));
    }
}
