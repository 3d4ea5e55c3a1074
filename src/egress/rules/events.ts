import type { Denial, Via } from "./decide.ts";

/** Decisions of the proxy and their outcome. Text from a cell is truncated and made printable. */
export type EgressEvent =
  | {
      readonly type: "allowed";
      /** unique within the session */
      readonly id: number;
      readonly via: Via;
      readonly host: string;
      readonly port: number;
      /** the allowlist entry */
      readonly rule: string;
    }
  | ({
      readonly type: "denied";
      readonly via: Via;
      readonly host: string;
      readonly port: number;
      /** the resolved address, if that is the reason; only for the log, the cell does not see it */
      readonly address?: string | undefined;
    } & Pick<Denial, "code" | "reason" | "remedy">)
  /** allowed, but not reached */
  | {
      readonly type: "failed";
      readonly via: Via;
      readonly host: string;
      readonly port: number;
      /** the allowlist entry */
      readonly rule?: string | undefined;
      readonly reason: string;
    }
  /** bytes so far, and at the end */
  | {
      readonly type: "progress" | "closed";
      readonly id: number;
      readonly host: string;
      readonly port: number;
      readonly sentBytes: number;
      readonly receivedBytes: number;
      /** why it failed */
      readonly failure?: string | undefined;
    };

export type OnEgressEvent = (event: EgressEvent) => void;

/** Untrusted text, made safe for the log and for a status line. */
export function printable(text: string, maxLength = 120): string {
  const clean = text.replace(/[^\x20-\x7e]/g, "?");
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}...` : clean;
}
