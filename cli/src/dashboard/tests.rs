use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use bsp::Rank;
use bsp::units::{Instant as SimulatedTime, Seconds};
use record::Superstep;

use super::*;

/// A page that counts supersteps.
#[derive(Clone)]
struct Count {
    supersteps: u64,
    /// Bytes of the page in addition.
    padding: usize,
    /// How long it takes to render.
    takes: Duration,
}

impl LivePage for Count {
    const SCRIPT: &'static str = "";

    fn observe(&mut self, event: &Event) {
        self.supersteps += u64::from(matches!(event, Event::Superstep(_)));
    }

    fn html(self) -> Result<String, Failure> {
        thread::sleep(self.takes);
        let padding = " ".repeat(self.padding);
        Ok(format!("<p>{} supersteps</p>{padding}", self.supersteps))
    }
}

const SMALL: Count = Count {
    supersteps: 0,
    padding: 0,
    takes: Duration::ZERO,
};

fn serving(page: Count, bounds: Bounds) -> (Dashboard<Count>, SocketAddr) {
    let address: DashboardAddress = "127.0.0.1:0".parse().unwrap();
    let listening = Listening::at(&address).unwrap();
    let address = listening.listener.local_addr().unwrap();
    (listening.serve_within(page, bounds).unwrap(), address)
}

fn superstep(index: u64) -> Event {
    Event::Superstep(Superstep {
        index,
        started: SimulatedTime::START,
        ended: SimulatedTime::START,
        slowest: Rank(0),
        computation: Seconds::ZERO,
        mean: None,
        took: None,
        messages: 0,
        notes: bsp::Notes::default(),
    })
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(EVER)).unwrap();
    stream
}

/// A connection on which `request`, the first line, has been sent.
fn asking(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = connected(address);
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    stream
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

/// How long the server keeps `stream` open, without a response.
fn closed_after(mut stream: &TcpStream) -> Duration {
    let began = Instant::now();
    while stream.read(&mut [0; 4096]).is_ok_and(|count| 0 < count) {}
    began.elapsed()
}

fn quick() -> Bounds {
    Bounds {
        news: Duration::from_millis(20),
        // What has to end sooner does not do so because of these.
        head_time: 4 * EVER,
        connection_time: 4 * EVER,
        last_view: 4 * EVER,
        ..Bounds::default()
    }
}

/// More than any machine needs for what has no reason to take long.
const EVER: Duration = Duration::from_secs(30);

#[test]
fn viewers_learn_of_news_and_of_the_end() {
    let (dashboard, address) = serving(SMALL, quick());
    let mut viewers = [(); 3].map(|()| asking(address, "GET /events"));
    for viewer in &mut viewers {
        until(viewer, "data: 0\n\n");
    }
    dashboard.observe(&superstep(0));
    for viewer in &mut viewers {
        until(viewer, "data: 1\n\n");
    }
    until(&mut asking(address, "GET /"), "<p>1 supersteps</p>");
    let ending = thread::spawn(move || {
        let began = Instant::now();
        dashboard.observe(&superstep(1));
        dashboard.finish("\"It\"\nis complete.");
        began.elapsed()
    });
    for mut viewer in viewers {
        until(
            &mut viewer,
            "event: end\ndata: \"\\\"It\\\"\\nis complete.\"\n\n",
        );
        until(&mut asking(address, "GET /"), "<p>2 supersteps</p>");
    }
    // All have left.
    assert!(ending.join().unwrap() < EVER);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn news_are_few_however_many_events_there_are() {
    let (dashboard, address) = serving(SMALL, Bounds::default());
    let mut viewer = asking(address, "GET /events");
    until(&mut viewer, "data: 0\n\n");
    let began = Instant::now();
    let mut index = 0;
    while began.elapsed() < Duration::from_millis(1200) {
        dashboard.observe(&superstep(index));
        index += 1;
        thread::sleep(Duration::from_millis(1));
    }
    let ending = thread::spawn(move || dashboard.finish("It is complete."));
    let text = until(&mut viewer, "event: end");
    let news = text.matches("\n\n").count() - 1;
    assert!((1..=3).contains(&news), "{text}");
    drop(viewer);
    ending.join().unwrap();
}

#[test]
fn a_page_is_rendered_for_all_viewers_together_and_no_more_often_than_a_hundredth_of_the_time() {
    let page = Count {
        takes: Duration::from_millis(10),
        ..SMALL
    };
    let (dashboard, address) = serving(page, quick());
    dashboard.observe(&superstep(0));
    until(&mut asking(address, "GET /"), "<p>1 supersteps</p>");
    for index in 1..5 {
        dashboard.observe(&superstep(index));
        // It has been rendered less than a second before.
        until(&mut asking(address, "GET /"), "<p>1 supersteps</p>");
    }
    let mut viewer = asking(address, "GET /events");
    until(&mut viewer, "data: 1\n\n");
    // Once it may be rendered again, viewers learn of it.
    until(&mut viewer, "data: 5\n\n");
    until(&mut asking(address, "GET /"), "<p>5 supersteps</p>");
}

#[test]
fn viewers_and_connections_have_a_limit() {
    let bounds = Bounds {
        viewers: 2,
        connections: 4,
        ..quick()
    };
    let (_dashboard, address) = serving(SMALL, bounds);
    let mut viewers = [(); 2].map(|()| asking(address, "GET /events"));
    for viewer in &mut viewers {
        until(viewer, "data: 0\n\n");
    }
    let mut third = asking(address, "GET /events");
    until(&mut third, "503 Service Unavailable");
    let fourth = connected(address);
    let fifth = connected(address);
    assert!(closed_after(&fifth) < EVER);
    drop((fourth, third));
    let [first, second] = viewers;
    drop(first);
    // The place of a viewer that has left is free again.
    let began = Instant::now();
    let is_free = || {
        let mut next = asking(address, "GET /events");
        let mut status = [0; 12];
        next.read_exact(&mut status).is_ok() && status.ends_with(b"200")
    };
    while !is_free() {
        assert!(began.elapsed() < EVER, "no place is free");
    }
    drop(second);
}

#[test]
fn connections_on_which_nothing_is_asked_or_read_are_closed() {
    let bounds = Bounds {
        head_time: Duration::from_millis(200),
        connection_time: Duration::from_millis(400),
        last_response_time: Duration::from_millis(200),
        stream_time: Duration::from_millis(300),
        ..quick()
    };
    let page = Count {
        // More than the buffers of the system.
        padding: 16 << 20,
        ..SMALL
    };
    let (dashboard, address) = serving(page, bounds);
    let silent = connected(address);
    let mut slow = connected(address);
    slow.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    let deaf = asking(address, "GET /");
    let viewer = asking(address, "GET /events");
    assert!(closed_after(&silent) < EVER);
    assert!(closed_after(&slow) < EVER);
    assert!(closed_after(&viewer) < EVER);
    // Its connection is gone, although it has read nothing.
    thread::sleep(Duration::from_millis(700));
    let began = Instant::now();
    dashboard.finish("It is complete.");
    assert!(began.elapsed() < EVER, "{:?}", began.elapsed());
    drop(deaf);
}

#[test]
fn a_viewer_that_does_not_leave_delays_the_end_for_a_limited_time() {
    let bounds = Bounds {
        last_view: Duration::from_millis(200),
        ..quick()
    };
    let (dashboard, address) = serving(SMALL, bounds);
    let mut viewer = asking(address, "GET /events");
    until(&mut viewer, "data: 0\n\n");
    let began = Instant::now();
    dashboard.finish("It is complete.");
    let took = began.elapsed();
    assert!(
        Duration::from_millis(200) <= took && took < EVER,
        "{took:?}"
    );
    // The stream is whole: it has its last chunk.
    let mut rest = String::new();
    viewer.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn a_dashboard_that_is_dropped_serves_nothing() {
    let (dashboard, address) = serving(SMALL, quick());
    until(&mut asking(address, "GET /"), "<p>0 supersteps</p>");
    drop(dashboard);
    let began = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < EVER);
    }
}
