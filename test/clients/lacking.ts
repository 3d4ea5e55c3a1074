import { existsSync } from "node:fs";
import { availableRunners } from "../e2e/codecell-process.ts";
import { type ClientName, installed } from "./installed.ts";

/** Whether something that a group of tests needs is missing. The tests are then skipped with the reason, and fail in CI. */
export async function lacking(...needs: (ClientName | "process runner")[]): Promise<boolean> {
  const absent: string[] = [];
  for (const need of needs) {
    const isHere =
      need === "process runner" ? (await availableRunners()).includes("process") : existsSync(installed[need]);
    if (!isHere) absent.push(need);
  }
  if (absent.length === 0) return false;
  const text = `no ${absent.join(" and no ")} on ${process.platform}-${process.arch}`;
  if (process.env.CI) throw new Error(text);
  process.stderr.write(`skipped: ${text}\n`);
  return true;
}
