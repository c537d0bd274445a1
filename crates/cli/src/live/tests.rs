use super::screen::{Screen, restore_on_panic};
use linerate_testkit::tmux::Tmux;
use std::env;
use std::sync::Arc;

/// Set where this very test runs on a terminal, to panic there.
const ON_TERMINAL: &str = "LINERATE_TEST_PANICS";

#[test]
#[ignore = "needs tmux"]
fn a_panic_gives_the_terminal_back_before_its_message() {
    if env::var_os(ON_TERMINAL).is_some() {
        let screen = Arc::new(Screen::enter().unwrap());
        restore_on_panic(&screen);
        panic!("on purpose");
    }
    let terminal = Tmux::new(80, 24);
    terminal.line("before=$(stty -a); echo ear''lier");
    terminal.wait_for("the shell", |screen| screen.contains("earlier"));
    let program = env::current_exe().unwrap();
    let name = "live::tests::a_panic_gives_the_terminal_back_before_its_message";
    terminal.line(&format!(
        "{ON_TERMINAL}=1 RUST_BACKTRACE=0 {} --exact {name} --ignored --nocapture; [ \"$before\" = \"$(stty -a)\" ] && echo sa''me",
        program.display()
    ));
    let screen = terminal.wait_for("the settings of before", |screen| screen.contains("same"));
    assert!(
        screen.contains("earlier") && screen.contains("on purpose"),
        "{screen}"
    );
    // The message's lines begin at the left edge: the terminal had its settings again when it came.
    let lines = screen.lines();
    assert!(
        lines.clone().any(|line| line.starts_with("on purpose")),
        "{screen}"
    );
}
