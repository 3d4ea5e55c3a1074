// Every preset starts in the engines too.
import "../contract/presets.test.ts";
