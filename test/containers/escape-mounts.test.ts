// Deny globs and read-only rules hold in the engines' bind mounts as they do in ours.
import "../escape/denied-files.test.ts";
import "../escape/nested-mounts.test.ts";
