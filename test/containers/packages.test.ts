import "../parity/packages.test.ts";
