import { randomFillSync } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { AnswerSize } from "./answers.ts";
import type { HostFunctions } from "./inner-realm.ts";
import { type OutputTail, restOfCharacter, wholeCharacters } from "./output-tail.ts";
import { type OutputCounters, type RingWriter, recordKinds } from "./ring.ts";

const maxTimers = 10_000;
/** Node fires a longer timer immediately. */
const maxTimerMs = 2 ** 31 - 1;
const maxDecoders = 50;
/** Python escapes everything except ASCII, so a header is up to six times longer here than on the channel. */
const maxHeaderCharacters = 1024 * 1024;
const maxBodyBytes = 3 * 1024 * 1024;

export interface Outlet {
  readonly ring: RingWriter;
  readonly counters: OutputCounters;
  readonly tail: OutputTail;
  died(reason: string): void;
  /** Reads standard input; see `StdinReader`. */
  read(into: Uint8Array): number;
  /** The next answer to a call; see `AnswerReader`. */
  nextAnswer(): AnswerSize | undefined;
  takeAnswer(header: Uint8Array, body: Uint8Array): void;
}

/** The only functions that the empty context can call. Arguments come from an attacker: validate and copy, never inspect. */
export function hostFunctions(outlet: Outlet): HostFunctions {
  const encoder = new TextEncoder();
  const timers = timerFunctions();
  return {
    ...timers,
    write(descriptor, bytes) {
      const kind = descriptor === 2 ? recordKinds.stderr : recordKinds.stdout;
      const view = ownView(bytes);
      const room = outlet.counters.take(kind, view.length);
      const isFirstHeld = room < view.length && !outlet.tail.has(kind);
      const whole = room < view.length ? wholeCharacters(view, room) : room;
      const passed = isFirstHeld ? Math.max(whole, restOfCharacter(view)) : whole;
      if (passed > 0) outlet.ring.write(kind, view.subarray(0, passed));
      if (passed < view.length) outlet.tail.add(kind, view.subarray(passed));
    },
    send(header, body) {
      if (typeof header !== "string" || header.length > maxHeaderCharacters) throw new Error("header");
      const bytes = body === undefined ? new Uint8Array(0) : ownView(body);
      if (bytes.length > maxBodyBytes) throw new Error("body");
      const text = encoder.encode(header);
      const prefix = new Uint8Array(4);
      new DataView(prefix.buffer).setUint32(0, text.length, true);
      outlet.ring.write(recordKinds.message, prefix, text, bytes);
    },
    read: (into) => outlet.read(ownView(into)),
    nextAnswer: (sizes) => {
      const size = outlet.nextAnswer();
      if (size === undefined) return false;
      const numbers = ownView(sizes);
      new DataView(numbers.buffer, numbers.byteOffset, numbers.byteLength).setUint32(0, size.headerBytes, true);
      new DataView(numbers.buffer, numbers.byteOffset, numbers.byteLength).setUint32(4, size.bodyBytes, true);
      return true;
    },
    takeAnswer: (header, body) => outlet.takeAnswer(ownView(header), ownView(body)),
    died(reason) {
      outlet.died(typeof reason === "string" ? reason.slice(0, 2000) : "");
    },
    now: () => performance.now(),
    fillRandom(bytes) {
      randomFillSync(ownView(bytes));
    },
    decode: decodeFunction(),
    encode(text, into) {
      return typeof text === "string" ? encoder.encodeInto(text, ownView(into)).written : 0;
    },
  };
}

function timerFunctions(): Pick<HostFunctions, "setTimer" | "clearTimer"> {
  const timers = new Map<number, NodeJS.Timeout>();
  let last = 0;
  return {
    setTimer(callback, ms) {
      if (timers.size >= maxTimers || typeof callback !== "function" || typeof ms !== "number") return 0;
      const id = ++last;
      const fire = () => {
        timers.delete(id);
        callback();
      };
      timers.set(id, setTimeout(fire, Math.min(Math.max(ms, 0), maxTimerMs)));
      return id;
    },
    clearTimer(id) {
      clearTimeout(timers.get(id));
      timers.delete(id);
    },
  };
}

function decodeFunction(): HostFunctions["decode"] {
  const decoders = new Map<string, InstanceType<typeof TextDecoder>>();
  return (bytes, encoding, isFatal) => {
    if (typeof encoding !== "string") return undefined;
    const key = `${encoding} ${isFatal === true}`;
    const known = decoders.get(key);
    const decoder = known ?? new TextDecoder(encoding.slice(0, 40), { fatal: isFatal === true, ignoreBOM: true });
    if (known === undefined && decoders.size < maxDecoders) decoders.set(key, decoder);
    try {
      return decoder.decode(ownView(bytes));
    } catch {
      return undefined;
    }
  };
}

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const bufferOf = getter("buffer");
const offsetOf = getter("byteOffset");
const lengthOf = getter("byteLength");

function getter(name: string): (view: unknown) => unknown {
  const get = Object.getOwnPropertyDescriptor(typedArray, name)?.get;
  if (get === undefined) throw new Error(`no ${name}`);
  return (view) => Reflect.apply(get, view, []);
}

/** An outer view of the same bytes. The engine's getters read internal slots, so a proxy or a forged length throws. */
function ownView(view: unknown): Uint8Array {
  return new Uint8Array(bufferOf(view) as ArrayBuffer, offsetOf(view) as number, lengthOf(view) as number);
}
