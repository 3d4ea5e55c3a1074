/** Some browsers do not have these yet. `using` and `await using`, compiled for them, need both. */
const symbols = Symbol as { dispose?: symbol; asyncDispose?: symbol };
for (const name of ["dispose", "asyncDispose"] as const) {
  if (symbols[name] === undefined) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}
