//! The text of a file that may be compressed with Brotli.

use std::io::{self, Read as _};

use brotli::enc::BrotliEncoderParams;
use brotli::enc::backward_references::BrotliEncoderMode;

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// Whether the file is compressed.
    pub(super) is_compressed: bool,
}

/// The text of a file with these contents, at most `limit` bytes long if it is compressed.
///
/// Names do not say which files are compressed: vt adds `.br`, LBAF keeps `.json`. A text of ours begins with `{`, and no
/// stream of Brotli with contents does: that byte announces an empty one (RFC 7932, section 9.1).
///
/// # Errors
///
/// What is wrong with the contents, and what would be valid.
pub(super) fn decode(bytes: Vec<u8>, limit: usize) -> Result<Decoded, String> {
    let own = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let begins = own.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_compressed = begins != Some(&b'{');
    let contents = if is_compressed {
        decompress(&bytes, limit)?
    } else {
        bytes
    };
    let text = settings::text(contents).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("the text is not UTF-8, from byte {at} on; must be JSON of vt")
    })?;
    Ok(Decoded {
        text,
        is_compressed,
    })
}

fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut contents = Vec::new();
    let read = brotli::Decompressor::new(bytes, BUFFER)
        .take(most)
        .read_to_end(&mut contents);
    if limit < contents.len() {
        return Err(format!(
            "the decompressed text is longer than {limit} bytes, which may be a decompression bomb; if it is not, \
             `brotli -d` makes a file that has no such limit"
        ));
    }
    match read {
        Ok(_) => Ok(contents),
        Err(_) if contents.is_empty() => Err(
            "the contents are neither a JSON object nor compressed with Brotli; must be LB data of vt".to_owned(),
        ),
        Err(_) => Err(format!(
            "the Brotli stream is cut off or damaged after {} bytes of text; must be a whole file of vt",
            contents.len()
        )),
    }
}

/// `text`, compressed as LBAF compresses it.
///
/// # Panics
///
/// Never: a buffer in memory takes everything.
pub(super) fn compress(text: &str) -> Vec<u8> {
    let parameters = BrotliEncoderParams {
        mode: BrotliEncoderMode::BROTLI_MODE_TEXT,
        quality: QUALITY,
        ..BrotliEncoderParams::default()
    };
    let mut compressed = Vec::new();
    let written: io::Result<usize> =
        brotli::BrotliCompress(&mut text.as_bytes(), &mut compressed, &parameters);
    written.expect("a buffer takes everything");
    compressed
}

/// What editors write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of input that the decoder takes in one step.
const BUFFER: usize = 1 << 16;

/// From 0 to 11. Above 9 the time grows tenfold, and files become a few per cent smaller.
const QUALITY: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"type": "LBDatafile", "phases": []}"#;

    #[test]
    fn texts_are_read_compressed_or_not() {
        for (bytes, is_compressed) in [
            (TEXT.as_bytes().to_vec(), false),
            (compress(TEXT), true),
            (format!(" \n{TEXT}").into_bytes(), false),
            (format!("\u{feff}\n{TEXT}").into_bytes(), false),
            (compress(&format!("\u{feff}{TEXT}")), true),
        ] {
            let decoded = decode(bytes, 100).unwrap();
            assert_eq!(decoded.text.trim_start(), TEXT);
            assert_eq!(decoded.is_compressed, is_compressed);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_anywhere_is_refused() {
        let whole = compress(&TEXT.repeat(20));
        for length in 0..whole.len() {
            let fault = decode(whole[..length].to_vec(), 10_000).unwrap_err();
            let is_named = fault.contains("cut off") || fault.contains("neither");
            assert!(is_named, "{length}: {fault}");
        }
    }

    #[test]
    fn a_changed_stream_never_panics() {
        let whole = compress(&TEXT.repeat(20));
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                if let Ok(decoded) = decode(changed, 10_000) {
                    assert!(decoded.text.len() <= 10_000);
                }
            }
        }
    }

    #[test]
    fn the_size_of_the_text_is_limited() {
        let bomb = compress(&" ".repeat(1 << 20));
        assert!(bomb.len() < 100, "{}", bomb.len());
        assert!(decode(bomb.clone(), 1 << 20).is_ok());
        let fault = decode(bomb, (1 << 20) - 1).unwrap_err();
        assert!(fault.contains("longer than 1048575 bytes"), "{fault}");
    }

    #[test]
    fn other_contents_are_refused() {
        for bytes in [&b""[..], b"[1, 2]", b"phases:\n- 1"] {
            let fault = decode(bytes.to_vec(), 100).unwrap_err();
            assert!(fault.contains("neither a JSON object nor"), "{fault}");
        }
        let fault = decode(b"{\"a\xff\"}".to_vec(), 100).unwrap_err();
        assert!(fault.contains("not UTF-8, from byte 3"), "{fault}");
    }
}
