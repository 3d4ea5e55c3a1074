import "../escape/host-secrets.test.ts";
import "../escape/other-sessions.test.ts";
import "../escape/linux-kernel.test.ts";
