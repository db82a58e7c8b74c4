//! The name of the program in help and errors, which are written with `{bin}` in its place.

use std::fmt::Display;

use clap::Command;

/// `text` with the name of `program`.
pub(crate) fn named(text: impl Display, program: &str) -> String {
    text.to_string().replace(PLACEHOLDER, program)
}

/// `command` with the name of `program` in its help and that of all its subcommands.
pub(crate) fn named_help(mut command: Command, program: &str) -> Command {
    if let Some(text) = command.get_long_about() {
        let text = help(text, program);
        command = command.long_about(text);
    }
    if let Some(text) = command.get_after_help() {
        let text = help(text, program);
        command = command.after_help(text);
    }
    if let Some(text) = command.get_after_long_help() {
        let text = help(text, program);
        command = command.after_long_help(text);
    }
    command
        .mut_args(|argument| match argument.get_help() {
            Some(text) => {
                let text = named(text, program);
                argument.help(text)
            }
            None => argument,
        })
        .mut_subcommands(|subcommand| named_help(subcommand, program))
}

/// The help `text` for users of `program`. Only migbsp has its files and documents beside it.
fn help(text: impl Display, program: &str) -> String {
    let text = text.to_string();
    let lines = text.lines().map(|line| {
        let mut own = named(line, program);
        if program != WITH_FILES {
            own = with_word_for(&own, "conf/", |_| "FILE".to_owned());
            for folder in ["docs/", "README.md"] {
                own = with_word_for(&own, folder, |file| format!("{file} of {WITH_FILES}"));
            }
        }
        aligned(line, own)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `line` with `replace` applied to each name of a file that begins with `start`.
fn with_word_for(line: &str, start: &str, replace: impl Fn(&str) -> String) -> String {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(start) {
        let (before, from) = rest.split_at(at);
        let is_end = |next: char| !next.is_alphanumeric() && !"/_-.*".contains(next);
        let end = from.find(is_end).unwrap_or(from.len());
        let word = from[..end].trim_end_matches('.');
        replaced.push_str(before);
        replaced.push_str(&replace(word));
        rest = &from[word.len()..];
    }
    replaced.push_str(rest);
    replaced
}

/// `own` with its remark in the column where `line` has it, if a remark follows the command.
fn aligned(line: &str, own: String) -> String {
    let remark = |line: &str| {
        let text = line.len() - line.trim_start().len();
        let gap = text + line[text..].find("  ")?;
        let column = gap + line[gap..].find(|next| next != ' ')?;
        Some((gap, column))
    };
    match (remark(line), remark(&own)) {
        (Some((_, column)), Some((gap, own_column))) if own != line => {
            let (command, remark) = (&own[..gap], &own[own_column..]);
            let width = column.saturating_sub(1);
            format!("{command:width$} {remark}")
        }
        _ => own,
    }
}

/// What stands for the name of the program.
const PLACEHOLDER: &str = "{bin}";

/// The program that comes with conf, docs and README.md.
const WITH_FILES: &str = "migbsp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_where_its_place_is_kept_and_nowhere_else() {
        for (written, expected) in [
            ("`{bin} simulate FILE`", "`life simulate FILE`"),
            ("{bin} up -- migbsp", "life up -- migbsp"),
            ("--policy migbsp simulates", "--policy migbsp simulates"),
            ("completions/{bin}.fish", "completions/life.fish"),
            ("größe: {bin} up", "größe: life up"),
        ] {
            assert_eq!(named(written, "life"), expected);
        }
    }

    #[test]
    fn help_names_no_files_that_only_migbsp_has_and_keeps_its_columns() {
        let written = "\
Examples:
  {bin} simulate conf/lbm.toml           one
  {bin} simulate 'conf/dynamic/*.toml'
  {bin} up                               two
See README.md, docs/model.md.";
        let of_life = "\
Examples:
  life simulate FILE                     one
  life simulate 'FILE'
  life up                                two
See README.md of migbsp, docs/model.md of migbsp.";
        let of_migbsp = "\
Examples:
  migbsp simulate conf/lbm.toml          one
  migbsp simulate 'conf/dynamic/*.toml'
  migbsp up                              two
See README.md, docs/model.md.";
        let help = |program| {
            let inner = Command::new("inner").after_help(written);
            let command = named_help(Command::new("any").subcommand(inner), program);
            let inner = command.find_subcommand("inner");
            inner
                .and_then(Command::get_after_help)
                .map(ToString::to_string)
        };
        assert_eq!(help("life").as_deref(), Some(of_life));
        assert_eq!(help("migbsp").as_deref(), Some(of_migbsp));
    }
}
