use super::*;
use crate::channel::synth::ConstantRate;
use crate::types::Slot;

fn configured(text: &str) -> Configured {
    text.parse().unwrap()
}

/// The first `len` slots of a link with the delays that the scenario states, erased under `seed`.
fn slots(configured: &Configured, seed: u64, len: usize) -> Vec<Slot> {
    let link = configured.slot_link();
    let rate = ConstantRate::new(link.rate, link.lldu, link.duration, link.decode_delay).unwrap();
    let mut slots = Vec::new();
    rate.piece(0, len, &mut slots);
    configured
        .begin(seed, Use::Forward)
        .erase(0, link.on_air, &mut slots);
    slots
}

#[test]
fn every_file_is_read_and_unknown_keys_are_refused() {
    for file in registry::FILES {
        let found = registry::read(file).unwrap();
        assert_eq!(found.len(), file.matches("[[scenario]]").count());
        for (known, odd) in [
            ("[[scenario]]\n", "[[scenario]]\nodd = 1\n"),
            ("{ key", "{ odd = 1, key"),
        ] {
            assert!(file.contains(known));
            let odd = file.replacen(known, odd, 1);
            assert!(registry::read(&odd).is_err(), "{odd}");
        }
    }
    assert!(registry::read("odd = 1\n[[scenario]]\n").is_err());
}

#[test]
fn every_scenario_has_a_value_for_every_parameter_and_reads_its_own_text() {
    for scenario in scenarios() {
        let name = &scenario.name;
        let family = scenario
            .family()
            .unwrap_or_else(|| panic!("{name}: {}", scenario.family));
        assert!(family.name != FAMILY.name);
        for key in LINK {
            assert!(scenario.setting(key.name).is_some(), "{name}: {}", key.name);
        }
        for setting in &scenario.settings {
            let known = scenario
                .parameters()
                .filter(|parameter| parameter.name == setting.key)
                .count();
            assert_eq!(known, 1, "{name}: {}", setting.key);
            let twice = scenario
                .settings
                .iter()
                .filter(|other| other.key == setting.key);
            assert_eq!(twice.count(), 1, "{name}: {}", setting.key);
            assert!(
                setting.origin == Origin::Ours || !setting.remark.is_empty(),
                "{name}: {}",
                setting.key
            );
        }
        for key in family.parameters.iter().filter(|key| key.is_required) {
            assert!(scenario.setting(key.name).is_some(), "{name}: {}", key.name);
        }
        for set in scenario.sets() {
            let one = Configured::new(scenario, [(SET, set.name)]).unwrap();
            let text = one.to_string();
            let again = text.parse::<SlotChannel>();
            if scenario.withholds {
                assert!(again.unwrap_err().to_string().contains("withholds slots"));
            } else {
                assert_eq!(again.unwrap().to_string(), text);
            }
            for (key, value) in set.values {
                assert!(text.contains(&format!(",{key}={value}")), "{text}");
            }
        }
    }
}

#[test]
fn names_are_those_of_the_contract() {
    let names: Vec<&str> = scenarios().map(|scenario| scenario.name.as_str()).collect();
    for name in [
        "distribution-up",
        "distribution-down",
        "internet-interleaved",
        "internet",
        "clift-window64",
        "validation",
        "interpretation",
        "barakat",
        "tgep",
        "hybrid",
        "starlink",
        "starlink-downlink",
        "starlink-driving-20240527",
        "starlink-driving-20240528",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len());
}

#[test]
fn the_links_are_those_of_the_papers() {
    let link = |text: &str| *configured(text).slot_link();
    let user = link("internet-interleaved");
    assert_eq!((user.rate.0, user.lldu.0, user.every), (263_000, 33, 10));
    assert_eq!(
        (user.rtt, user.interleaver),
        (Span::from_millis(500), Span::from_millis(36))
    );
    // 264 bits at 2.63 Mbps.
    assert_eq!(user.on_air.as_nanos(), 100_380);
    let all = link("internet-interleaved,every=1");
    assert_eq!((all.rate.0, all.on_air), (2_630_000, user.on_air));
    // CLIFT 2014, Table I: the smallest delay of a packet of 500 B is 287 ms. Its 16 LLDUs leave in as many slots, and
    // the last arrives RTT/2 + interleaver + its own time later.
    let clift = link("clift-window64");
    let last = 15 * clift.on_air.as_nanos();
    let smallest = clift.rtt.half().as_nanos() + last + clift.decode_delay.as_nanos();
    assert_eq!(smallest / 1_000_000, 287);
}

#[test]
fn a_user_has_every_tenth_slot_of_all_users() {
    for text in ["internet", "internet-interleaved"] {
        let all = slots(&configured(&format!("{text},every=1")), 9, 200_000);
        let one = slots(&configured(text), 9, 20_000);
        let tenth: Vec<Slot> = all.iter().step_by(10).copied().collect();
        assert_eq!(one, tenth);
        assert!(one.iter().any(Slot::is_erased) && one.iter().any(|slot| !slot.is_erased()));
        assert!(one != slots(&configured(text), 10, 20_000));
    }
}

#[test]
fn a_parameter_set_may_be_overridden() {
    let one = configured("barakat,parameter-set=published,p=1,duration=2s");
    assert_eq!(one.slot_link().duration, Span::from_secs(2));
    assert_eq!(one.process().to_string(), "bernoulli:1");
    assert!(slots(&one, 1, 1000).iter().all(Slot::is_erased));
}

#[test]
fn invalid_scenarios_are_refused_with_the_remedy() {
    for (text, words) in [
        ("internat", "did you mean 'internet'?"),
        ("internet,es-no=6dB", "did you mean 'es-n0'?"),
        ("internet,es-n0=6", "es-n0"),
        ("internet,es-n0=6dB,es-n0=7dB", "more than once"),
        ("internet,6dB", "KEY=VALUE"),
        ("internet,parameter-set=other", "expected one of published"),
        ("internet,speed=0km/h", "speed"),
        ("internet,rate=2.63", "rate"),
        ("internet,rate=2.63Mbps,every=7", "7 users"),
        ("internet,every=0", "1 to 1000000"),
        ("internet,duration=0s", "above zero"),
        (
            "internet-interleaved,duration=35ms",
            "found a trace of 35ms",
        ),
        ("barakat,es-n0=6dB", "unknown parameter 'es-n0'"),
        ("barakat,p=2", "probability"),
        ("barakat,lldu=0B", "a size above zero"),
    ] {
        let error = text.parse::<Configured>().unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}
