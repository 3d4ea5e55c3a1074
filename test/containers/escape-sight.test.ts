import "../escape/host-secrets.test.ts";
import "../escape/other-sessions.test.ts";
import "../escape/linux-kernel.test.ts";
import "../escape/watched-files.test.ts";
import "../escape/shared-user-id.test.ts";
