{{- /* The name of the objects includes that of the release, so that several releases fit in one cluster. */ -}}
{{- define "sluice.name" -}}
{{- if contains "sluice" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-sluice" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "sluice.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* What the controller reads in a namespace, and the statuses and events that it writes. */ -}}
{{- define "sluice.rules" -}}
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
# Only those of the type kubernetes.io/tls are requested, but RBAC can't express that.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses/status]
  verbs: [patch]
- apiGroups: [gateway.networking.k8s.io]
  resources: [gateways, listenersets, httproutes, grpcroutes, tlsroutes, referencegrants, backendtlspolicies]
  verbs: [list, watch]
- apiGroups: [gateway.networking.k8s.io]
  resources:
    - gateways/status
    - listenersets/status
    - httproutes/status
    - grpcroutes/status
    - tlsroutes/status
    - backendtlspolicies/status
  verbs: [patch]
# Authorities of the Gateway API, in the key ca.crt. Only read if there is a GatewayClass.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, get, patch]
{{- end }}

{{- /* The ports of the Service as more entries of --port-map. */}}
{{- define "sluice.otherPorts" -}}
{{- range list (list .httpPort 8080) (list .httpsPort 8443) }}
{{- $port := int (first .) }}
{{- if not (has $port (list 80 443)) }},{{ $port }}:{{ last . }}{{ end }}
{{- end }}
{{- end }}
