//! From a stream's name, which may be any text, to a file name that is safe on every system.

/// Longer names are cut; file systems end at 255 bytes.
const MAX_BYTES: usize = 150;

/// The file name for the stream `name`: different for different names, never a path, never hidden, never
/// `_metadata`, and different also where file systems ignore case.
///
/// Lower-case letters, digits, `-`, `_` and `.` stay; every other byte becomes `%` and two hexadecimal digits. What
/// would be too long is cut and ends in `~` and a 128-bit hash of the whole name.
pub(super) fn state_file_name(name: &str) -> String {
    let escaped: String = name.bytes().map(escape).collect();
    if escaped.len() <= MAX_BYTES {
        return format!("state-{escaped}");
    }
    // Only ASCII is in there, so that any cut is between characters.
    let start: String = escaped.chars().take(MAX_BYTES - 33).collect();
    format!("state-{start}~{:032x}", fnv1a_128(name.as_bytes()))
}

fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    }
}

/// FNV-1a, 128 bits (draft-eastlake-fnv).
fn fnv1a_128(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(state_file_name("sum-0"), "state-sum-0");
        assert_eq!(
            state_file_name("sum-0.000008.sst"),
            "state-sum-0.000008.sst"
        );
    }

    #[test]
    fn nothing_escapes_the_folder() {
        assert_eq!(
            state_file_name("../../etc/passwd"),
            "state-..%2f..%2fetc%2fpasswd"
        );
        assert_eq!(state_file_name("Σ\\\0"), "state-%ce%a3%5c%00");
    }

    #[test]
    fn fnv_agrees_with_its_published_vectors() {
        assert_eq!(fnv1a_128(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    proptest::proptest! {
        /// Catches an escape that forgets its own escape character, or a cut without a hash.
        #[test]
        fn different_names_get_different_files(
            left in "(.{0,6}|[a-zA-Z%~/.]{0,4}|[aB/]{100,300})",
            right in "(.{0,6}|[a-zA-Z%~/.]{0,4}|[aB/]{100,300})",
        ) {
            let (file, other) = (state_file_name(&left), state_file_name(&right));
            proptest::prop_assert_eq!(left == right, file.eq_ignore_ascii_case(&other));
            proptest::prop_assert!(file.len() <= 160);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.%~".contains(c);
            proptest::prop_assert!(file.chars().all(plain), "{}", file);
        }
    }
}
