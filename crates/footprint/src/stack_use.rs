//! Static stack usage: output of `-fstack-usage` beside each object file.

use crate::error::FootprintError;
use linerate_model::ByteCount;
use linerate_model::footprint::{FrameGrowth, FunctionStack, StackUse, StackUseSource};

/// Parses a `.su` file: `tcp_in.c:118:1:tcp_input<tab>72<tab>static`.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<FunctionStack>, FootprintError> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            function(line).ok_or_else(|| FootprintError::Damaged {
                file: file.to_owned(),
                what: format!(
                    "line {} is not FUNCTION<tab>BYTES<tab>static or dynamic",
                    at + 1
                ),
            })
        })
        .collect()
}

fn function(line: &str) -> Option<FunctionStack> {
    let mut fields = line.split('\t');
    let (place, frame, growth) = (fields.next()?, fields.next()?, fields.next()?);
    // FILE:LINE:COLUMN:FUNCTION; a C++ function contains colons.
    let (file, rest) = place.split_once(':')?;
    let name = rest.splitn(3, ':').nth(2).unwrap_or(rest);
    Some(FunctionStack {
        name: crate::names::cut(&format!("{}:{}", crate::paths::last(file), name)),
        frame: ByteCount::new(frame.parse().ok()?),
        growth: match growth.trim() {
            "static" => FrameGrowth::Fixed,
            "dynamic,bounded" => FrameGrowth::Bounded,
            "dynamic" => FrameGrowth::Unbounded,
            _ => return None,
        },
    })
}

/// Frames of a build, largest first; `None` without any.
pub(crate) fn sum_up(
    source: StackUseSource,
    mut functions: Vec<FunctionStack>,
) -> Option<StackUse> {
    functions.sort_by(|a, b| b.frame.cmp(&a.frame).then_with(|| a.name.cmp(&b.name)));
    Some(StackUse {
        source,
        at_least: functions.first()?.frame,
        functions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_function() {
        let text = "/src/core/tcp_in.c:118:1:tcp_input\t72\tstatic\n../a.cc:4:5:void net::poll(int)\t512\tdynamic\nb.c:1:1:f\t16\tdynamic,bounded\n";
        let all = sum_up(StackUseSource::StackUsage, read("x.su", text).unwrap()).unwrap();
        let told: Vec<_> = all
            .functions
            .iter()
            .map(|f| (f.name.as_str(), f.frame.get(), f.growth))
            .collect();
        let expected = [
            ("a.cc:void net::poll(int)", 512, FrameGrowth::Unbounded),
            ("tcp_in.c:tcp_input", 72, FrameGrowth::Fixed),
            ("b.c:f", 16, FrameGrowth::Bounded),
        ];
        assert_eq!(told, expected);
        assert_eq!(all.at_least, ByteCount::new(512));
        assert_eq!(sum_up(StackUseSource::StackUsage, Vec::new()), None);
        for bad in ["x", "a.c:1:1:f\tmany\tstatic", "a.c:1:1:f\t3\tsometimes"] {
            let error = read("x.su", bad).unwrap_err().to_string();
            assert!(
                error.contains("x.su") && error.contains("line 1"),
                "{error}"
            );
        }
    }
}
