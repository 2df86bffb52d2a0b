{{/* The name of all that belongs to a release. A pod adds a number, a Service a word: 63 characters in all. */}}
{{- define "connect.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* By these the pods of a release are found. They never change. */}}
{{- define "connect.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "connect.labels" -}}
{{ include "connect.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The variables that a worker's file and connectors may read, as a pattern for whole names. */}}
{{- define "connect.variables" -}}
{{- prepend .Values.secrets.keys "CONNECT_HOST" | join "|" -}}
{{- end -}}
