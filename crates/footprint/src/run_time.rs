//! Memory that a network stack used at run time, compared with what the build reserves for it.
//!
//! Compared are RAM laid out by the linker (`static`), the pool as the stack sees it (`capacity`), and its peak use
//! (`peak`): memory never used could be saved.

use linerate_model::footprint::{
    Footprint, FootprintNode, NodeKind, RunTimeMemory, RunTimePool, SectionPlace, StaticMemory,
};
use linerate_model::stack::StackReport;

/// Pools in the reports of runs, merged per stack and options: the maximum of any run.
pub fn gather<'a>(reports: impl IntoIterator<Item = &'a StackReport>) -> Vec<RunTimeMemory> {
    let mut found: Vec<RunTimeMemory> = Vec::new();
    for report in reports
        .into_iter()
        .filter(|report| !report.counts.pools.is_empty())
    {
        let is_of =
            |known: &RunTimeMemory| known.stack == report.stack && known.options == report.options;
        let at = found.iter().position(is_of).unwrap_or_else(|| {
            found.push(RunTimeMemory {
                stack: report.stack.clone(),
                options: report.options.clone(),
                runs: 0,
                pools: Vec::new(),
            });
            found.len() - 1
        });
        found[at].runs += 1;
        for pool in &report.counts.pools {
            let (peak, capacity) = (pool.peak_bytes(), pool.capacity_bytes());
            match found[at]
                .pools
                .iter_mut()
                .find(|known| known.name == pool.name)
            {
                Some(known) => {
                    known.peak = known.peak.max(peak);
                    known.capacity = known.capacity.max(capacity);
                    known.failures = known.failures.saturating_add(pool.failures);
                }
                None => found[at].pools.push(RunTimePool {
                    name: pool.name.clone(),
                    set_aside: None,
                    capacity,
                    peak,
                    failures: pool.failures,
                }),
            }
        }
    }
    found
}

/// Adds run-time use to the build's symbols that hold the pools.
pub fn set_beside(footprint: &mut Footprint, mut measured: Vec<RunTimeMemory>) {
    let sections = footprint.regions.iter().flat_map(|region| &region.sections);
    let used =
        sections.filter(|section| section.place == SectionPlace::Run && section.class.is_in_ram());
    let parts: Vec<&FootprintNode> = used.flat_map(|section| &section.parts).collect();
    for pool in measured.iter_mut().flat_map(|memory| &mut memory.pools) {
        let names = symbols(&pool.name);
        pool.set_aside = symbol(&parts, &names).map(|node| StaticMemory {
            symbol: node.name.clone(),
            size: node.size,
        });
    }
    footprint.run_time = measured;
}

/// Possible names of a pool's variable: the pool's, or lwIP's form.
fn symbols(pool: &str) -> Vec<String> {
    let mut names = vec![pool.to_owned(), format!("memp_memory_{pool}_base")];
    match pool {
        "heap" => names.push("ram_heap".to_owned()),
        // The stack's description of this pool differs from its source name.
        "PBUF_REF/ROM" => names.push("memp_memory_PBUF_base".to_owned()),
        _ => {}
    }
    names
}

fn symbol<'a>(parts: &[&'a FootprintNode], names: &[String]) -> Option<&'a FootprintNode> {
    parts.iter().find_map(|part| {
        if part.kind == NodeKind::Symbol && names.contains(&part.name) {
            return Some(*part);
        }
        symbol(&part.parts.iter().collect::<Vec<_>>(), names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::ByteCount;
    use linerate_model::footprint::{
        FigureSource, FootprintRegion, FootprintSection, SectionClass,
    };
    use linerate_model::stack::{StackCounts, StackPool};

    fn report(options: &[(&str, &str)], pools: &[(&str, u64)]) -> StackReport {
        let pool = |(name, peak): &(&str, u64)| StackPool {
            name: (*name).to_owned(),
            peak: *peak,
            capacity: 16,
            unit_bytes: ByteCount::new(100),
            failures: 1,
        };
        let named = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        StackReport {
            stack: "lwip".to_owned(),
            options: options.iter().map(named).collect(),
            usual: std::collections::BTreeMap::new(),
            counts: StackCounts {
                pools: pools.iter().map(pool).collect(),
                ..StackCounts::default()
            },
        }
    }

    fn node(name: &str, kind: NodeKind, size: u64, parts: Vec<FootprintNode>) -> FootprintNode {
        FootprintNode {
            name: name.to_owned(),
            kind,
            size: ByteCount::new(size),
            source: FigureSource::ElfSymbol,
            parts,
        }
    }

    fn build() -> Footprint {
        let symbols = vec![
            node(
                "memp_memory_PBUF_POOL_base",
                NodeKind::Symbol,
                1603,
                Vec::new(),
            ),
            node("ram_heap", NodeKind::Symbol, 16_403, Vec::new()),
        ];
        let section = FootprintSection {
            name: ".bss".to_owned(),
            class: SectionClass::Bss,
            place: SectionPlace::Run,
            size: ByteCount::new(18_006),
            source: FigureSource::ElfSection,
            parts: vec![node("memp.c", NodeKind::SourcePath, 18_006, symbols)],
        };
        Footprint {
            regions: vec![FootprintRegion {
                name: "RAM".to_owned(),
                size: ByteCount::new(18_006),
                capacity: None,
                sections: vec![section],
            }],
            ..Footprint::default()
        }
    }

    #[test]
    fn runs_of_one_stack_are_one_row_with_the_most_that_any_used() {
        let base = [("buffers", "base")];
        let all = [
            report(&base, &[("PBUF_POOL", 3), ("heap", 7)]),
            report(&base, &[("PBUF_POOL", 9), ("heap", 2)]),
            report(&[], &[("PBUF_POOL", 1)]),
            report(&[], &[]),
        ];
        let found = gather(&all);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].runs, 2);
        let pools = &found[0].pools;
        let peaks: Vec<_> = pools.iter().map(|pool| pool.peak.get()).collect();
        assert_eq!(peaks, [900, 700]);
        assert_eq!((pools[0].capacity.get(), pools[0].failures), (1600, 2));
    }

    #[test]
    fn a_pool_stands_beside_the_variable_that_holds_it() {
        let mut footprint = build();
        let pools = [("PBUF_POOL", 9), ("heap", 2), ("TCP_PCB", 1)];
        set_beside(&mut footprint, gather(&[report(&[], &pools)]));
        let pools = &footprint.run_time[0].pools;
        let beside: Vec<_> = pools
            .iter()
            .map(|pool| {
                pool.set_aside
                    .as_ref()
                    .map(|of| (of.symbol.as_str(), of.size.get()))
            })
            .collect();
        let first = Some(("memp_memory_PBUF_POOL_base", 1603));
        assert_eq!(beside, [first, Some(("ram_heap", 16_403)), None]);
    }
}
