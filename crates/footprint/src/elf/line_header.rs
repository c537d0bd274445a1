//! Whether the header of a line table can be read in bounded memory.
//!
//! Its lists say how many entries they have, and an entry may be of a form that takes no byte: a few bytes can so ask for
//! more names than any memory holds. Such headers, and those longer than any compiler writes, are refused before they
//! are read.
//!
//! # References
//! - DWARF 5 §6.2.4, §6.2.4.1

use gimli::{EndianSlice, Format, Reader as _, RunTimeEndian, constants as dw};

/// Maximum header length; that of a large C++ source has some ten thousand bytes.
const MAX_HEADER: u64 = 1 << 20;

/// Whether each entry of the header at the start of `line` takes at least one byte.
pub(super) fn is_bounded(line: EndianSlice<'_, RunTimeEndian>) -> bool {
    check(line).unwrap_or(false)
}

fn check(mut line: EndianSlice<'_, RunTimeEndian>) -> gimli::Result<bool> {
    let (_, format) = line.read_initial_length()?;
    let version = line.read_u16()?;
    if version >= 5 {
        // Address size and segment selector size.
        line.skip(2)?;
    }
    if u64::try_from(line.read_length(format)?).is_ok_and(|length| length > MAX_HEADER) {
        return Ok(false);
    }
    if version < 5 {
        // Entries are strings.
        return Ok(true);
    }
    // Instruction length, operations, statement default, line base and range.
    line.skip(5)?;
    let opcodes = line.read_u8()?;
    line.skip(usize::from(opcodes.saturating_sub(1)))?;
    let Some(folder) = path_form(&mut line)? else {
        return Ok(false);
    };
    for _ in 0..line.read_uleb128()? {
        skip_text(&mut line, folder, format)?;
    }
    Ok(path_form(&mut line)?.is_some())
}

/// Reads the format of a list's entries; returns the form of their path field, if that is text.
fn path_form(line: &mut EndianSlice<'_, RunTimeEndian>) -> gimli::Result<Option<gimli::DwForm>> {
    let mut found = None;
    for _ in 0..line.read_u8()? {
        let content = line.read_uleb128()?;
        let form = gimli::DwForm(line.read_uleb128_u16()?);
        if content == u64::from(dw::DW_LNCT_path.0) && is_text(form) {
            found = Some(form);
        }
    }
    Ok(found)
}

const fn is_text(form: gimli::DwForm) -> bool {
    matches!(
        form,
        dw::DW_FORM_string
            | dw::DW_FORM_line_strp
            | dw::DW_FORM_strp
            | dw::DW_FORM_udata
            | dw::DW_FORM_strx
    )
}

fn skip_text(
    line: &mut EndianSlice<'_, RunTimeEndian>,
    form: gimli::DwForm,
    format: Format,
) -> gimli::Result<()> {
    match form {
        dw::DW_FORM_string => line.read_null_terminated_slice().map(|_| ()),
        dw::DW_FORM_line_strp | dw::DW_FORM_strp => line.skip(usize::from(format.word_size())),
        _ => line.read_uleb128().map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of version 5 whose folders and files have paths of these forms.
    fn header(folder: u8, file: u8) -> Vec<u8> {
        let mut bytes = vec![0x40, 0, 0, 0, 5, 0, 8, 0, 0x30, 0, 0, 0, 1, 1, 1, 0, 1, 1];
        bytes.extend([1, 1, folder, 1, b'a', 0, 0, 0]);
        if u16::from(folder) == dw::DW_FORM_string.0 {
            bytes.truncate(bytes.len() - 2);
        }
        bytes.extend([
            1, 1, file, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
        ]);
        bytes
    }

    fn check(bytes: &[u8]) -> bool {
        is_bounded(EndianSlice::new(bytes, RunTimeEndian::Little))
    }

    #[test]
    fn entries_without_bytes_are_refused() {
        assert!(check(&header(0x08, 0x08)));
        assert!(check(&header(0x1f, 0x1f)));
        assert!(!check(&header(0x08, 0x19)));
        assert!(!check(&header(0x19, 0x08)));
        assert!(!check(&header(0x08, 0x08)[..20]));
    }

    #[test]
    fn a_header_longer_than_any_is_refused() {
        let mut bytes = header(0x08, 0x08);
        bytes[8..12].copy_from_slice(&[0xff, 0xff, 0xff, 0x0f]);
        assert!(!check(&bytes));
    }
}
