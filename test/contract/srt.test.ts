import { probeSrt, testedSrtRunner } from "../support/srt.ts";
import { runnerContract } from "./contract.ts";

await runnerContract("srt runner", testedSrtRunner, { workspaceAt: "its own path", probe: probeSrt });
