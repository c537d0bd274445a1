//! What a program consists of, in words.

use crate::program::{Action, Array, KeyField, Program, Table};
use std::fmt;

/// A program as a page of text: headers, parser, tables in the order of the pipelines, arrays.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a>(pub &'a Program);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.0;
        let name = program.name.as_deref().unwrap_or("program");
        let version = program.version.map_or_else(
            || "without a version".to_owned(),
            |(major, minor)| format!("{major}.{minor}"),
        );
        let headers = program.headers.iter().filter(|header| !header.metadata);
        writeln!(f, "{name}: v1model, BMv2 JSON {version}")?;
        writeln!(
            f,
            "{} headers, {} parser states, {} tables, {} actions; {} B per packet beside its bytes",
            headers.clone().count(),
            program.states.len(),
            program.tables.len(),
            program.actions.len(),
            program.words * 8 + program.varbits,
        )?;
        writeln!(f, "\nheaders")?;
        for header in headers {
            let fields = header.fields().filter(|(name, _)| !name.starts_with('$'));
            let field = |(name, width): (&str, Option<u32>)| {
                width.map_or_else(|| format!("{name}:*"), |width| format!("{name}:{width}"))
            };
            writeln!(
                f,
                "  {}: {}",
                header.name,
                fields.map(field).collect::<Vec<_>>().join(" ")
            )?;
        }
        writeln!(f, "\nparser")?;
        for state in &program.states {
            let name = |next: Option<u32>| {
                next.map_or("accept", |next| program.states[next as usize].name.as_str())
            };
            let mut next: Vec<_> = state.cases.iter().map(|case| name(case.next())).collect();
            next.push(name(state.default));
            next.dedup();
            writeln!(f, "  {} -> {}", state.name, next.join(", "))?;
        }
        let (ingress, egress) = program.tables.split_at(program.ingress_tables);
        tables(f, program, "ingress", ingress)?;
        tables(f, program, "egress", egress)?;
        arrays(f, "counters", &program.counters)?;
        arrays(f, "meters", &program.meters)?;
        arrays(f, "registers", &program.registers)?;
        for profile in &program.profiles {
            let kind = if profile.selector.is_some() {
                "action selector"
            } else {
                "action profile"
            };
            writeln!(f, "{kind} {}: {} members", profile.name, profile.size)?;
        }
        for set in &program.value_sets {
            writeln!(f, "value set {}: {} bits", set.name, set.width)?;
        }
        Ok(())
    }
}

fn tables(
    f: &mut fmt::Formatter<'_>,
    program: &Program,
    title: &str,
    tables: &[Table],
) -> fmt::Result {
    if tables.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    for table in tables {
        // Tables without a key stand for statements of the program; they hold nothing.
        let size = match (table.key.is_empty(), table.constant) {
            (true, _) => String::new(),
            (false, true) => format!(", {} constant entries", table.entries.len()),
            (false, false) => format!(", {} entries", table.size),
        };
        let key: Vec<_> = table.key.iter().map(field).collect();
        writeln!(f, "  {} ({}){size}", table.name, key.join(", "))?;
        for action in &table.actions {
            writeln!(f, "    {}", call(&program.actions[*action as usize]))?;
        }
    }
    Ok(())
}

fn field(field: &KeyField) -> String {
    let kind = field.kind.as_str();
    format!("{}:{} {kind}", field.name, field.width)
}

fn call(action: &Action) -> String {
    let parameters = action
        .parameters()
        .map(|(name, width)| format!("{name}:{width}"));
    format!(
        "{}({})",
        action.name,
        parameters.collect::<Vec<_>>().join(", ")
    )
}

fn arrays(f: &mut fmt::Formatter<'_>, title: &str, arrays: &[Array]) -> fmt::Result {
    if arrays.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    for array in arrays {
        match &array.table {
            Some(table) => writeln!(f, "  {}: of table {table}", array.name)?,
            None => writeln!(f, "  {}: {} cells", array.name, array.size)?,
        }
    }
    Ok(())
}
