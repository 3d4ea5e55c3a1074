import { z } from "zod";
import { once } from "../../lib/once.ts";
import { duration, size } from "../units.ts";
import { toolGlob } from "./tool-glob.ts";

/** The time that a run may spend in functions of the host. */
const longestMs = 10 * 60_000;
const mostBytes = 16 * 2 ** 20;

/** The schemas of the section `tools`, in a policy and in an override. */
export const toolsSchemas = once(() => {
  /** The rules of the section `tools`, without defaults. */
  const rules = {
    allow: z
      .array(toolGlob())
      .max(256, "at most 256 tools")
      .describe("Tools of other MCP servers that code may call: server/tool. A glob permits read-only tools only."),
    calls: z
      .int("expected a whole number")
      .min(1, "at least 1")
      .max(100_000, "at most 100000")
      .describe("Calls of such tools in one run."),
    timeout: duration()
      .refine((ms) => ms <= longestMs, "at most 10m")
      .describe("Wall-clock limit of one call."),
    arguments: size()
      .refine((bytes) => bytes <= mostBytes, "at most 16MiB")
      .describe("Arguments of one call, as JSON."),
    result: size()
      .refine((bytes) => bytes <= mostBytes, "at most 16MiB")
      .describe("Result of one call, as JSON."),
  } as const;

  /** The section as a policy has it. */
  const section = z
    .strictObject({
      allow: rules.allow.default([]),
      calls: rules.calls.default(100),
      timeout: rules.timeout.prefault("30s"),
      arguments: rules.arguments.prefault("256KiB"),
      result: rules.result.prefault("1MiB"),
    })
    .transform(({ timeout, arguments: sent, result, ...rest }) => {
      return { ...rest, timeoutMs: timeout, argumentsBytes: sent, resultBytes: result };
    });

  /** The section as an override has it. */
  const patch = z
    .strictObject(rules)
    .partial()
    .transform(({ timeout, arguments: sent, result, ...rest }) => {
      return { ...rest, timeoutMs: timeout, argumentsBytes: sent, resultBytes: result };
    });
  return { section, patch };
});
