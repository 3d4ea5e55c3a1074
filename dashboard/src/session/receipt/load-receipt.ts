import type { WireReceipt } from "../../../../src/service/wire/receipt.ts";
import type { WireRunSummary } from "../../../../src/service/wire/runs/run-summary.ts";
import { getJson, type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";

/** A receipt and what it is about; `none`: there is no cell and no run whose receipt is kept. */
export type FoundReceipt =
  | { readonly of: "cell"; readonly receipt: WireReceipt }
  | { readonly of: "run"; readonly receipt: WireReceipt }
  | { readonly of: "none" };

/** The receipt of the cell if the session has one, otherwise of its last run. It starts no cell. */
export async function loadReceipt(session: SessionRef, hasCell: boolean, signal: AbortSignal): Promise<FoundReceipt> {
  if (hasCell) {
    const { receipt } = await getJson<{ receipt: WireReceipt }>(sessionPath(session, "/cell"), { signal });
    return { of: "cell", receipt };
  }
  const { runs } = await getJson<{ runs: readonly WireRunSummary[] }>(sessionPath(session, "/runs"), { signal });
  const last = runs.findLast(({ status }) => status !== "running" && status !== "failed");
  if (!last) return { of: "none" };
  const path = sessionPath(session, `/runs/${pathPart(last.run_id)}/receipt`);
  return { of: "run", receipt: await getJson<WireReceipt>(path, { signal }) };
}
