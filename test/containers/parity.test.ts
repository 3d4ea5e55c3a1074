import "../parity/tiers.test.ts";
