# Every manifest is rendered and held against the schemas of Kubernetes, without a cluster.

# The oldest version that knows everything we use, and the newest that the schemas know.
VERSIONS="1.29 1.37"

test_manifests() {
    local venv=$root/target/kubernetes-validate
    if ! "$venv/bin/python" -c 'import kubernetes_validate' 2>/dev/null; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --requirement "$here/tests/requirements.txt"
    fi
    "$here/kubernetes/monitoring/regenerate" "$WORK/rules.yaml"
    cmp -s "$here/kubernetes/monitoring/rules.yaml" "$WORK/rules.yaml" ||
        fail "dashboards/rules have changed: run deploy/kubernetes/monitoring/regenerate"
    mkdir -p "$WORK/rendered"
    if command -v kubectl >/dev/null && kubectl kustomize "$here/kubernetes/base" >/dev/null 2>&1; then
        for overlay in base example; do
            kubectl kustomize "$here/kubernetes/$overlay" >"$WORK/rendered/$overlay.yaml"
        done
        # Each addition by itself, on the base.
        for addition in keda keda-prometheus hpa monitoring cloudnativepg cloud-tasks; do
            mkdir -p "$WORK/alone/$addition"
            cp -r "$here/kubernetes" "$WORK/alone/$addition/"
            printf 'resources: [kubernetes/base]\ncomponents: [kubernetes/%s]\n' "$addition" \
                >"$WORK/alone/$addition/kustomization.yaml"
            kubectl kustomize "$WORK/alone/$addition" >"$WORK/rendered/$addition.yaml"
        done
    else
        echo "without kubectl the files are checked one by one, and not as kustomize puts them together"
        cat "$here"/kubernetes/*/[!k]*.yaml | sed 's/^apiVersion/---\napiVersion/' >"$WORK/rendered/all.yaml"
    fi
    "$venv/bin/python" "$here/tests/validate.py" "$WORK/rendered" $VERSIONS
}
