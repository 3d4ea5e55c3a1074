import { z } from "zod";
import { duration, size } from "../units.ts";
import { toolGlob } from "./tool-glob.ts";

/** The time that a run may spend in functions of the host. */
const longestMs = 10 * 60_000;
const mostBytes = 16 * 2 ** 20;

/** The rules of the section `tools`, without defaults. */
export const toolRules = {
  allow: z
    .array(toolGlob)
    .max(256, "at most 256 tools")
    .describe("Tools of other MCP servers that code may call: server/tool. A glob permits read-only tools only."),
  calls: z
    .int("expected a whole number")
    .min(1, "at least 1")
    .max(100_000, "at most 100000")
    .describe("Calls of such tools in one run."),
  timeout: duration.refine((ms) => ms <= longestMs, "at most 10m").describe("Wall-clock limit of one call."),
  arguments: size.refine((bytes) => bytes <= mostBytes, "at most 16MiB").describe("Arguments of one call, as JSON."),
  result: size.refine((bytes) => bytes <= mostBytes, "at most 16MiB").describe("Result of one call, as JSON."),
} as const;

/** The section as a policy has it. */
export const toolsSection = z
  .strictObject({
    allow: toolRules.allow.default([]),
    calls: toolRules.calls.default(100),
    timeout: toolRules.timeout.prefault("30s"),
    arguments: toolRules.arguments.prefault("256KiB"),
    result: toolRules.result.prefault("1MiB"),
  })
  .transform(({ timeout, arguments: sent, result, ...rest }) => {
    return { ...rest, timeoutMs: timeout, argumentsBytes: sent, resultBytes: result };
  });

/** The section as an override has it. */
export const patchedTools = z
  .strictObject(toolRules)
  .partial()
  .transform(({ timeout, arguments: sent, result, ...rest }) => {
    return { ...rest, timeoutMs: timeout, argumentsBytes: sent, resultBytes: result };
  });
