import "../parity/attacks.test.ts";
import "../parity/tiers.test.ts";
