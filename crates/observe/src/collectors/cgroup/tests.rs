use super::*;
use crate::host_view::Scope;
use crate::testing::write;
use linerate_sys::host_files::HostFiles;
use proptest::prelude::*;
use std::path::Path;

fn read(root: &Path) -> Result<Throttling, ReadError> {
    let scope = Scope {
        interface: None,
        beside: Vec::new(),
        root: HostFiles::new(root),
    };
    throttling(&HostView::new(&scope))
}

#[test]
fn version_1_counts_nanoseconds() {
    let text = "nr_periods 9\nnr_throttled 4\nthrottled_time 123456789\n";
    assert_eq!(
        parse(text),
        Throttling {
            times: 4,
            nanos: 123_456_789
        }
    );
}

#[test]
fn version_2_counts_microseconds() {
    let text = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 9\nnr_throttled 4\nthrottled_usec 7\n";
    assert_eq!(
        parse(text),
        Throttling {
            times: 4,
            nanos: 7000
        }
    );
}

#[test]
fn the_cpu_controller_of_version_1_comes_first() {
    let hybrid = "4:memory:/m\n3:cpu,cpuacct:/a/b\n0::/unified\n";
    assert_eq!(cpu_group(hybrid), Some(Group::V1("/a/b")));
    assert_eq!(cpu_group("0::/x:y\n"), Some(Group::V2("/x:y")));
    assert_eq!(cpu_group("2:cpuacct:/\n"), None);
}

#[test]
fn every_level_up_to_the_root_is_visited() {
    assert_eq!(levels("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", ""]);
    assert_eq!(levels("/").collect::<Vec<_>>(), [""]);
    assert_eq!(levels("/../../etc").collect::<Vec<_>>(), [""]);
}

#[test]
fn a_quota_of_the_group_above_counts() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, MEMBERSHIP, "0::/slice/unit\n");
    write(root, "sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
    write(
        root,
        "sys/fs/cgroup/slice/cpu.stat",
        "nr_throttled 3\nthrottled_usec 10\n",
    );
    write(
        root,
        "sys/fs/cgroup/slice/unit/cpu.stat",
        "nr_throttled 2\nthrottled_usec 1\n",
    );
    assert_eq!(
        read(root),
        Ok(Throttling {
            times: 5,
            nanos: 11_000
        })
    );
}

#[test]
fn a_container_that_sees_only_its_own_group_is_read_there() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, MEMBERSHIP, "1:cpu,cpuacct:/docker/0123\n");
    write(
        root,
        "sys/fs/cgroup/cpu,cpuacct/cpu.stat",
        "nr_throttled 6\nthrottled_time 1\n",
    );
    assert_eq!(read(root).map(|sum| sum.times), Ok(6));
}

#[test]
fn no_hierarchy_is_missing_with_the_file() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), MEMBERSHIP, "0::/a\n");
    let error = read(root.path()).unwrap_err();
    assert!(
        error.to_string().contains("sys/fs/cgroup/a/cpu.stat"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC*", lines in "([a-z_:/.]{0,20} ?[0-9]{0,30}\n){0,6}") {
        for text in [&text, &lines] {
            let _ = parse(text);
            let _ = cpu_group(text);
            prop_assert!(levels(text).count() <= DEPTH_MAX);
        }
    }
}
