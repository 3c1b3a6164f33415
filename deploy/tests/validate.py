"""Holds rendered manifests against the schemas of Kubernetes. Kinds that only operators know are listed here by name: a kind that
is neither known to Kubernetes nor on the list fails, and so does one whose schema was not applied."""

import pathlib
import sys

import kubernetes_validate
import yaml

# What the operators' own admission checks, and tests/it/tests/deploy for the fields that we use.
OF_OPERATORS = {
    "keda.sh/v1alpha1": {"ScaledObject", "TriggerAuthentication"},
    "monitoring.coreos.com/v1": {"PodMonitor", "PrometheusRule"},
    "postgresql.cnpg.io/v1": {"Cluster", "ScheduledBackup"},
    "barmancloud.cnpg.io/v1": {"ObjectStore"},
    "cloud.google.com/v1": {"BackendConfig"},
}

folder, versions = pathlib.Path(sys.argv[1]), sys.argv[2:]
checked, problems = 0, []
for file in sorted(folder.glob("*.yaml")):
    for document in yaml.safe_load_all(file.read_text()):
        if document is None:
            continue
        place = f"{file.name}: {document['kind']} {document['metadata']['name']}"
        if document["kind"] in OF_OPERATORS.get(document["apiVersion"], ()):
            continue
        for version in versions:
            try:
                kubernetes_validate.validate(document, version, strict=True)
                checked += 1
            except kubernetes_validate.ValidationError as error:
                problems.append(f"{place} ({version}): {'.'.join(map(str, error.path))}: {error.message}")
            except (kubernetes_validate.SchemaNotFoundError, kubernetes_validate.InvalidSchemaError) as error:
                problems.append(f"{place} ({version}): {error}")
print(f"{checked} objects were held against the schemas of {' and '.join(versions)}")
if problems or not checked:
    sys.exit("\n".join(problems) or "nothing was checked")
