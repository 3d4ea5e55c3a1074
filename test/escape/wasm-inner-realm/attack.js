// Evaluated inside the empty context, after Python has handed out everything that it can reach. No program in a cell gets
// that much. It looks for one object of the outer realm, because one is enough to reach all of Node.
void (async () => {
  const found = [];
  const tried = [];
  const rootOf = (value) => {
    let at = value;
    for (let next = Object.getPrototypeOf(at); next !== null; next = Object.getPrototypeOf(at)) at = next;
    return at;
  };
  const innerRoot = Object.prototype;
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const isOuter = (value) => {
    if (!isObject(value)) return false;
    const root = rootOf(value);
    return root !== value && root !== innerRoot && typeof root.hasOwnProperty === "function";
  };
  const judge = (name, value) => {
    if (isOuter(value)) found.push(`${name}: an object of the outer realm`);
  };
  const attempt = (name, action) => {
    tried.push(name);
    try {
      const value = action();
      judge(name, value);
      return value;
    } catch (error) {
      judge(`${name}, its error`, error);
      return undefined;
    }
  };
  const mustThrow = (name, action) => {
    tried.push(name);
    try {
      action();
      found.push(`${name}: worked`);
    } catch (error) {
      judge(`${name}, its error`, error);
    }
  };

  for (const name of [
    "process",
    "require",
    "module",
    "global",
    "Buffer",
    "fetch",
    "WebSocket",
    "Deno",
    "setImmediate",
  ]) {
    attempt(`global ${name}`, () => {
      if (typeof globalThis[name] !== "undefined") found.push(`global ${name} exists`);
    });
  }

  // Code from strings would bring back every name that was removed.
  const AsyncFunction = (async () => {}).constructor;
  const GeneratorFunction = function* () {}.constructor;
  for (const Constructor of [Function, AsyncFunction, GeneratorFunction]) {
    mustThrow(`new ${Constructor.name}`, () => new Constructor("return 1"));
    mustThrow(`Reflect.construct ${Constructor.name}`, () => Reflect.construct(Constructor, ["return 1"]));
  }
  const evaluate = Reflect.get(globalThis, "eval");
  mustThrow("indirect eval", () => evaluate("1"));
  attempt("timer with a string", () => setTimeout("globalThis.stringTimerRan = true", 0));

  // Every way into a host function, with arguments that throw, lie or call back.
  const trap = new Proxy(
    {},
    {
      get(_target, _key, receiver) {
        judge("proxy receiver", receiver);
        throw new RangeError("trap");
      },
      getPrototypeOf: () => Uint8Array.prototype,
    },
  );
  const liar = { buffer: new ArrayBuffer(8), byteOffset: 0, byteLength: 2 ** 40, length: 2 ** 40 };
  const detached = new Uint8Array(8);
  attempt("detach", () => structuredClone?.(detached.buffer, { transfer: [detached.buffer] }));
  const subclass = new (class extends Uint8Array {
    get byteLength() {
      return 2 ** 33;
    }
    get buffer() {
      throw new TypeError("no buffer");
    }
  })(8);
  const callback = function probe() {
    attempt("caller of a timer", () => probe.caller);
    attempt("this of a timer", () => this);
    attempt("stack of a timer", () => new Error("where").stack);
  };
  const calls = {
    decode: (value) => new TextDecoder().decode(value),
    "decode fatal": (value) => new TextDecoder("utf-8", { fatal: true }).decode(value),
    "decode unknown": (value) => new TextDecoder(`x-${String(value).slice(0, 9)}`).decode(new Uint8Array(3)),
    "decode label": (value) => new TextDecoder(value).decode(new Uint8Array(3)),
    encode: (value) => new TextEncoder().encode(value),
    "encode into": (value) => new TextEncoder().encodeInto("text", value),
    random: (value) => crypto.getRandomValues(value),
    now: () => performance.now(),
    timer: (value) => clearTimeout(setTimeout(value, value)),
    "clear timer": (value) => clearTimeout(value),
    microtask: (value) => queueMicrotask(typeof value === "function" ? value : () => {}),
    console: (value) => console.log(value),
  };
  const hostile = [
    undefined,
    null,
    0,
    -1,
    2 ** 53,
    Number.NaN,
    "",
    "text",
    Symbol("s"),
    1n,
    {},
    [],
    trap,
    liar,
    detached,
    subclass,
    callback,
    new SharedArrayBuffer(8),
    new Float64Array(4),
    new DataView(new ArrayBuffer(4)),
    new Uint8Array(new SharedArrayBuffer(4)),
    {
      valueOf() {
        throw new SyntaxError("valueOf");
      },
      toString() {
        throw new SyntaxError("toString");
      },
    },
  ];
  for (const [name, call] of Object.entries(calls)) {
    hostile.forEach((value, at) => {
      attempt(`${name} with argument ${at}`, () => call(value));
    });
  }

  // A stack overflow inside a host function throws in the outer realm.
  const thrown = [];
  for (const call of Object.values(calls)) {
    const dive = (padding) => {
      try {
        call(new Uint8Array(4));
      } catch (error) {
        if (thrown.length < 20_000) thrown[thrown.length] = error;
      }
      return padding > 0 ? dive(padding - 1) + dive(padding) : dive(0) + 1;
    };
    for (let padding = 0; padding < 2; padding++) {
      try {
        dive(padding);
      } catch (error) {
        thrown[thrown.length] = error;
      }
    }
  }
  tried.push("stack exhaustion");
  for (const error of thrown) judge("stack exhaustion", error);

  // Hooks that an engine or a careless host would call with its own objects.
  const sites = (_error, callSites) => callSites;
  attempt("Error.prepareStackTrace", () => Reflect.set(Error, "prepareStackTrace", sites));
  attempt("define prepareStackTrace", () => Object.defineProperty(Error, "prepareStackTrace", { value: sites }));
  if (Error.prepareStackTrace !== undefined) found.push("Error.prepareStackTrace can be set");
  for (const Kind of [TypeError, RangeError, class Own extends Error {}]) {
    attempt(`prepareStackTrace of ${Kind.name}`, () => {
      Kind.prepareStackTrace = (_error, sites) => {
        for (const site of sites) {
          judge("call site", site);
          judge("call site this", site.getThis?.());
          judge("call site function", site.getFunction?.());
        }
        return sites;
      };
      return new Kind("x").stack;
    });
  }
  const hooked = (what) => () => {
    found.push(`the host called ${what}`);
    return "";
  };
  void Promise.reject({
    [Symbol.for("nodejs.util.inspect.custom")]: hooked("inspect"),
    get stack() {
      return hooked("stack")();
    },
    get message() {
      return hooked("message")();
    },
    toString: hooked("toString"),
    [Symbol.toPrimitive]: hooked("toPrimitive"),
  });
  setTimeout(() => {
    throw { toString: hooked("toString of a thrown value") };
  }, 0);
  await new Promise((resolve) => {
    setTimeout(callback, 1);
    setTimeout(resolve, 20);
  });
  if (globalThis.stringTimerRan) found.push("a timer ran a string");

  // Everything reachable from the global object and from Pyodide's own interface through any property.
  const seen = new Set();
  const queue = [
    ["globalThis", globalThis],
    ["pyodide", Object.stolenByPython],
  ];
  if (!isObject(Object.stolenByPython)) found.push("the test did not hand Pyodide's interface over");
  while (queue.length > 0 && seen.size < 60_000) {
    const [path, value] = queue.pop();
    if (!isObject(value) || seen.has(value) || ArrayBuffer.isView(value)) continue;
    seen.add(value);
    judge(path, value);
    try {
      queue.push([`${path}.__proto__`, Object.getPrototypeOf(value)]);
      for (const key of Reflect.ownKeys(value)) {
        const property = Object.getOwnPropertyDescriptor(value, key);
        const name = `${path.slice(-120)}.${String(key)}`;
        for (const part of [property?.get, property?.set, property?.value]) queue.push([name, part]);
        if (property?.get) queue.push([name, attempt("a getter", () => property.get.call(value))]);
      }
    } catch (error) {
      judge(`${path}, its error`, error);
    }
  }
  tried.push(`walk over ${seen.size} objects`);
  if (seen.size < 1000) found.push("the walk saw too little");

  // The one expression that reaches the host's module loader. Code from strings is disabled, so an attacker cannot write it.
  tried.push("literal import()");
  try {
    await import("node:fs");
    found.push("import() gave a module");
  } catch (error) {
    // Its error is the only outer object; it must lead nowhere.
    tried.push("code through the loader's error");
    try {
      error.constructor.constructor("return process")();
      found.push("code through the loader's error: worked");
    } catch {}
    tried.push("a change of the loader's prototypes");
    if (Reflect.set(rootOf(error), "polluted", true)) found.push("a change of the loader's prototypes: worked");
  }

  // Prototype pollution in the inner realm; the test checks the outer realm afterwards.
  Object.prototype.polluted = true;
  Array.prototype[Symbol.iterator] = hooked("an inner iterator");
  Uint8Array.prototype.subarray = hooked("an inner subarray");
  Uint8Array.prototype.set = hooked("an inner set");
  Reflect.set(Promise.prototype, "then", hooked("an inner then"));
  JSON.stringify = hooked("an inner stringify");
  let report = "";
  const all = { found, tried };
  for (const name in all) {
    if (name === "polluted") continue;
    for (let at = 0; at < all[name].length; at++) report += `${name}\t${all[name][at]}\n`;
  }
  globalThis.attackReport = report;
})();
