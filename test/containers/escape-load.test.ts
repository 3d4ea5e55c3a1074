import "../escape/resource-bombs.test.ts";
import "../escape/socket-memory.test.ts";
import "../escape/leftovers.test.ts";
import "../escape/terminals.test.ts";
