//! Pages and requests: their times by hand, their connections, and their logs.

use fluid_tcp::audit::audit;
use fluid_tcp::simulation::probe::NoProbe;

use tmt_core::types::to_f64;

use super::applications::{broken, logged, near, plan, run_of};

#[test]
fn a_page_of_single_packets_takes_a_round_trip_and_their_service() {
    // A packet takes 6 ms. With a handshake the first page waits for it.
    for (objects, connections, handshake) in [(1, 1, false), (6, 6, true), (4, 6, false)] {
        let flow =
            format!("app=pages(size=1kB,objects={objects},connections={connections},think=1s)");
        let more = format!("duration = \"30s\"\nhandshake = {handshake}\n");
        let report = run_of(&[&flow], &more);
        let page = &report.flows[0];
        let later = 0.1 + 0.006 * f64::from(objects);
        let first = if handshake { later + 0.1 } else { later };
        let pages = page.pages_loaded.unwrap();
        near(page.page_time_p50_s, later, 1e-9);
        near(
            page.page_time_mean_s,
            (first + later * to_f64(pages - 1)) / to_f64(pages),
            1e-9,
        );
        let expected = ((30.0 - first) / (1.0 + later)).floor() + 1.0;
        near(page.pages_loaded.map(to_f64), expected, 1e-9);
        assert_eq!(page.requests_answered, None);
        assert_eq!(
            page.packets_delivered,
            pages * u64::try_from(objects).unwrap()
        );
        assert_eq!(report.flows.len(), 1);
    }
    // Objects one after the other: a round trip each.
    let report = run_of(
        &["app=pages(size=1kB,objects=5,connections=1,think=1s)"],
        "duration = \"30s\"\n",
    );
    near(report.flows[0].page_time_p50_s, 5.0 * 0.106, 1e-9);
}

#[test]
fn requests_are_answered_in_their_period_or_one_after_the_other() {
    // 10 packets within the first window: 60 ms of service.
    let slow = run_of(
        &["app=request(up=1kB,down=14480B,every=1s)"],
        "duration = \"20s\"\n",
    );
    near(slow.flows[0].requests_answered.map(to_f64), 20.0, 1e-9);
    near(slow.flows[0].response_time_p50_s, 0.16, 1e-9);
    assert_eq!(slow.flows[0].pages_loaded, None);
    // Sooner than an answer takes: each follows the one before it.
    let fast = run_of(
        &["app=request(down=1kB,every=10ms)"],
        "duration = \"10s\"\n",
    );
    near(
        fast.flows[0].requests_answered.map(to_f64),
        ((10.0 - 0.1) / 0.106_f64).floor(),
        1.0,
    );
    // A request takes its time on the return path: 8 kbit at 80 kbit/s.
    let thin = run_of(
        &["app=request(up=1kB,down=1kB,every=1s)"],
        "duration = \"20s\"\nreturn_rate = \"80kbps\"\n",
    );
    near(thin.flows[0].response_time_p50_s, 0.206, 1e-9);
}

#[test]
fn pages_beside_a_transfer_load_slower_than_alone_and_lose_nothing() {
    let pages =
        "cc=cubic,app=pages(size=lognormal(median=8kB,sigma=1),objects=30,think=exponential(1s))";
    let alone = run_of(&[pages], "duration = \"120s\"\n");
    let beside = run_of(&[pages, "cc=cubic"], "duration = \"120s\"\n");
    assert!(alone.flows[0].page_time_p95_s < beside.flows[0].page_time_p95_s);
    // 30 objects of 8 kB · exp(1/2) = 13.2 kB: at least 1.6 s of the link.
    assert!(alone.flows[0].page_time_p50_s.unwrap() > 1.0);
    assert_eq!(beside.flows.len(), 2);
    assert_eq!(beside.flows[1].pages_loaded, None);
    let total = &beside.total.metrics;
    assert_eq!(total.pages_loaded, beside.flows[0].pages_loaded);
    assert_eq!(
        total.packets_sent,
        beside.flows[0].packets_sent + beside.flows[1].packets_sent
    );
    // The same seed gives the same pages, another one others.
    assert_eq!(alone, run_of(&[pages], "duration = \"120s\"\n"));
    assert_ne!(alone, run_of(&[pages], "duration = \"120s\"\nseed = 2\n"));
}

#[test]
fn logs_of_pages_and_loads_are_audited() {
    let plan = plan(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"20s\"\nbuffer = \"20pkt\"\nloss = \"bernoulli:0.01\"\n\
         flow = [\"app=pages(size=exponential(10kB),objects=8,connections=3,think=1s)\", \"app=cbr(codec=g729)\", \
         \"app=poisson(load=0.2,size=20kB),cc=newreno\", \"cc=cubic\"]\n",
    );
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    assert_eq!(report.flows.len(), 4);
    let total = audit(log.as_bytes(), None).unwrap().totals;
    assert_eq!(total.counts.copies_sent, report.total.metrics.packets_sent);
    assert!(total.flows.len() > 10);
}

#[test]
fn a_page_over_a_proxy_waits_for_the_handshake_with_it() {
    let page = |path: &str| {
        let report = run_of(
            &["app=pages(size=1kB,objects=1,connections=1,think=100s)"],
            &format!(
                "duration = \"3s\"\nhandshake = true\nterrestrial_rtt = \"20ms\"\npath = \"{path}\"\nbuffer = \"100pkt\"\n"
            ),
        );
        report.flows[0].page_time_mean_s.unwrap()
    };
    // Two round trips of 120 ms and 6 ms of service; over a proxy, whose handshake takes 20 ms, 100 ms less.
    near(Some(page("e2e")), 0.246, 1e-9);
    near(Some(page("split")), 0.146, 1e-9);
}

/// Pages of four small objects over two connections, a page a second; by hand. A packet takes 1 ms on the link, and 50 ms each way.
#[test]
fn a_connection_per_object_takes_its_request_and_its_handshake() {
    let pages = |app: &str, handshake: bool| {
        let think = if app.contains("think") {
            ""
        } else {
            ",think=1s"
        };
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"12Mbps\"\nrtt = \"100ms\"\nduration = \"5s\"\nhandshake = {handshake}\n\
             flow = [\"app=pages(objects=4,size=1448B,connections=2{think}{app})\"]\n"
        ));
        let (report, log) = logged(&plan);
        assert_eq!(broken(&log), [""; 0], "{app} {handshake}");
        assert_eq!(report.flows.len(), 1);
        let flows = log.lines().find_map(|line| line.strip_prefix("# flows: "));
        (report.flows[0].clone(), flows.unwrap().to_owned())
    };
    // Requests at 0 arrive after 50 ms; the packets after 101 and 102 ms. The second ones leave then: 101 + 50 + 51 ms, and the last
    // packet waits for the one before it.
    let (open, flows) = pages("", false);
    assert_eq!((open.page_time_p50_s, &*flows), (Some(0.203), "2"));
    let (each, flows) = pages(",persistent=off", false);
    assert_eq!(each.page_time_p50_s, Some(0.203));
    // Pages are at least 1.2 s apart: five begin in 5 s.
    assert_eq!(
        (&*flows, each.pages_begun, each.pages_loaded),
        ("20", Some(5), Some(4))
    );
    assert_eq!(each.packets_sent, 5 * 4);
    // Without a pause the next page begins when one is loaded: 24 times 203 ms are 4.872 s.
    for app in [",think=0s", ",think=0s,persistent=off"] {
        let (next, _) = pages(app, false);
        let counts = (next.pages_begun, next.pages_loaded, next.packets_sent);
        assert_eq!(counts.0.zip(counts.1), Some((25, 24)), "{app}");
        assert_eq!(
            (next.page_time_p50_s, next.page_time_p95_s),
            (Some(0.203), Some(0.203))
        );
        assert!((97..=100).contains(&counts.2), "{app}: {}", counts.2);
    }
    // One handshake of 100 ms, or one for each of the two objects after each other.
    let (open, _) = pages("", true);
    assert_eq!(open.page_time_mean_s.map(|mean| mean > 0.203), Some(true));
    let (each, _) = pages(",persistent=off", true);
    assert_eq!(
        (each.page_time_p50_s, each.page_time_p95_s),
        (Some(0.403), Some(0.403))
    );
    assert_eq!(each.completion_time_s, None);
}

#[test]
fn a_new_connection_begins_with_the_initial_window() {
    let time = |app: &str| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"50Mbps\"\nrtt = \"100ms\"\nduration = \"30s\"\nloss = \"bernoulli:0.001\"\n\
             flow = [\"cc=cubic,app=pages(objects=10,size=exponential(100kB),connections=1,think=10ms{app})\"]\n"
        ));
        let (report, log) = logged(&plan);
        assert_eq!(broken(&log), [""; 0], "{app}");
        report.flows[0].page_time_mean_s.unwrap()
    };
    // Of 69 packets, 10, 20 and 39 leave in three round trips; an open window needs one or two.
    let (open, each) = (time(""), time(",persistent=off"));
    assert!(each > 1.3 * open, "{each}, {open}");
}

/// Answers of 207 packets over 100 ms: 10, 20, 40, 80 and the rest leave in five round trips of a new window.
#[test]
fn a_window_restarts_after_a_pause() {
    let answers = |rule: &str, every: &str, cc: &str| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"100Mbps\"\nrtt = \"100ms\"\nduration = \"40s\"\nbuffer = \"1000pkt\"\n{rule}\n\
             flow = [\"cc={cc},app=request(down=300kB,every={every})\"]\n"
        ));
        let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
        let metrics = report.flows[0].clone();
        (
            metrics.response_time_mean_s.unwrap(),
            metrics.response_time_p50_s.unwrap(),
        )
    };
    let off = "idle_restart = \"off\"";
    let (_, kept) = answers(off, "4s", "newreno");
    let (_, restarted) = answers("", "4s", "newreno");
    assert!(kept < 0.15 && restarted > 0.4, "{kept}, {restarted}");
    assert_eq!(
        answers("idle_restart = \"linux\"", "4s", "newreno"),
        answers("", "4s", "newreno")
    );
    let (_, rfc) = answers("idle_restart = \"rfc5681\"", "4s", "newreno");
    assert!((rfc - restarted).abs() < 0.01, "{rfc}, {restarted}");
    // The next answer follows within an RTO of 300 ms.
    assert_eq!(
        answers("", "200ms", "newreno"),
        answers(off, "200ms", "newreno")
    );
    // BBR keeps its model.
    assert_eq!(answers("", "4s", "bbr"), answers(off, "4s", "bbr"));
}

/// A proxy may share its buffer with connections that stay open, and give all of it to those that open later.
#[test]
fn split_paths_carry_pages_and_loads() {
    let base = "link = \"synthetic\"\nrate = \"10Mbps\"\nrtt = \"60ms\"\nduration = \"5s\"\npath = \"split\"\n";
    let loaded = |more: &str| {
        let report = logged(&plan(&format!("{base}{more}"))).0;
        report.total.metrics.pages_loaded.unwrap()
    };
    let pages = |more: &str| {
        format!("flow = [\"app=pages(size=20kB,objects=5,connections=2,think=500ms{more})\"]\n")
    };
    assert!(loaded(&pages("")) > 3);
    let whole = format!("split_window = \"whole\"\n{}", pages(",persistent=off"));
    assert!(loaded(&whole) > 3);
}
