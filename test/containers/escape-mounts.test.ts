// Deny globs and read-only rules are enforced in the engines' bind mounts too.
import "../escape/denied-files.test.ts";
import "../escape/nested-mounts.test.ts";
