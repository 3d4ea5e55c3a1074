import "../escape/supervisor-attacks.test.ts";
import "../escape/parked-copy.test.ts";
import "../escape/forged-messages.test.ts";
