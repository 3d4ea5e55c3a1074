import "../escape/resource-bombs.test.ts";
import "../escape/leftovers.test.ts";
