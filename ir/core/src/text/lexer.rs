//! Splits the text format into tokens.

use super::is_word_char;

/// A piece of text.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// Letters, digits, `_ . $`; the first is no digit.
    Word(String),
    /// `"..."`.
    Quoted(String),
    /// A number without sign.
    Number(u64),
    /// Any other character.
    Sign(char),
    /// `->`.
    Arrow,
    /// The end of the text.
    End,
}

impl Token {
    /// For messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Word(w) => format!("`{w}`"),
            Token::Quoted(w) => format!("{w:?}"),
            Token::Number(n) => format!("number {n:#x}"),
            Token::Sign(c) => format!("`{c}`"),
            Token::Arrow => "`->`".to_string(),
            Token::End => "end of text".to_string(),
        }
    }
}

/// A token and where it starts.
#[derive(Clone, Debug)]
pub(super) struct Spanned {
    pub token: Token,
    pub line: u32,
    pub column: u32,
}

/// Splits `text`; an error is a message and where it is.
pub(super) fn lex(text: &str) -> Result<Vec<Spanned>, (String, u32, u32)> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    let (mut line, mut column) = (1u32, 1u32);
    while let Some(&c) = chars.peek() {
        let (start_line, start_column) = (line, column);
        let fail = |message: &str| Err((message.to_string(), start_line, start_column));
        chars.next();
        column += 1;
        let token = match c {
            '\n' => {
                line += 1;
                column = 1;
                continue;
            }
            c if c.is_whitespace() => continue,
            ';' => {
                while chars.next_if(|&c| c != '\n').is_some() {
                    column += 1;
                }
                continue;
            }
            '"' => {
                let mut name = String::new();
                loop {
                    column += 1;
                    match chars.next() {
                        None | Some('\n') => return fail("string without end"),
                        Some('"') => break,
                        Some('\\') => {
                            column += 1;
                            match chars.next() {
                                Some(c @ ('"' | '\\')) => name.push(c),
                                Some('{') => {
                                    let mut digits = String::new();
                                    while let Some(c) = chars.next_if(char::is_ascii_hexdigit) {
                                        digits.push(c);
                                        column += 1;
                                    }
                                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                                    match (code, chars.next()) {
                                        (Some(c), Some('}')) => name.push(c),
                                        _ => return fail("bad escape in string"),
                                    }
                                    column += 1;
                                }
                                _ => return fail("bad escape in string"),
                            }
                        }
                        Some(c) => name.push(c),
                    }
                }
                Token::Quoted(name)
            }
            '-' if chars.next_if_eq(&'>').is_some() => {
                column += 1;
                Token::Arrow
            }
            c if is_word_char(c) => {
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|&c| is_word_char(c)) {
                    word.push(c);
                    column += 1;
                }
                if c.is_ascii_digit() {
                    let value = match word.strip_prefix("0x") {
                        Some(hex) => u64::from_str_radix(hex, 16),
                        None => word.parse(),
                    };
                    match value {
                        Ok(n) => Token::Number(n),
                        Err(_) => return fail(&format!("`{word}` is no number of 64 bits")),
                    }
                } else {
                    Token::Word(word)
                }
            }
            c => Token::Sign(c),
        };
        out.push(Spanned { token, line: start_line, column: start_column });
    }
    out.push(Spanned { token: Token::End, line, column });
    Ok(out)
}
