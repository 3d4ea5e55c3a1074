{{- define "codecell.selector" -}}
app.kubernetes.io/name: codecell
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "codecell.labels" -}}
{{ include "codecell.selector" . }}
app.kubernetes.io/part-of: codecell
{{- end }}

{{- define "codecell.publicUrl" -}}
{{- if .Values.publicUrl }}{{ .Values.publicUrl }}{{ else if .Values.ingress.enabled }}https://{{ .Values.ingress.host }}{{ end }}
{{- end }}

{{- define "codecell.pairs" -}}
{{- $separator := "" -}}
{{- range $name, $value := . }}{{ $separator }}{{ $name }}={{ $value }}{{ $separator = "," }}{{ end }}
{{- end }}

{{- define "codecell.anyAddress" -}}
{{ if eq .Values.ipFamily "IPv6" }}::/0{{ else }}0.0.0.0/0{{ end }}
{{- end }}

{{- define "codecell.exceptions" -}}
{{- $separator := "" -}}
{{- range .Values.networkPolicy.cells.except }}
{{- if eq (contains ":" .) (eq $.Values.ipFamily "IPv6") }}{{ $separator }}{{ quote . }}{{ $separator = ", " }}{{ end }}
{{- end }}
{{- end }}
