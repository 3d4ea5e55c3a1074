// A workspace over its limit starts in the engines too.
import "../contract/full-disk.test.ts";
