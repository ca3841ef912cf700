//! Arguments of command lines.

/// An argument, quoted for a shell.
pub fn quoted(argument: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%^".contains(&byte);
    match !argument.is_empty() && argument.bytes().all(plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}
