{{- define "codecell.selector" -}}
app.kubernetes.io/name: codecell
app.kubernetes.io/instance: {{ .Release.Name }}
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
