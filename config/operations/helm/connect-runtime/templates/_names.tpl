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

{{/* A value in the workers' file. Helm has numbers as floating point, and would write a million as 1e+06. */}}
{{- define "connect.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}
{{- int64 . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* What the listener of service.port speaks, as config.listeners says. */}}
{{- define "connect.scheme" -}}
{{- $secure := printf `(?i)(^|,)\s*https://[^,]*:%v/?\s*(,|$)` .Values.service.port -}}
{{- ternary "https" "http" (regexMatch $secure (toString (index .Values.config "listeners"))) -}}
{{- end -}}
