// The same attacks on placeholders and inspected TLS, in a container of each Linux kernel.
import "../escape/egress-secrets.test.ts";
