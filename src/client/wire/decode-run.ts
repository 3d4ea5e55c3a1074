import type { WireRun } from "../../service/wire/runs/run.ts";
import type { RunEgress } from "../../sessions/network/egress-record.ts";
import type { DisplayEvent, RunResult, RunUsage } from "../../sessions/runs/run.ts";
import { fromBase64 } from "./base64.ts";
import { decodeArtifact, decodeLeftOut, type RemoteArtifact } from "./decode-files.ts";
import { decodeReceipt } from "./decode-receipt.ts";
import { Fields } from "./fields.ts";

/** The result of a run on a service: the library's, with the id of the run and links to its files. */
export interface RemoteRunResult extends RunResult {
  readonly runId: string;
  readonly artifacts: readonly RemoteArtifact[];
}

type Ended = Exclude<WireRun["status"], "running">;
const endings = [
  ...(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled"] as const),
] satisfies readonly Ended[];

/** A display of a result. `isMissing`: it was too large for the result, and its content is empty. */
export interface DecodedDisplay {
  readonly event: DisplayEvent;
  readonly isMissing: boolean;
}

/** An ended run, as the library has it. */
export function decodeRun(value: unknown): { result: RemoteRunResult; displays: readonly DecodedDisplay[] } {
  const run = new Fields(value, "the run");
  const id = run.count("number");
  const left = run.object("left_out_bytes");
  const line = run.optional("stopped_at_line", run.count);
  const usage = decodeUsage(run.object("usage"));
  const egress = run.optional("egress", run.object);
  const displays = run.list("displays", decodeDisplay);
  const result: RemoteRunResult = {
    ...{ id, runId: run.text("run_id") },
    status: run.oneOf("status", endings),
    state: run.oneOf("state", ["kept", "recovered", "lost"]),
    exitCode: run.optional("exit_code", run.number),
    ...{ stdout: run.text("stdout"), stderr: run.text("stderr"), value: run.optional("value", run.text) },
    error: run.optional("error", (name) => decodeError(run.object(name))),
    ...(line === undefined ? {} : { stoppedAtLine: line }),
    displays: displays.map(({ event }) => event),
    truncated: run.flag("truncated"),
    ...{ stdoutBytes: run.count("stdout_bytes"), stderrBytes: run.count("stderr_bytes") },
    leftOutBytes: { stdout: left.count("stdout"), stderr: left.count("stderr") },
    notes: run.texts("notes"),
    recoveredTo: run.optional("recovered_to", run.count),
    artifacts: run.list("artifacts", (item, what) => decodeArtifact(item, what, id)),
    leftOut: run.list("left_out", decodeLeftOut),
    ...(egress ? { egress: decodeEgress(egress, usage) } : {}),
    ...{ durationMs: run.number("duration_ms"), usage, runner: run.text("runner") },
    receipt: decodeReceipt(run.any("receipt")),
  };
  return { result, displays };
}

/** One form of a displayed value, of a result or of an event. */
export function decodeDisplay(value: unknown, what: string): DecodedDisplay {
  const display = new Fields(value, what);
  const data = display.optional("data_base64", display.text);
  const stdoutOffset = display.optional("stdout_offset", display.count);
  return {
    event: {
      ...{ type: "display", display: display.count("display"), mime: display.text("mime_type") },
      data: fromBase64(data ?? ""),
      ...(stdoutOffset === undefined ? {} : { stdoutOffset }),
    },
    isMissing: data === undefined,
  };
}

function decodeError(error: Fields): RunResult["error"] {
  return { name: error.text("type"), message: error.text("message"), traceback: error.text("traceback") };
}

function decodeUsage(usage: Fields): RunUsage {
  return {
    cpuMs: usage.optional("cpu_ms", usage.number),
    peakMemoryBytes: usage.optional("peak_memory_bytes", usage.number),
    wallMs: usage.number("wall_ms"),
    ...{ sentBytes: usage.count("sent_bytes"), receivedBytes: usage.count("received_bytes") },
  };
}

function decodeEgress(egress: Fields, { sentBytes, receivedBytes }: RunUsage): RunEgress {
  return {
    allowed: egress.list("allowed", (item, what) => {
      const host = new Fields(item, what);
      const failure = host.optional("failure", host.text);
      return {
        ...{ host: host.text("host"), port: host.count("port"), requests: host.count("requests") },
        ...{ sentBytes: host.count("sent_bytes"), receivedBytes: host.count("received_bytes") },
        ...{ failures: host.count("failures"), ...(failure === undefined ? {} : { failure }) },
      };
    }),
    denied: egress.list("denied", (item, what) => {
      const host = new Fields(item, what);
      return {
        ...{ host: host.text("host"), port: host.count("port"), requests: host.count("requests") },
        ...{ reason: host.text("reason"), remedy: host.text("remedy") },
      };
    }),
    ...{ more: egress.count("more"), sentBytes, receivedBytes },
  };
}
