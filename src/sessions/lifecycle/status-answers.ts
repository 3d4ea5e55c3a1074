import type { Socket } from "node:net";
import type { ProcessStatus } from "./process-status.ts";

/** What an asker writes. Others connect only to see whether this process is alive, and write nothing. */
export const statusQuestion = "status\n";
/** A connection that asks nothing is closed: it would take a descriptor for good. */
const askWithinMs = 2_000;

/** Answers `codecell ps` on the socket that shows that this process is alive. */
export class StatusAnswers {
  #describe: (() => Promise<ProcessStatus>) | undefined;

  /** Sets what is answered. Until then the process is still opening, and connections are closed. */
  from(describe: () => Promise<ProcessStatus>): void {
    this.#describe = describe;
  }

  answer(socket: Socket): void {
    const describe = this.#describe;
    if (!describe) return void socket.destroy();
    let asked = "";
    socket.setTimeout(askWithinMs, () => socket.destroy());
    socket.setEncoding("utf8").on("data", (text: string) => {
      asked += text;
      if (asked.length < statusQuestion.length) return;
      socket.removeAllListeners("data").resume();
      if (asked !== statusQuestion) return void socket.destroy();
      describe().then(
        (status) => socket.end(JSON.stringify(status)),
        () => socket.destroy(),
      );
    });
  }
}
