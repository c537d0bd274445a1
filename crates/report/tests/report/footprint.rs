//! Footprints as text, CSV and HTML: every figure to the byte, hostile names, a real browser.

use crate::poison::HOSTILE;
use crate::runs::made;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    BudgetOn, ByteCountChange, ChangeKind, FigureSource, Footprint, FootprintBudget,
    FootprintChange, FootprintContent, FootprintDifference, FootprintFile, FootprintFormat,
    FootprintNode, FootprintRegion, FootprintSection, FootprintSide, FootprintTotals, FrameGrowth,
    FunctionStack, NodeKind, RunTimeMemory, RunTimePool, SectionClass, SectionPlace, StackUse,
    StackUseSource, StaticMemory,
};
use linerate_report::document::{DocumentFormat, as_text, render};
use linerate_report::{FootprintPage, FootprintView, Style};
use linerate_testkit::browser::Page;

fn node(name: &str, kind: NodeKind, size: u64, parts: Vec<FootprintNode>) -> FootprintNode {
    FootprintNode {
        name: name.to_owned(),
        kind,
        size: ByteCount::new(size),
        source: FigureSource::ElfSymbol,
        parts,
    }
}

fn section(
    name: &str,
    class: SectionClass,
    size: u64,
    parts: Vec<FootprintNode>,
) -> FootprintSection {
    FootprintSection {
        name: name.to_owned(),
        class,
        place: SectionPlace::Run,
        size: ByteCount::new(size),
        source: FigureSource::ElfSection,
        parts,
    }
}

fn region(name: &str, capacity: u64, section: FootprintSection) -> FootprintRegion {
    FootprintRegion {
        name: name.to_owned(),
        size: section.size,
        capacity: Some(ByteCount::new(capacity)),
        sections: vec![section],
    }
}

fn stack_use() -> StackUse {
    StackUse {
        source: StackUseSource::StackUsage,
        at_least: ByteCount::new(232),
        functions: vec![FunctionStack {
            name: "tcp_in.c:tcp_input".to_owned(),
            frame: ByteCount::new(232),
            growth: FrameGrowth::Unbounded,
        }],
    }
}

/// A firmware whose largest function has this name.
fn footprint(function: &str) -> Footprint {
    let symbols = vec![
        node(function, NodeKind::Symbol, 9000, Vec::new()),
        node("tcp_output", NodeKind::Symbol, 2400, Vec::new()),
        node("(fill)", NodeKind::Fill, 6, Vec::new()),
    ];
    let object = node("tcp_in.o", NodeKind::Object, 11_406, symbols);
    let archive = node("liblwip.a", NodeKind::Archive, 11_406, vec![object]);
    let rest = node("(unclaimed)", NodeKind::Unclaimed, 594, Vec::new());
    let pool = node(
        "memp_memory_PBUF_POOL_base",
        NodeKind::Symbol,
        24_835,
        Vec::new(),
    );
    let text = section(".text", SectionClass::Text, 12_000, vec![archive, rest]);
    let bss = section(".bss", SectionClass::Bss, 24_835, vec![pool]);
    let mut totals = FootprintTotals::default();
    totals.add(SectionClass::Text, ByteCount::new(12_000));
    totals.add(SectionClass::Bss, ByteCount::new(24_835));
    Footprint {
        files: vec![FootprintFile {
            name: "fw.elf".to_owned(),
            format: FootprintFormat::Executable,
            machine: Some("arm".to_owned()),
            length: ByteCount::new(123_456),
        }],
        totals,
        regions: vec![region("FLASH", 65_536, text), region("RAM", 32_768, bss)],
        groups: Vec::new(),
        stack_use: Some(stack_use()),
        budgets: vec![FootprintBudget {
            name: "ram".to_owned(),
            limit: ByteCount::new(24_000),
            on: BudgetOn::Size,
            used: ByteCountChange::between(ByteCount::default(), ByteCount::new(24_835)),
            met: false,
        }],
        run_time: vec![RunTimeMemory {
            stack: "lwip".to_owned(),
            options: [("buffers".to_owned(), "base".to_owned())].into(),
            runs: 10,
            pools: vec![RunTimePool {
                name: function.to_owned(),
                set_aside: Some(StaticMemory {
                    symbol: function.to_owned(),
                    size: ByteCount::new(24_835),
                }),
                capacity: ByteCount::new(24_832),
                peak: ByteCount::new(6208),
                failures: 3,
            }],
        }],
        notes: vec!["be careful".to_owned()],
    }
}

fn difference(name: &str) -> FootprintDifference {
    let of = footprint("x");
    let side = || FootprintSide {
        files: of.files.clone(),
        totals: of.totals,
    };
    let change = |name: &str, kind, a: u64, b: u64, parts| FootprintChange {
        name: name.to_owned(),
        kind,
        a: ByteCount::new(a),
        b: ByteCount::new(b),
        change: ByteCountChange::between(ByteCount::new(a), ByteCount::new(b)),
        parts,
    };
    let grew = change(name, ChangeKind::Part(NodeKind::Symbol), 0, 700, Vec::new());
    let shrank = change(
        "old",
        ChangeKind::Part(NodeKind::Symbol),
        300,
        250,
        Vec::new(),
    );
    let section = change(
        ".text",
        ChangeKind::Section(SectionPlace::Run),
        12_000,
        12_650,
        vec![grew, shrank],
    );
    FootprintDifference {
        a: side(),
        b: side(),
        regions: vec![change(
            "FLASH",
            ChangeKind::Region,
            12_000,
            12_650,
            vec![section],
        )],
        groups: Vec::new(),
        budgets: Vec::new(),
        notes: Vec::new(),
    }
}

const VIEW: FootprintView = FootprintView {
    depth: 4,
    rows: 10,
    ..FootprintView::ALL
};

fn on_terminal(content: &FootprintContent, view: FootprintView) -> String {
    as_text(&FootprintPage { content, view }, 110, Style::Plain)
}

fn as_file(content: &FootprintContent, format: DocumentFormat) -> String {
    let view = FootprintView::ALL;
    render(&FootprintPage { content, view }, format, &made()).unwrap()
}

#[test]
fn a_terminal_shows_figures_to_the_byte_and_colours_what_grew() {
    let text = on_terminal(&FootprintContent::Footprint(footprint("tcp_input")), VIEW);
    for words in [
        "flash 12000 B (text 12000 + data 0), RAM 24835 B (data 0 + bss 24835)",
        "FLASH (18.3 % of 64 KiB)",
        "exceeded       ram: 24835 B, at most 24000 B: 835 B too much",
        "at least 232 B for a thread, a lower bound",
        "      tcp_in.o",
        "tcp_input",
        "(unclaimed)",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
    let shallow = on_terminal(
        &FootprintContent::Footprint(footprint("tcp_input")),
        FootprintView {
            depth: 1,
            rows: 1,
            ..FootprintView::ALL
        },
    );
    assert!(
        !shallow.contains("tcp_in.o  ") && shallow.contains(".text"),
        "{shallow}"
    );
    let content = FootprintContent::Difference(difference("new"));
    let page = FootprintPage {
        content: &content,
        view: VIEW,
    };
    let change = as_text(&page, 110, Style::Ansi);
    let row = |name: &str| change.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        row(" new ").contains("\u{1b}[31m") && row(" new ").contains("+700"),
        "{change}"
    );
    assert!(
        row(" old ").contains("\u{1b}[32m") && row(" old ").contains("−50"),
        "{change}"
    );
}

#[test]
fn hostile_names_command_neither_terminal_nor_spreadsheet_nor_page() {
    for content in [
        FootprintContent::Footprint(footprint(HOSTILE)),
        FootprintContent::Difference(difference(HOSTILE)),
    ] {
        let text = on_terminal(&content, VIEW);
        assert!(!text.contains('\u{1b}'), "{text}");
        let csv = as_file(&content, DocumentFormat::Csv);
        assert!(!csv.contains('\u{1b}'), "{csv}");
        let page = as_file(&content, DocumentFormat::Html);
        assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'));
    }
    let csv = as_file(
        &FootprintContent::Footprint(footprint("=1+1")),
        DocumentFormat::Csv,
    );
    assert!(csv.contains(",'=1+1,symbol,9000,elf-symbol"), "{csv}");
}

#[test]
fn a_ci_system_sees_a_case_for_each_budget() {
    let content = FootprintContent::Footprint(footprint("tcp_input"));
    let xml = as_file(&content, DocumentFormat::Junit);
    for words in [
        "failures=\"1\" errors=\"0\"",
        "name=\"budget ram\"",
        "<failure message=\"ram: 24835 B, at most 24000 B: 835 B too much\">",
    ] {
        assert!(xml.contains(words), "{words} is not in {xml}");
    }
}

/// Chooses a box, then the whole again, and tells what is shown.
const PROBE: &str = "\
const figures = [...document.querySelectorAll('figure.treemap')];\
const svg = figures[0].querySelector('svg');\
const tile = [...svg.querySelectorAll('.tile')].find((one) => one.textContent.includes('tcp_output'));\
tile.dispatchEvent(new MouseEvent('click', { bubbles: true }));\
const near = svg.getAttribute('viewBox').split(' ').map(Number);\
const said = figures[0].querySelector('.treemap-said').textContent;\
figures[0].querySelector('button').click();\
document.body.dataset.probe = [near[2] < 500, said.includes('2400 B'), svg.getAttribute('viewBox')].join(' ');";

#[test]
#[ignore = "needs chromium"]
fn a_treemap_can_be_walked_in_the_browser() {
    let page = Page::from_html(&as_file(
        &FootprintContent::Footprint(footprint(HOSTILE)),
        DocumentFormat::Html,
    ));
    page.add_script(PROBE);
    let dom = page.dom(&["--window-size=1280,900"]);
    assert_eq!(dom.matches("data-treemap=\"ready\"").count(), 2);
    assert!(
        dom.contains("data-probe=\"true true 0 0 1000 480\""),
        "{}",
        dom.split("data-probe").nth(1).unwrap_or("no probe")
    );
    assert!(
        !dom.contains("data-owned"),
        "a script from a symbol was executed"
    );
    let page = Page::from_html(&as_file(
        &FootprintContent::Difference(difference("new")),
        DocumentFormat::Html,
    ));
    assert!(
        page.dom(&["--window-size=390,844"])
            .contains("data-treemap=\"ready\"")
    );
}
