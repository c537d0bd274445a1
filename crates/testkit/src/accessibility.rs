//! Whether a page in Chromium can be used without a mouse, without colours, by a screen reader: what axe-core finds, and
//! where Tab stops.
//!
//! axe-core is what `ci/need axe` gets; tests that look for barriers are of `make test-all`.

use crate::devtools::{Driven, MAX_STOPS};
use crate::pages::root;
use serde_json::{Value, json};

/// Option of the browser: the user prefers dark pages.
pub const DARK: &str = "--blink-settings=preferredColorScheme=0";

/// axe-core with the rules of WCAG 2.2 too, which it leaves out by itself.
const LOOK_FOR_BARRIERS: &str =
    "axe.run(document, { iframes: false, rules: { 'target-size': { enabled: true } } })
    .then(({ violations }) => violations.map(({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map((node) => node.target.join(' ')).join(', ')}`))";

/// Keeps the places where Tab should stop, in the order of the document; their number. A closed fold shows nothing but its
/// summary.
const LIST_STOPS: &str = "(() => {
    const all = document.querySelectorAll('a[href], button, input, select, textarea, summary, iframe, [tabindex]');
    globalThis.stops = [...all].filter((one) => one.tabIndex >= 0 && !one.disabled && one.type !== 'hidden' && one.checkVisibility());
    return stops.length;
})()";

/// Which of these places has the focus, and what hides that. It takes a moment to get into a frame; in the end none has it.
const LOOK_AT_FOCUS: &str = "new Promise((done) => {
    const seen = () => {
        const one = document.activeElement;
        const style = getComputedStyle(one);
        const box = one.getBoundingClientRect();
        const named = `${one.tagName.toLowerCase()}${one.id ? `#${one.id}` : ''} “${one.textContent.trim().slice(0, 40)}”`;
        const wrong = [];
        if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) wrong.push('no outline');
        if (box.width < 1 || box.height < 1) wrong.push('no size');
        if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) wrong.push('out of sight');
        if (one.tabIndex > 0) wrong.push('an order of its own');
        return { at: stops.indexOf(one), is_frame: one.tagName === 'IFRAME', named, wrong };
    };
    const look = (turns) => document.activeElement !== document.body || turns === 0 ? done(seen()) : setTimeout(look, 20, turns - 1);
    look(100);
})";

impl Driven {
    /// What axe-core finds wrong with the page, each with the elements that it is about.
    ///
    /// # Panics
    /// If axe-core is not there.
    pub fn barriers(&mut self) -> Vec<String> {
        let axe = root().join("target/tools/axe-core/package/axe.min.js");
        let axe = std::fs::read_to_string(axe).expect("axe-core: ci/need axe");
        self.eval(&format!("{axe}; 0"));
        texts(&self.eval(LOOK_FOR_BARRIERS))
    }

    /// Goes through a page that was just loaded by Tab alone: all that can be operated has the focus once, in the order of
    /// the document, and shows it. How many places there are; those within a frame count as the frame.
    ///
    /// # Panics
    /// If a place is left out, comes out of turn, or does not show that it has the focus.
    pub fn walk_by_tab(&mut self) -> u64 {
        let count = self.eval(LIST_STOPS).as_u64().unwrap_or_default();
        let (mut next, mut wrong) = (0, Vec::new());
        for _ in 0..MAX_STOPS {
            if next == count {
                break;
            }
            self.press("Tab");
            let focus = self.eval(LOOK_AT_FOCUS);
            let is_frame = focus["is_frame"] == json!(true);
            // Still in the frame.
            if is_frame && focus["at"].as_u64().is_some_and(|at| at + 1 == next) {
                continue;
            }
            let here = |what: &str| format!("{}: {what}", focus["named"]);
            assert_eq!(focus["at"], json!(next), "{}", here("out of turn"));
            next += 1;
            // What is within it shows the focus.
            if !is_frame {
                wrong.extend(texts(&focus["wrong"]).iter().map(|what| here(what)));
            }
        }
        assert_eq!(next, count, "places that Tab does not reach");
        assert_eq!(wrong, [""; 0]);
        let is_left = (0..MAX_STOPS).any(|_| {
            self.press("Tab");
            let at = self.eval("stops.indexOf(document.activeElement)");
            at.as_u64() != count.checked_sub(1)
        });
        assert!(is_left, "the last place keeps the focus");
        count
    }
}

fn texts(list: &Value) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(body: &str) -> u64 {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("page.html");
        let style = "<style>:focus-visible { outline: 3px solid blue }</style>";
        std::fs::write(&file, format!("{style}{body}")).unwrap();
        Driven::open(&file, "", &[]).walk_by_tab()
    }

    #[test]
    #[ignore = "needs chromium"]
    fn a_page_is_walked_through_and_folds_count_as_they_are() {
        let folds = "<details><summary>a</summary><button>b</button></details>";
        assert_eq!(walked(&format!("<a href=#x>x</a>{folds}<input>")), 3);
    }

    #[test]
    #[ignore = "needs chromium"]
    #[should_panic(expected = "out of turn")]
    fn an_order_of_its_own_is_seen() {
        walked("<button>a</button><button tabindex=1>b</button>");
    }

    #[test]
    #[ignore = "needs chromium"]
    #[should_panic(expected = "no outline")]
    fn a_focus_that_nobody_sees_is_seen() {
        walked("<button>a</button><button style='outline: none'>b</button>");
    }
}
