//! Where a dashboard listens, and under which names it can be asked.

use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::str::FromStr;

use hyper::http::uri::Authority;

use experiments::Failure;

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

#[cfg(test)]
mod tests {
    use super::*;

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
