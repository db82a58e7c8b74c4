//! What all arguments have in common.

/// Takes `-1` after an option for its value, so that the value's parser reports the error.
pub(crate) fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        argument.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(taking_negative_numbers)
}
