import { noExactDisk } from "../support/exact-disk.ts";
import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { exactDisk } from "./receipts/policies.ts";
import { enforcedByHost, walkReceipts } from "./receipts/walk.ts";

const kind = { hasNetwork: false, takesPython: true, hasTmpfs: false, cpus: 1 } as const;
const directories = "at their own path";
await walkReceipts(
  "the srt runner",
  () => testedSrtRunner(),
  { ...kind, directories },
  { probe: probeSrt, without: enforcedByHost, more: noExactDisk === undefined ? [exactDisk] : [] },
);
