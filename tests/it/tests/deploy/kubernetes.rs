//! Consistency of the Kubernetes manifests: names, versions, labels, database sessions.

use yaml_rust2::Yaml;

use crate::files::{containers, deployments, document, documents, effective, number, read, setting, text};

/// The version that the workspace has.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn pod(workload: &Yaml) -> &Yaml {
    &workload["spec"]["template"]["spec"]
}

#[test]
fn deployment_files_name_the_programs_version() {
    let migrate = document("deploy/kubernetes/base/migrate.yaml", "Job");
    let job = format!("listen-migrate-{}", VERSION.replace('.', "-"));
    assert_eq!(
        text(&migrate["metadata"]["name"]),
        job,
        "a Job cannot be changed, so each version has its own"
    );
    for place in ["base", "example"] {
        let file = &documents(&format!("deploy/kubernetes/{place}/kustomization.yaml"))[0];
        assert_eq!(text(&file["images"][0]["newTag"]), VERSION, "{place}");
    }
    for file in ["deploy/cloud-run/service.yaml", "deploy/cloud-run/job.yaml", "deploy/compose.yaml"] {
        assert!(read(file).contains(&format!("listen:{VERSION}")), "{file}");
    }
}

#[test]
fn migrate_job_and_service_have_the_same_database_settings() {
    let migrate = document("deploy/kubernetes/base/migrate.yaml", "Job");
    let of = |workload: &Yaml| pod(workload)["containers"][0].clone();
    let named = |entry: &Yaml, from: &str| entry[from]["name"].as_str().map(str::to_owned);
    for serves in deployments().iter().map(of) {
        for from in ["configMapRef", "secretRef"] {
            let sources = |container: &Yaml| -> Vec<String> {
                let all = container["envFrom"].as_vec().into_iter().flatten();
                all.filter_map(|entry| named(entry, from))
                    .filter(|name| name != "listen" || from == "secretRef")
                    .collect()
            };
            assert_eq!(sources(&of(&migrate)), sources(&serves), "{from}");
            assert!(!sources(&serves).is_empty(), "{from}");
        }
    }
    let job = document("deploy/cloud-run/job.yaml", "Job");
    let job = job["spec"]["template"]["spec"]["template"]["spec"]["containers"][0]["env"].clone();
    let serves = document("deploy/cloud-run/service.yaml", "Service");
    let serves = pod(&serves)["containers"][0]["env"].clone();
    for name in ["DATABASE_URL", "LISTEN_SHARDS", "LISTEN_SHARD_URLS"] {
        let told = |env: &Yaml| {
            env.as_vec().into_iter().flatten().find(|entry| text(&entry["name"]) == name).cloned()
        };
        assert_eq!(told(&job), told(&serves), "{name}");
    }
}

#[test]
fn pods_run_as_non_root_with_a_read_only_file_system() {
    let migrate = document("deploy/kubernetes/base/migrate.yaml", "Job");
    for workload in deployments().iter().chain([&migrate]) {
        let (pod, name) = (pod(workload), text(&workload["metadata"]["name"]));
        assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false), "{name}");
        let (all, own) = (&pod["securityContext"], &pod["containers"][0]["securityContext"]);
        assert_eq!(all["runAsNonRoot"].as_bool(), Some(true), "{name}");
        assert_eq!(number(&all["runAsUser"]), 65_532, "{name}: the image's user");
        assert_eq!(text(&all["seccompProfile"]["type"]), "RuntimeDefault", "{name}");
        assert_eq!(own["readOnlyRootFilesystem"].as_bool(), Some(true), "{name}");
        assert_eq!(own["allowPrivilegeEscalation"].as_bool(), Some(false), "{name}");
        assert_eq!(text(&own["capabilities"]["drop"][0]), "ALL", "{name}");
        assert!(
            pod["initContainers"].is_badvalue(),
            "{name}: pods that start together would migrate together"
        );
    }
}

#[test]
fn kubernetes_selectors_match_their_pods() {
    for deployment in deployments() {
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
        let budgets = documents("deploy/kubernetes/base/disruption.yaml");
        let name = &deployment["metadata"]["name"];
        let budget = budgets.iter().find(|budget| &budget["metadata"]["name"] == name).expect("a budget");
        assert_eq!(&budget["spec"]["selector"]["matchLabels"], labels);
        for spread in pod(&deployment)["topologySpreadConstraints"].as_vec().expect("it is spread") {
            assert_eq!(&spread["labelSelector"]["matchLabels"], labels);
        }
    }
    let service = document("deploy/kubernetes/base/service.yaml", "Service");
    let api = &deployments()[0];
    assert_eq!(service["spec"]["selector"], api["spec"]["template"]["metadata"]["labels"]);
    let secret = "listen-database-app";
    for deployment in deployments() {
        let env = pod(&deployment)["containers"][0]["env"].as_vec().expect("settings");
        let url = env.iter().find(|entry| text(&entry["name"]) == "DATABASE_URL").expect("the database");
        assert_eq!(text(&url["valueFrom"]["secretKeyRef"]["name"]), secret);
    }
    let cluster = document("deploy/kubernetes/cloudnativepg/cluster.yaml", "Cluster");
    assert_eq!(format!("{}-app", text(&cluster["metadata"]["name"])), secret, "as CloudNativePG names it");
}

#[test]
fn database_allows_the_sessions_of_autoscaling_and_rolling_updates() {
    let cluster = document("deploy/kubernetes/cloudnativepg/cluster.yaml", "Cluster");
    let allowed: i64 =
        text(&cluster["spec"]["postgresql"]["parameters"]["max_connections"]).parse().expect("a number");
    let api = document("deploy/kubernetes/hpa/api.yaml", "HorizontalPodAutoscaler");
    let worker = document("deploy/kubernetes/keda/worker.yaml", "ScaledObject");
    let most = number(&api["spec"]["maxReplicas"]) + number(&worker["spec"]["maxReplicaCount"]);
    let surge: i64 = deployments()
        .iter()
        .map(|deployment| number(&deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"]))
        .sum();
    for container in containers().iter().filter(|container| container.place.starts_with("kubernetes")) {
        let settings = effective(&container.place, &container.env);
        // Two renew leases, one listens for wake-ups.
        let each = setting(&settings, "database_connections") + 3;
        let needed = (most + surge) * each + 10;
        assert!(needed <= allowed, "{}: {needed} sessions, and {allowed} are allowed", container.place);
    }
}

#[test]
fn synchronous_replication_keeps_commits_on_two_machines() {
    let cluster = document("deploy/kubernetes/cloudnativepg/cluster.yaml", "Cluster");
    let synchronous = &cluster["spec"]["postgresql"]["synchronous"];
    assert_eq!(text(&synchronous["dataDurability"]), "required");
    assert!(number(&synchronous["number"]) >= 1 && number(&cluster["spec"]["instances"]) >= 3);
}

#[test]
fn autoscaled_deployment_has_no_replicas_and_workers_keep_a_minimum() {
    for (place, target) in [("hpa", "listen-api"), ("keda", "listen-worker")] {
        let file = &documents(&format!("deploy/kubernetes/{place}/kustomization.yaml"))[0];
        let patch = &file["patches"][0];
        assert_eq!(text(&patch["target"]["name"]), target);
        assert!(text(&patch["patch"]).contains("{op: remove, path: /spec/replicas}"), "{place}");
    }
    let worker = document("deploy/kubernetes/keda/worker.yaml", "ScaledObject");
    assert!(number(&worker["spec"]["minReplicaCount"]) >= 2, "webhooks and reminders are workers' work");
    assert!(number(&worker["spec"]["fallback"]["replicas"]) >= 2);
}
