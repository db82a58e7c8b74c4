//! Which requests are answered.

use hyper::body::Body;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};

use super::address::OwnNames;
use super::live_page::SCRIPTS;

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

#[cfg(test)]
mod tests {
    use super::super::address::DashboardAddress;
    use super::super::response::Content;
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
        let met = super::check(&request, &own).map_err(|refusal| refusal.status.as_u16());
        assert_eq!(met, expect, "{first:?} {headers:?}");
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
}
