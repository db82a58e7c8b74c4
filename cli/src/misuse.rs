//! Hints for command lines that are refused.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use experiments::{Experiment, record};
use settings::nearest;

use crate::command::Command;

/// `error` of `command` on `words`, the arguments without the program, with a hint that fits them. `commands` are those that
/// may be meant where a file has none before it, and those that another build has, each with a hint.
pub(crate) fn explained(
    mut error: clap::Error,
    command: &clap::Command,
    words: &[String],
    (commands, absent): (&[Command], &[(&str, &str)]),
) -> clap::Error {
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let found = text_of(&error, ContextKind::InvalidSubcommand);
            let hint = found.and_then(|found| {
                let absent = absent.iter().find(|(name, _)| *name == found);
                absent
                    .map(|(_, hint)| (*hint).to_owned())
                    .or_else(|| of_topic(command, words, &found))
                    .or_else(|| of_file((command, commands), words, &found))
            });
            if hint.is_some() {
                error.remove(ContextKind::SuggestedSubcommand);
            }
            hint
        }
        ErrorKind::UnknownArgument => {
            let found = text_of(&error, ContextKind::InvalidArg);
            let hint = found.and_then(|found| {
                of_command(command, words, &found).or_else(|| of_option(command, words, &found))
            });
            // An option is hardly ever meant as a value.
            error.remove(ContextKind::Suggested);
            if hint.is_some() {
                error.remove(ContextKind::SuggestedArg);
            }
            hint
        }
        _ => None,
    };
    if let Some(hint) = hint {
        let hints = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hints);
    }
    error
}

fn text_of(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// `help simulte`: the nearest command or topic.
fn of_topic(command: &clap::Command, words: &[String], found: &str) -> Option<String> {
    let at = words.iter().position(|word| word == "help")?;
    let mut parent = command;
    for word in words
        .get(at + 1..)?
        .iter()
        .take_while(|word| *word != found)
    {
        parent = parent.find_subcommand(word)?;
    }
    let names: Vec<&str> = parent
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let nearest = nearest(found, &names)?;
    Some(format!("a similar command or topic exists: '{nearest}'"))
}

/// `migbsp conf/lbm.toml`: the command for such a file.
fn of_file(
    (command, commands): (&clap::Command, &[Command]),
    words: &[String],
    found: &str,
) -> Option<String> {
    let file = Path::new(found);
    let ending = file.extension().and_then(|ending| ending.to_str());
    let of_ending = commands.iter().find_map(|command| {
        let (known, words) = command.opened()?;
        let is_meant = ending.is_some_and(|ending| ending.eq_ignore_ascii_case(known));
        is_meant.then_some(words)
    });
    let meant = match of_ending {
        Some(words) => words,
        None if found == "-" => "simulate",
        None if file.is_dir() && record::find(file).is_ok() => "explain",
        None => return None,
    };
    command.find_subcommand(meant.split(' ').next()?)?;
    let at = words.iter().position(|word| word == found)?;
    let (before, after) = words.split_at(at);
    let words = before.iter().map(String::as_str).chain([meant]);
    let words: Vec<&str> = words.chain(after.iter().map(String::as_str)).collect();
    let program = command.get_name();
    Some(format!("did you mean `{program} {}`?", words.join(" ")))
}

/// `up --local 2 run FILE`: the command has to follow `--`.
fn of_command(command: &clap::Command, words: &[String], found: &str) -> Option<String> {
    let (leaf, _) = leaf(command, words);
    let at = words.iter().position(|word| word == found)?;
    if leaf.get_name() != "up" || found.starts_with('-') {
        return None;
    }
    let (before, after) = words.split_at(at);
    let program = command.get_name();
    let (before, after) = (before.join(" "), after.join(" "));
    Some(format!(
        "put `--` before the command: `{program} {before} -- {after}`"
    ))
}

/// `--json`, `--interval`: the option, or the one or two keys, that have this name.
fn of_option(command: &clap::Command, words: &[String], found: &str) -> Option<String> {
    let name = found.strip_prefix("--")?;
    let (leaf, path) = leaf(command, words);
    if leaf.get_name() == "up" && name.starts_with("dashboard") {
        return Some("it is an option of `run`: put it behind `run FILE`".to_owned());
    }
    let has = |long: &str| {
        leaf.get_arguments()
            .any(|argument| argument.get_long() == Some(long))
    };
    if has("format") && ["table", "json", "csv"].contains(&name) {
        return Some(format!("use `--format {name}`"));
    }
    if !has("set") || has(&format!("{name}s")) {
        return None;
    }
    let key = name.replace('-', "_");
    let keys = Experiment::keys();
    let meant: Vec<String> = keys
        .iter()
        .filter(|known| known.rsplit('.').next() == Some(key.as_str()))
        .map(|known| format!("`--set {known}=VALUE`"))
        .collect();
    if meant.is_empty() || meant.len() > 2 {
        return None;
    }
    let program = command.get_name();
    let meant = meant.join(" or ");
    Some(format!(
        "`{program} {path}` sets keys of the experiment with {meant}"
    ))
}

/// The command that `words` name, and its name with those of the commands above it.
fn leaf<'a>(command: &'a clap::Command, words: &[String]) -> (&'a clap::Command, String) {
    let (mut leaf, mut path) = (command, Vec::new());
    for word in words.iter().take_while(|word| *word != "--") {
        if let Some(subcommand) = leaf.find_subcommand(word) {
            leaf = subcommand;
            path.push(word.as_str());
        }
    }
    (leaf, path.join(" "))
}
