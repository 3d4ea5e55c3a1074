// State is kept: what one run defines, the next one sees, also after a failure.
import { openCodecell } from "codecell";

const codecell = await openCodecell();
try {
  const session = await codecell.openSession();
  await session.run("prices = [3, 5, 8]").result;

  const failed = await session.run("prices[10]").result;
  console.log(failed.status, failed.error?.message);

  await session.set("rate", 1.2);
  const done = await session.run("total = sum(prices) * rate\nround(total, 2)").result;
  console.log(done.result, await session.get("prices"));
} finally {
  await codecell.close(); // in TypeScript: await using codecell = await openCodecell()
}
