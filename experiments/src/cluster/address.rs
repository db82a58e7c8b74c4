use std::net::{Ipv4Addr, Ipv6Addr};

/// `HOST[:PORT]` as `host:port`; an IPv6 address stands in brackets.
pub(super) fn address(text: &str) -> Result<String, String> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or_else(|| unfit(text))?;
        let host: Ipv6Addr = host.parse().map_err(|_| unfit(text))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => self::port(port)?,
            None if rest.is_empty() => PORT,
            None => return Err(unfit(text)),
        };
        return Ok(format!("[{host}]:{port}"));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!(
            "invalid value {text:?}, must be an IPv6 address in brackets: `[{text}]`"
        ));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, self::port(port)?),
        None => (text, PORT),
    };
    if is_host(host) {
        Ok(format!("{host}:{port}"))
    } else {
        Err(unfit(text))
    }
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| format!("port {text:?}, expected 1 to {}", u16::MAX))
}

/// Whether a resolver could know `text`. Underscores are in no standard, but in use.
fn is_host(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut labels = text.split('.');
    let last = text.rsplit('.').next().unwrap_or(text);
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<Ipv4Addr>().is_ok();
    }
    labels.all(|label| !label.is_empty() && label.bytes().all(known))
}

fn unfit(text: &str) -> String {
    format!(
        "invalid value {text:?}, must be HOST or HOST:PORT, as in `10.0.0.7:7447` or `[fd00::7]:7447`"
    )
}

/// Default port of a host.
pub const PORT: u16 = 7447;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_added_where_there_is_none() {
        for (text, expect) in [
            ("n1", "n1:7447"),
            ("n1.lab.example:7000", "n1.lab.example:7000"),
            ("N_1", "N_1:7447"),
            ("127.0.0.1", "127.0.0.1:7447"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]", "[::1]:7447"),
            ("[FD00:0::7]:65535", "[fd00::7]:65535"),
        ] {
            assert_eq!(address(text).unwrap(), expect);
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for text in [
            "",
            ":7447",
            "n1:",
            "n1:0",
            "n1:65536",
            "n1:x",
            "n1:1:2",
            "a..b",
            "n 1",
            "ä",
            "10.0.0.256",
            "10.0.7",
            "[::1",
            "[::1]x",
            "[n1]:1",
            "[::1]:0",
        ] {
            assert!(address(text).is_err(), "{text:?}");
        }
        let expect = "invalid value \"fd00::7\", must be an IPv6 address in brackets: `[fd00::7]`";
        assert_eq!(address("fd00::7").unwrap_err(), expect);
    }
}
