// State is kept: what one run defines, the next one sees, also after a failure.
import { Codecell } from "codecell";

const codecell = await Codecell.open();
try {
  const session = await codecell.session();
  await session.run("prices = [3, 5, 8]");

  const failed = await session.run("prices[10]");
  console.log(failed.status, failed.error?.message);

  await session.set("rate", 1.2);
  const done = await session.run("total = sum(prices) * rate\nround(total, 2)");
  console.log(done.value, await session.get("prices"));
} finally {
  await codecell.close(); // in TypeScript: await using codecell = await Codecell.open()
}
