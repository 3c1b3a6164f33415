//! Settings, ports and paths.

use std::collections::BTreeSet;

use crate::files::{
    Env, containers, document, documents, effective, number, read, setting, shared, sources_below, text,
    with_cloud_tasks,
};

/// The names of every setting, as the sources declare them.
fn known() -> BTreeSet<String> {
    let sources = sources_below("src");
    let named = sources.split("env = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let known: BTreeSet<String> = named.map(str::to_owned).collect();
    assert!(known.len() > 40, "the settings were found");
    known
}

#[test]
fn deployment_files_name_existing_settings() {
    let known = known();
    let mut seen = 0;
    let mut check = |place: &str, name: &str| {
        assert!(known.contains(name), "{place}: nobody reads {name}");
        seen += 1;
    };
    for container in containers() {
        container.env.keys().for_each(|name| check(&container.place, name));
    }
    for secret in documents("deploy/kubernetes/base/secret.example.yaml") {
        for (name, _) in secret["stringData"].as_hash().into_iter().flatten() {
            if text(name) != "uri" {
                check("secret.example.yaml", text(name));
            }
        }
    }
    assert!(seen > 40, "settings were found: {seen}");
}

#[test]
fn deployment_environments_are_valid_settings() {
    for container in containers() {
        let settings = effective(&container.place, &container.env);
        assert_eq!(settings["finalization_dispatch_mode"], "postgres", "{}", container.place);
    }
}

#[test]
fn deployment_with_a_task_queue_is_valid_and_load_balancer_timeout_covers_a_run() {
    let waits = document("deploy/kubernetes/cloud-tasks/backend-config.yaml", "BackendConfig");
    for container in containers().into_iter().filter(|container| container.place.starts_with("kubernetes")) {
        let settings = effective(&container.place, &with_cloud_tasks(container.env));
        assert_eq!(settings["finalization_dispatch_mode"], "cloud_tasks", "{}", container.place);
        let longest_run = setting(&settings, "finalization_run_timeout_seconds");
        assert!(number(&waits["spec"]["timeoutSec"]) > longest_run, "{}", container.place);
    }
}

#[test]
fn deployment_pods_cover_every_role() {
    for kind in ["kubernetes", "compose"] {
        let of_kind = containers().into_iter().filter(|container| container.place.starts_with(kind));
        let roles: Vec<String> = of_kind
            .flat_map(|container| {
                container.env["LISTEN_ROLES"].split(',').map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(roles, ["api", "worker", "reconciler"], "{kind}");
    }
}

/// The port behind the last colon.
fn port(env: &Env, name: &str) -> i64 {
    let (_, port) = env[name].rsplit_once(':').expect("an address has a port");
    port.parse().expect("a port is a number")
}

#[test]
fn deployment_ports_match_the_settings() {
    let shared = shared();
    let (public, admin) = (port(&shared, "LISTEN_ADDR"), port(&shared, "LISTEN_ADMIN_ADDR"));
    for container in containers().iter().filter(|container| container.place.starts_with("kubernetes")) {
        for named in container.yaml["ports"].as_vec().expect("a container has ports") {
            let expected = match text(&named["name"]) {
                "http" => public,
                "admin" => admin,
                other => panic!("{}: a port {other}", container.place),
            };
            assert_eq!(named["containerPort"].as_i64(), Some(expected), "{}", container.place);
        }
    }
    let network = &documents("deploy/kubernetes/base/network.yaml")[0];
    let opened: Vec<i64> = network["spec"]["ingress"]
        .as_vec()
        .expect("rules")
        .iter()
        .flat_map(|rule| {
            rule["ports"].as_vec().expect("ports").iter().filter_map(|port| port["port"].as_i64())
        })
        .collect();
    assert_eq!(opened, [public, admin]);
    assert_eq!(network["spec"]["ingress"][1]["from"].as_vec().map(Vec::len), Some(1), "not everybody's");

    let image = read("deploy/container/Containerfile");
    for words in [format!("LISTEN_ADDR=0.0.0.0:{public}"), format!("LISTEN_ADMIN_ADDR=0.0.0.0:{admin}")] {
        assert!(image.contains(&words), "the image sets {words}");
    }
    assert!(image.contains(&format!("\nEXPOSE {public} {admin}\n")));
    let monitor = &documents("deploy/kubernetes/monitoring/pods.yaml")[0]["spec"]["podMetricsEndpoints"][0];
    assert_eq!((text(&monitor["port"]), text(&monitor["path"])), ("admin", "/metrics"));
}

#[test]
fn probes_use_the_admin_address_and_liveness_ignores_the_database() {
    let routes = read("src/admin.rs");
    for container in containers().iter().filter(|container| !container.place.starts_with("compose")) {
        let admin = port(&container.env, "LISTEN_ADMIN_ADDR");
        for name in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let probe = &container.yaml[name]["httpGet"];
            if probe.is_badvalue() {
                assert_eq!((container.place.as_str(), name), ("cloud-run", "readinessProbe"));
                continue;
            }
            let path = text(&probe["path"]);
            assert!(routes.contains(&format!("route(\"{path}\"")), "{}: {path} is no route", container.place);
            assert!(
                probe["port"].as_str() == Some("admin") || probe["port"].as_i64() == Some(admin),
                "{} {name}",
                container.place
            );
            match name {
                "livenessProbe" => assert_eq!(path, "/livez", "{}", container.place),
                "readinessProbe" => assert_eq!(path, "/readyz", "{}", container.place),
                _ => {}
            }
        }
    }
}
