//! Two builds: what changed, groups, and budgets.

use crate::build::{B, Workshop, size_of};
use linerate_footprint::{Budget, GivenStack, Group, Input, Options, difference, examine, judge};
use linerate_model::ByteCount;
use linerate_model::footprint::{BudgetOn, Footprint, FootprintChange};
use std::fs;

fn options() -> Options {
    Options {
        groups: vec![Group::parse("entries=_entry$").unwrap()],
        stacks: vec![GivenStack {
            name: "main".to_owned(),
            size: ByteCount::new(2048),
        }],
        ..Options::default()
    }
}

/// `b.o`, and the same with a larger variable and one function more.
fn two() -> (Footprint, Footprint) {
    let shop = Workshop::new();
    let grown = B.replace("zero[300]", "zero[900]") + "int b_more(int x) { return x + 1; }\n";
    let sides = [B.to_owned(), grown].map(|source| {
        shop.write("b.c", source);
        shop.run("cc", &["-c", "b.c", "-O0"]);
        let bytes = fs::read(shop.folder().join("b.o")).unwrap();
        let input = Input {
            name: "b.o",
            bytes: &bytes,
        };
        examine(&[input], &options()).unwrap()
    });
    sides.into()
}

fn named<'a>(parts: &'a [FootprintChange], name: &str) -> &'a FootprintChange {
    parts.iter().find(|part| part.name == name).unwrap()
}

#[test]
fn groups_add_up_and_given_stacks_are_ram() {
    let (_, b) = two();
    let totals = &b.totals;
    assert_eq!(
        totals.ram.get(),
        totals.data.get() + totals.bss.get() + 2048
    );
    let group = &b.groups[0];
    let entry = size_of(&b, "flash/.text/b.o/b_entry");
    assert_eq!((group.parts, group.totals.text.get()), (1, entry));
    assert_eq!(b.groups[1].totals.text.get() + entry, totals.text.get());
}

#[test]
fn what_grew_and_what_came_is_told_and_nothing_else() {
    let (a, b) = two();
    let told = difference(&a, &b);
    let ram = named(&told.regions, "RAM");
    assert_eq!(ram.parts.len(), 1);
    let bss = named(&ram.parts, ".bss");
    assert_eq!(
        (bss.change.get(), bss.parts[0].parts[0].name.as_str()),
        (600, "zero")
    );
    let text = named(&named(&told.regions, "flash").parts, ".text");
    let came = named(&text.parts[0].parts, "b_more");
    assert_eq!(
        (came.a.get(), came.b.get()),
        (0, size_of(&b, "flash/.text/b.o/b_more"))
    );
    let same = difference(&b, &b);
    assert!(
        same.regions
            .iter()
            .all(|region| region.parts.is_empty() && region.change.get() == 0)
    );
}

#[test]
fn budgets_are_kept_to_the_byte() {
    let (a, mut b) = two();
    let budget = |name: &str, limit: u64, on| Budget {
        name: name.to_owned(),
        limit: ByteCount::new(limit),
        on,
    };
    let mut options = options();
    let ram = b.totals.ram.get();
    options.budgets = vec![
        budget("RAM", ram, BudgetOn::Size),
        budget("ram", ram - 1, BudgetOn::Size),
        budget("bss", 600, BudgetOn::Growth),
        budget("bss", 599, BudgetOn::Growth),
        budget("entries", 0, BudgetOn::Size),
    ];
    judge(&mut b, Some(&a), &options).unwrap();
    let met: Vec<_> = b.budgets.iter().map(|budget| budget.met).collect();
    assert_eq!(met, [true, false, true, false, false]);
    for (name, on, words) in [
        ("itcm", BudgetOn::Size, "flash, ram, text"),
        ("ram", BudgetOn::Growth, "two builds"),
    ] {
        options.budgets = vec![budget(name, 1, on)];
        let error = judge(&mut b, None, &options).unwrap_err();
        assert!(
            error.is_usage() && error.to_string().contains(words),
            "{error}"
        );
    }
}
