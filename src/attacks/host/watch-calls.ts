import type { StartHostCheck } from "./host-check.ts";

/** What the protocol allows of open calls, with room for those that end in the same moment. */
const allowedOpen = 64;
const hangMs = 300;

/**
 * Gives the session two functions of the host: `note(value)` takes a text, `wait()` answers late. Sees calls that the function
 * does not take, more open ones than the protocol allows, and calls after the end of the run.
 */
export const watchCalls: StartHostCheck = async ({ session, mine }) => {
  let harm: string | undefined;
  let open = 0;
  let hasEnded = false;
  const blame = (what: string) => {
    harm ??= what;
  };
  const exposed = await session.expose({
    note: {
      description: "Notes a text.",
      input: {
        type: "object",
        properties: { value: { type: "string" } },
        required: ["value"],
        additionalProperties: false,
      },
      call: (input: Record<string, unknown>) => {
        if (typeof input.value !== "string" || Object.keys(input).length !== 1) blame("a call had other arguments");
        if (hasEnded && String(input.value).includes(mine)) blame("a call arrived after the end of its run");
        return "noted";
      },
    },
    wait: {
      description: "Answers late.",
      input: { type: "object", properties: {} },
      call: async () => {
        open++;
        if (open > allowedOpen) blame(`${open} calls were open at once`);
        await new Promise((resolve) => setTimeout(resolve, hangMs));
        open--;
        return null;
      },
    },
  });
  return async () => {
    hasEnded = true;
    // Long enough for a call that a thread of the program makes now.
    await new Promise((resolve) => setTimeout(resolve, hangMs));
    await Promise.resolve(exposed[Symbol.asyncDispose]()).catch(() => {}); // its session may be gone
    return harm;
  };
};
