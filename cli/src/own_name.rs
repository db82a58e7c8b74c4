//! The name of the program in texts that are written for `migbsp`.

use std::borrow::Cow;

use clap::Command;

/// The name of this program, for texts that name commands of `migbsp`: a user's program has the same commands.
#[derive(Clone, Debug)]
pub(crate) struct OwnName {
    program: &'static str,
    commands: Vec<String>,
}

impl OwnName {
    /// The name `program`, which has the subcommands of `command`.
    pub(crate) fn new(program: &'static str, command: &Command) -> Self {
        let commands = command.get_subcommands().map(Command::get_name);
        Self {
            program,
            commands: commands.chain(["help"]).map(str::to_owned).collect(),
        }
    }

    /// `text` with this program in the place of `migbsp`, wherever a command follows.
    pub(crate) fn in_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.program == WRITTEN {
            return Cow::Borrowed(text);
        }
        let mut own = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(WRITTEN) {
            let (before, from) = rest.split_at(at);
            let after = &from[WRITTEN.len()..];
            let begins =
                !before.ends_with(|last: char| last.is_alphanumeric() || "/_-.".contains(last));
            own.push_str(before);
            own.push_str(if begins && self.is_command(after) {
                self.program
            } else {
                WRITTEN
            });
            rest = after;
        }
        own.push_str(rest);
        Cow::Owned(own)
    }

    /// `command` with this name in the help of all its subcommands.
    pub(crate) fn in_help(&self, mut command: Command) -> Command {
        if self.program == WRITTEN {
            return command;
        }
        let own = |text: Option<String>| text.map(|text| self.help(&text));
        let texts = |text: Option<&clap::builder::StyledStr>| own(text.map(ToString::to_string));
        if let Some(text) = texts(command.get_long_about()) {
            command = command.long_about(text);
        }
        if let Some(text) = texts(command.get_after_help()) {
            command = command.after_help(text);
        }
        if let Some(text) = texts(command.get_after_long_help()) {
            command = command.after_long_help(text);
        }
        let names = command
            .get_subcommands()
            .map(|sub| sub.get_name().to_owned());
        for name in names.collect::<Vec<_>>() {
            command = command.mut_subcommand(name, |sub| self.in_help(sub));
        }
        command
    }

    /// The help `text` for a user of this program without the files and documents of migbsp.
    fn help(&self, text: &str) -> String {
        let lines = text.lines().map(|line| {
            let line_of_own = self.in_text(line);
            let mut own = with_word_for(&line_of_own, "conf/", |_| "FILE".to_owned());
            for folder in ["docs/", "README.md"] {
                own = with_word_for(&own, folder, |file| format!("{file} of {WRITTEN}"));
            }
            for file in ["completions/", "_"] {
                own = own.replace(
                    &format!("{file}{WRITTEN}"),
                    &format!("{file}{}", self.program),
                );
            }
            aligned(line, own)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether `after` begins with a blank and a command.
    fn is_command(&self, after: &str) -> bool {
        let word = after.strip_prefix(' ').unwrap_or_default();
        let end = word.find(|next: char| !next.is_ascii_lowercase() && next != '-');
        let word = &word[..end.unwrap_or(word.len())];
        self.commands.iter().any(|command| command == word)
    }
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

/// The program that texts are written for.
const WRITTEN: &str = "migbsp";

#[cfg(test)]
mod tests {
    use super::*;

    fn life() -> OwnName {
        let command =
            Command::new("any").subcommands(["simulate", "up", "exit-codes"].map(Command::new));
        OwnName::new("life", &command)
    }

    #[test]
    fn commands_get_the_name_of_the_program_and_nothing_else_does() {
        for (written, expected) in [
            ("`migbsp simulate FILE`", "`life simulate FILE`"),
            ("migbsp up -- migbsp", "life up -- migbsp"),
            ("migbsp help exit-codes", "life help exit-codes"),
            ("--policy migbsp simulates", "--policy migbsp simulates"),
            ("~/.config/migbsp up", "~/.config/migbsp up"),
            ("migbsp <= none, migbsp", "migbsp <= none, migbsp"),
            ("größe: migbsp up", "größe: life up"),
        ] {
            assert_eq!(life().in_text(written), expected);
        }
    }

    #[test]
    fn help_names_no_files_that_only_migbsp_has_and_keeps_its_columns() {
        let written = "\
Examples:
  migbsp simulate conf/lbm.toml          one
  migbsp simulate 'conf/dynamic/*.toml'
  migbsp up                              two
See README.md, docs/model.md.";
        let expected = "\
Examples:
  life simulate FILE                     one
  life simulate 'FILE'
  life up                                two
See README.md of migbsp, docs/model.md of migbsp.";
        assert_eq!(life().help(written), expected);
        let migbsp = OwnName::new("migbsp", &Command::new("any"));
        let command = Command::new("any").after_help(written);
        let help = migbsp
            .in_help(command)
            .get_after_help()
            .map(ToString::to_string);
        assert_eq!(help.as_deref(), Some(written));
    }
}
