//! Members of an archive.

use crate::error::FootprintError;
use object::read::archive::ArchiveFile;

/// A member: its name and content.
pub(crate) struct Member<'a> {
    pub(crate) name: String,
    pub(crate) bytes: &'a [u8],
}

/// The members that are ELF files; others are noted.
pub(crate) fn members<'a>(
    name: &str,
    bytes: &'a [u8],
    notes: &mut Vec<String>,
) -> Result<Vec<Member<'a>>, FootprintError> {
    let damaged = |error: object::Error| FootprintError::Damaged {
        file: name.to_owned(),
        what: error.to_string(),
    };
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let mut members = Vec::new();
    let mut others = 0_u32;
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let data = member.data(bytes).map_err(damaged)?;
        if data.starts_with(b"\x7fELF") {
            members.push(Member {
                name: crate::names::cut(&String::from_utf8_lossy(member.name())),
                bytes: data,
            });
        } else {
            others += 1;
        }
    }
    if others > 0 {
        notes.push(format!(
            "{name}: {others} members are not ELF files and are left out, as `size` does"
        ));
    }
    Ok(members)
}
