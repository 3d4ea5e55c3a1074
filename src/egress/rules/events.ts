import type { Denial, Via } from "./decide.ts";

/** What the proxy decided and what came of it; everything in it is text that a cell chose, cut and made printable. */
export type EgressEvent =
  | {
      readonly type: "allowed";
      /** tells the connections of one session apart */
      readonly id: number;
      readonly via: Via;
      readonly host: string;
      readonly port: number;
      /** the entry of the allowlist */
      readonly rule: string;
    }
  | ({
      readonly type: "denied";
      readonly via: Via;
      readonly host: string;
      readonly port: number;
      /** what the name led to, where that is the reason; for the record, the cell is not told */
      readonly address?: string | undefined;
    } & Pick<Denial, "code" | "reason" | "remedy">)
  /** allowed, and not reached */
  | {
      readonly type: "failed";
      readonly via: Via;
      readonly host: string;
      readonly port: number;
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
      /** why nothing came of it */
      readonly failure?: string | undefined;
    };

export type OnEgressEvent = (event: EgressEvent) => void;

/** Text of a client, fit for a record and for a status line. */
export function printable(text: string, maxLength = 120): string {
  const clean = text.replace(/[^\x20-\x7e]/g, "?");
  return clean.length > maxLength ? `${clean.slice(0, maxLength)}...` : clean;
}
