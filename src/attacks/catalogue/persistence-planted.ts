import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";

const planting = {
  kind: "persistence",
  scenario: "workspace",
  hostChecks: ["plant-untold"],
  containedBy: { default: "files that tools on the host obey are never served, and the result names them" },
  control: { none: "the harm is a result that does not say it" },
} as const;

const quiet = `
def plant(path, content="#!/bin/sh\\n"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file: file.write(content)
    os.chmod(path, 0o755)
root = "/workspace/" + host["mine"]
`;

function plants(id: string, title: string, code: string): Attack {
  return does(`persistence/planted-${id}`, title, `${quiet}${code}\nverdict = "contained"`, planting);
}

/** Files that a program leaves in a directory of the host for tools on the host: the next commit, `cd` or start of an editor runs them. */
export const plantedFiles: readonly Attack[] = [
  plants("hook", "plants a git hook that the next commit on the host runs", `plant(root + "/.git/hooks/pre-commit")`),
  plants(
    "environment",
    "plants an .envrc that a shell on the host runs when it enters the directory",
    `plant(root + "/.envrc")`,
  ),
  plants(
    "editor",
    "plants tasks that an editor on the host runs when it opens the directory",
    `plant(root + "/.vscode/tasks.json", '{"version": "2.0.0", "tasks": []}')`,
  ),
  plants(
    "behind-others",
    "hides a planted hook behind a hundred other files that are not served",
    `
for n in range(120): plant(root + "/a%03d/.env" % n, "X=1")
plant(root + "/zzz/.git/hooks/pre-commit")`,
  ),
];
