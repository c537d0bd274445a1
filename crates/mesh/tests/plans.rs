//! Properties of plans, over random meshes.

#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_mesh::{DeclaredLink, HostEntry, Inventory, plan};
use linerate_model::mesh::{MeshCoverage, MeshPlan};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

fn mesh(hosts: usize) -> Inventory {
    let mut text = String::new();
    for host in 0..hosts {
        write!(text, "[hosts.h{host:05}]\naddress = \"10.0.0.1\"\n").unwrap();
    }
    Inventory::from_toml("mesh.toml", &text).unwrap()
}

fn racks(mut inventory: Inventory, of_rack: usize) -> Inventory {
    for (place, host) in inventory.hosts.iter_mut().enumerate() {
        host.rack = Some(format!("r{}", place / of_rack));
    }
    inventory
}

/// An uplink before each rack.
fn uplinks(mut inventory: Inventory, of_rack: usize) -> Inventory {
    let count = inventory.hosts.len();
    let starts = (0..count).step_by(of_rack);
    inventory.links = starts
        .map(|start| DeclaredLink {
            name: format!("up{start}"),
            hosts: (start..(start + of_rack).min(count)).collect(),
        })
        .collect();
    inventory
}

/// What every plan keeps: no pair twice, nothing of a round shares an interface or a declared link.
fn check(inventory: &Inventory, plan: &MeshPlan) {
    let mut seen = BTreeSet::new();
    let nic = |place: usize| {
        let host: &HostEntry = &inventory.hosts[place];
        host.nic.clone().unwrap_or_else(|| host.name.clone())
    };
    for round in &plan.rounds {
        let (mut nics, mut links) = (BTreeSet::new(), BTreeSet::new());
        for pair in round {
            assert_ne!(pair.dialer, pair.listener);
            assert!(seen.insert(pair.ends()), "{pair:?} twice");
            assert!(inventory.hosts[pair.listener].accepts, "{pair:?}");
            let ends = BTreeSet::from([nic(pair.dialer), nic(pair.listener)]);
            for nic in ends {
                assert!(nics.insert(nic), "an interface twice in a round");
            }
            for link in &inventory.links {
                let [a, b] = [pair.dialer, pair.listener].map(|end| link.hosts.contains(&end));
                assert!(
                    a == b || links.insert(&link.name),
                    "a link twice in a round"
                );
            }
        }
    }
    for pair in &plan.unreachable {
        assert!(
            seen.insert(pair.ends()),
            "{pair:?} is planned and unreachable"
        );
    }
    if plan.coverage == MeshCoverage::Complete {
        let hosts = inventory.hosts.len();
        assert_eq!(seen.len(), hosts * (hosts - 1) / 2, "a pair is missing");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_complete_mesh_takes_the_fewest_rounds(hosts in 2usize..201) {
        let inventory = mesh(hosts);
        let plan = plan(&inventory).unwrap();
        check(&inventory, &plan);
        prop_assert_eq!(plan.rounds.len(), plan.rounds_bound);
    }

    #[test]
    fn hosts_behind_nat_meet_all_but_each_other(hosts in 2usize..60, behind in any::<u64>()) {
        let mut inventory = mesh(hosts);
        for (place, host) in inventory.hosts.iter_mut().enumerate() {
            host.accepts = (behind >> place) & 1 == 0;
        }
        let plan = plan(&inventory).unwrap();
        check(&inventory, &plan);
        prop_assert!(plan.rounds.len() <= plan.rounds_bound + 1, "{} of {}", plan.rounds.len(), plan.rounds_bound);
    }

    #[test]
    fn a_large_mesh_is_sampled_evenly_and_covers_all_racks(hosts in 201usize..900, of_rack in 5usize..60, seed in any::<u64>()) {
        let mut inventory = racks(mesh(hosts), of_rack);
        inventory.seed = seed;
        let plan = plan(&inventory).unwrap();
        check(&inventory, &plan);
        prop_assert_eq!(plan.coverage, MeshCoverage::Sampled);
        prop_assert!(plan.rounds.len() <= plan.rounds_bound + 1, "{} of {}", plan.rounds.len(), plan.rounds_bound);
        let mut partners: BTreeMap<usize, usize> = BTreeMap::new();
        let mut met = BTreeSet::new();
        for pair in plan.rounds.iter().flatten() {
            for end in [pair.dialer, pair.listener] {
                *partners.entry(end).or_default() += 1;
            }
            let (a, b) = pair.ends();
            met.insert((a / of_rack, b / of_rack));
        }
        let racks = hosts.div_ceil(of_rack);
        let across = met.iter().filter(|(a, b)| a != b).count();
        prop_assert_eq!(across, racks * (racks - 1) / 2);
        // An odd number leaves each host out once at most.
        prop_assert!((0..hosts).all(|host| partners.get(&host).is_some_and(|count| *count >= 7)));
    }

    #[test]
    fn equal_racks_behind_uplinks_take_one_round_more_at_most(racks in 2usize..7, of_rack in 2usize..7) {
        let inventory = uplinks(mesh(racks * of_rack), of_rack);
        let plan = plan(&inventory).unwrap();
        check(&inventory, &plan);
        prop_assert!(plan.rounds.len() <= plan.rounds_bound + 1, "{} of {}", plan.rounds.len(), plan.rounds_bound);
    }

    #[test]
    fn any_links_and_shared_interfaces_keep_tests_apart(hosts in 2usize..30, cut in any::<u64>(), machines in 1usize..6) {
        let mut inventory = mesh(hosts);
        let behind = |cut: u64| (0..hosts).filter(|place| (cut >> place) & 1 == 1).collect();
        inventory.links = [cut, cut.rotate_left(17)].map(|cut| DeclaredLink { name: cut.to_string(), hosts: behind(cut) }).into();
        for (place, host) in inventory.hosts.iter_mut().enumerate() {
            host.nic = (place % 3 == 0).then(|| format!("machine {}", place % machines));
        }
        let plan = plan(&inventory).unwrap();
        check(&inventory, &plan);
        prop_assert!(plan.rounds.len() >= plan.rounds_bound);
    }
}

#[test]
fn bytes_are_those_of_both_directions_and_a_budget_is_kept() {
    let text = "[mesh]\ntime = \"1s\"\nbudget = \"1M\"\n[hosts.a]\naddress = \"a\"\nrate = \"8M\"\n[hosts.b]\naddress = \"b\"\nrate = \"80M\"\n";
    let error = plan(&Inventory::from_toml("m", text).unwrap()).unwrap_err();
    assert!(error.message.contains("budget"), "{error}");
    let enough = text.replace("\"1M\"", "\"4M\"");
    let plan = plan(&Inventory::from_toml("m", &enough).unwrap()).unwrap();
    assert_eq!(plan.bytes.unwrap().get(), 2_000_000);
}
