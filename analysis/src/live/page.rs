//! A page about a run that goes on.

use std::collections::VecDeque;
use std::sync::Arc;

use agents::record::{Call, Event, Superstep};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::text::duration;
use experiments::{PreparedExperiment, Scenario};

/// A page about a run that goes on: how far it is, where its processes are, and its last calls.
#[derive(Clone, Debug)]
pub struct RunPage {
    names: Arc<Names>,
    /// The host of every process, by rank.
    placement: Vec<usize>,
    /// The superstep that has ended last.
    last: Option<Superstep>,
    /// The latest calls, the last one first.
    calls: VecDeque<Call>,
    has_ended: bool,
}

/// What does not change.
#[derive(Debug)]
struct Names {
    title: String,
    hosts: Vec<String>,
    supersteps: Option<u64>,
}

impl RunPage {
    /// The page before the run.
    pub fn new(prepared: &PreparedExperiment, scenario: Scenario) -> Self {
        let application = &prepared.loaded.experiment.application;
        let hosts = prepared.platform.hosts().iter();
        let placement = prepared.placement.iter().map(|host| host.index());
        Self {
            names: Arc::new(Names {
                title: format!("{}, scenario {}", application.workload, scenario.name()),
                hosts: hosts.map(|host| host.name.clone()).collect(),
                supersteps: application.supersteps,
            }),
            placement: placement.collect(),
            last: None,
            calls: VecDeque::new(),
            has_ended: false,
        }
    }

    /// Handles an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => self.last = Some(*superstep),
            Event::Moved(moved) => {
                if let Some(host) = self.placement.get_mut(moved.rank.index()) {
                    *host = moved.host.index();
                }
            }
            Event::Call(call) => {
                self.calls.push_front((**call).clone());
                self.calls.truncate(CALLS_MAX);
            }
            Event::End(_) => self.has_ended = true,
            _ => {}
        }
    }

    /// The page, which loads the script at the path `script`.
    pub fn html(&self, script: &str) -> String {
        let names = &self.names;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    title { (names.title) }
                    style { (PreEscaped(STYLE)) }
                    script src=(script) defer {}
                }
                body {
                    h1 { (names.title) }
                    p id="progress" { (self.progress()) }
                    (self.hosts())
                    (self.latest_calls())
                }
            }
        };
        page.into_string()
    }

    fn progress(&self) -> String {
        let Some(last) = &self.last else {
            return "No superstep has ended yet.".to_owned();
        };
        let done = last.index + 1;
        let of = self
            .names
            .supersteps
            .map_or_else(String::new, |all| format!(" of {all}"));
        let took = duration((last.ended - last.started).get());
        let end = if self.has_ended {
            " The run has ended."
        } else {
            ""
        };
        format!("{done}{of} supersteps have ended, the last one in {took}.{end}")
    }

    fn hosts(&self) -> Markup {
        let count = |host| {
            self.placement
                .iter()
                .filter(|there| **there == host)
                .count()
        };
        html! {
            table {
                thead { tr { th { "host" } th { "processes" } } }
                tbody {
                    @for (host, name) in self.names.hosts.iter().enumerate() {
                        tr { td { (name) } td { (count(host)) } }
                    }
                }
            }
        }
    }

    fn latest_calls(&self) -> Markup {
        let host = |host: bsp::HostId| {
            self.names
                .hosts
                .get(host.index())
                .map_or("?", String::as_str)
        };
        html! {
            @for call in &self.calls {
                details id=(format!("call-{}", call.superstep)) {
                    summary { "Call after superstep " (call.superstep) ": " (call.migrations.len()) " moves" }
                    ul {
                        @for moved in &call.migrations {
                            li { (moved.rank) ": " (host(moved.from)) " to " (host(moved.to)) }
                        }
                    }
                }
            }
        }
    }
}

const CALLS_MAX: usize = 50;

const STYLE: &str = "body{font:1rem system-ui,sans-serif;max-width:60rem;margin:2rem auto}td,th{padding:0 1rem;text-align:left}";
