// The same attacks on placeholders and inspected TLS, in every tier that has an engine.
import "../escape/egress-secrets.test.ts";
