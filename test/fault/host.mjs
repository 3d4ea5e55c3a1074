// A host that keeps starting cells, running daemons and closing cells until a test kills it.
import { parsePolicy } from "../../dist/policy/file/parse-policy.js";
import { processRunner } from "../../dist/runners/process/runner.js";
import { LiveSessions } from "../../dist/sessions/live-sessions.js";

const [layout, runtimeDir, mark] = process.argv.slice(2);
const policy = parsePolicy({ proc: { background: true, timeout: "30s" } });
const codecell = await LiveSessions.open({ policy, runners: [processRunner({ layout, runtimeDir })] });
const daemon = `import subprocess
subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1; done; : ${mark}"], start_new_session=True)`;

async function churn() {
  for (;;) {
    const session = await codecell.openSession();
    await session.run(daemon);
    await Promise.race([
      session.run("while True: pass"),
      new Promise((resolve) => setTimeout(resolve, Math.random() * 150)),
    ]);
    await session.close();
  }
}
process.stdout.write("up\n");
await Promise.all([churn(), churn(), churn()]);
