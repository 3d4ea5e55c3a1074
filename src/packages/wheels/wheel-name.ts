import { isPackageName, normalName } from "../requirements/package-name.ts";
import { explainVersion } from "../requirements/version-range.ts";

/** What the file name of a wheel says (PEP 427). */
export interface WheelName {
  /** normalised */
  readonly name: string;
  readonly version: string;
  /** 0 without one */
  readonly build: number;
  /** `py3-none-any`, every combination of what the name has with dots */
  readonly tags: readonly string[];
}

const longest = 512;
const tagPart = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/;

/** Undefined: not the name of a wheel. */
export function parseWheelName(file: string): WheelName | undefined {
  if (file.length > longest || !file.endsWith(".whl")) return undefined;
  const parts = file.slice(0, -".whl".length).split("-");
  if (parts.length !== 5 && parts.length !== 6) return undefined;
  const [written = "", escapedVersion = ""] = parts;
  const version = escapedVersion.replaceAll("_", "-");
  const build = parts.length === 6 ? /^(\d{1,9})[A-Za-z0-9_.]*$/.exec(parts[2] ?? "")?.[1] : "0";
  const [pythons = "", abis = "", platforms = ""] = parts.slice(-3);
  if (!isPackageName(written) || !explainVersion(version) || build === undefined) return undefined;
  if (![pythons, abis, platforms].every((part) => tagPart.test(part))) return undefined;
  const [python, abi, platform] = [pythons, abis, platforms].map((part) => part.split(".")) as [
    string[],
    string[],
    string[],
  ];
  // The attack: half a million combinations from one short name.
  if (python.length * abi.length * platform.length > 500) return undefined;
  const tags = python.flatMap((one) => abi.flatMap((two) => platform.map((three) => `${one}-${two}-${three}`)));
  return { name: normalName(written), version, build: Number(build), tags };
}
