/** What users of docker, kubectl, E2B and jupyter type as the first word of a pair, and our word for it. */
const groups: Readonly<Record<string, string>> = {
  ...{ session: "sessions", sandbox: "sessions", sandboxes: "sessions", sbx: "sessions", kernel: "sessions" },
  ...{ kernels: "sessions", container: "sessions", containers: "sessions", pod: "sessions", pods: "sessions" },
  ...{ artifact: "artifacts", file: "artifacts", files: "artifacts", fs: "artifacts" },
  ...{ images: "image", template: "image", templates: "image" },
  ...{ tokens: "token", key: "token", keys: "token", auth: "token" },
  ...{ policies: "policy", config: "policy", rules: "policy", event: "audit", events: "audit" },
};

/** The same for the second word. The first candidate that its group has is meant. */
const verbs: Readonly<Record<string, readonly string[]>> = {
  ...{ delete: ["rm"], del: ["rm"], remove: ["rm"], destroy: ["rm"], kill: ["rm"], prune: ["rm"], revoke: ["rm"] },
  ...{ list: ["ls"], dir: ["ls"], ps: ["ls"] },
  ...{ get: ["get", "show"], inspect: ["show", "explain"], describe: ["show", "explain"], info: ["show"] },
  ...{ view: ["show", "explain"], cat: ["get", "show"], status: ["show", "ls"], print: ["show", "explain"] },
  ...{ download: ["get"], cp: ["get"], copy: ["get"], pull: ["get"], fetch: ["get"], read: ["get", "show"] },
  ...{ validate: ["check", "verify"], lint: ["check"], test: ["check"], verify: ["verify", "check"] },
  ...{ new: ["create", "init"], add: ["create"], create: ["create", "init", "build"], init: ["init"], make: ["build"] },
  ...{ renew: ["rotate"], regenerate: ["rotate"], dump: ["export", "save"], log: ["tail"], logs: ["tail"] },
  ...{ follow: ["tail"], load: ["restore"], resume: ["restore"], snapshot: ["save"], generate: ["init"] },
};

const inServe = "the dashboard of `codecell serve`";
const forking = `no command forks a session: \`session.fork()\` of the library, the tool \`checkpoint\` over MCP, \`POST /v1/sessions/ID/fork\` over HTTP and ${inServe} do`;
const undoing = `no command undoes a run: \`session.undo()\` of the library, \`POST /v1/sessions/ID/undo\` over HTTP and ${inServe} do, if the policy sets \`session.undo\``;
const checkpoints = `no command makes or restores checkpoints: \`session.checkpoint(NAME)\` and \`session.rollback(NAME)\` of the library, the tool \`checkpoint\` over MCP, \`/v1/sessions/ID/checkpoints\` over HTTP and ${inServe} do; \`codecell run --session NAME\` saves the session after each run`;

/** Whole commands of other tools, one word or two, and what does the same here. Commands in back quotes exist (see the test). */
const phrases: Readonly<Record<string, string>> = {
  "setup claude": "`codecell setup claude-code` or `codecell setup claude-desktop`",
  exec: "`codecell run -c CODE` runs code, and `codecell run --session NAME -c CODE` runs it in a session that stays",
  execute: "`codecell run FILE` runs a program, and `codecell run -c CODE` one line",
  eval: "`codecell run -c CODE` runs code and prints its value",
  start: "`codecell run --session NAME` opens a session, `codecell serve` starts the service, `codecell repl` a prompt",
  create: "`codecell run --session NAME -c CODE` creates a session with its first run",
  spawn: "`codecell run --session NAME -c CODE` creates a session with its first run",
  up: "`codecell serve` starts the service",
  server: "`codecell serve` starts the service",
  list: "`codecell ps` lists what is live now, `codecell sessions ls` the saved sessions too",
  ls: "`codecell ps` lists what is live now, `codecell sessions ls` the saved sessions too",
  top: "`codecell ps` shows the memory of each live session",
  stats: "`codecell ps` shows the memory of each live session",
  status: "`codecell ps` lists what is live now, `codecell doctor` the runners of this machine",
  kill: "`codecell ps` shows which process holds a session; stop that process, or delete a saved one with `codecell sessions rm`",
  stop: "`codecell ps` shows which process holds a session; stop that process. `codecell warm stop` stops the warm ones",
  rm: "`codecell sessions rm` deletes a session, `codecell artifacts rm` a file of one",
  delete: "`codecell sessions rm` deletes a session, `codecell artifacts rm` a file of one",
  remove: "`codecell sessions rm` deletes a session, `codecell artifacts rm` a file of one",
  images: "`codecell image ls` lists the images",
  build: "`codecell image build` builds the image of container cells",
  pull: "`codecell image build` builds the image of container cells; none is pulled",
  inspect: "`codecell sessions show` shows a session, `codecell image show` an image",
  describe: "`codecell sessions show` shows a session, `codecell image show` an image",
  show: "`codecell sessions show` shows a session",
  info: "`codecell doctor` shows the runners of this machine",
  attach: "`codecell repl --session NAME` opens a prompt in a session; `codecell logs -f` follows what runs in one",
  connect:
    "`codecell run --session NAME` runs in a session that exists; `codecell setup` adds codecell to an MCP client",
  shell: "`codecell repl` opens a prompt",
  console: "`codecell repl` opens a prompt",
  python: "`codecell run FILE` runs a program, `codecell repl` opens a prompt",
  python3: "`codecell run FILE` runs a program, `codecell repl` opens a prompt",
  ipython: "`codecell repl` opens a prompt",
  bash: "`codecell run -l bash -c COMMAND` runs a command in bash",
  cp: "`codecell artifacts get` copies a file out of a session; `--mount` of `codecell run` brings files in",
  download: "`codecell artifacts get` copies a file out of a session",
  tail: "`codecell logs -f` follows what runs, `codecell audit tail` every event",
  log: "`codecell logs` shows what ran",
  history: "`codecell logs` shows what ran",
  events: "`codecell audit tail` shows the latest events",
  validate: "`codecell policy check` validates a policy file",
  check: "`codecell policy check` validates a policy file, `codecell doctor` examines this machine",
  init: "`codecell policy init` writes a policy file",
  config: "`codecell policy explain` shows which rules apply here",
  login: "`codecell token create` creates a token for `codecell serve`",
  pip: "`codecell run --with NAME` adds a Python package to a program",
  install:
    "`codecell run --with NAME` adds a Python package to a program, `codecell setup` adds codecell to an MCP client, `codecell doctor` says what this machine lacks",
  notebook: "`codecell run FILE.ipynb` runs a notebook, `codecell repl` opens a prompt",
  nbconvert: "`codecell run FILE.ipynb` runs a notebook and writes its outputs",
  lab: "`codecell run FILE` runs a program, `codecell repl` opens a prompt",
  ...{ fork: forking, "sessions fork": forking, "sessions clone": forking, "sessions branch": forking },
  ...{ undo: undoing, "sessions undo": undoing, "sessions revert": undoing },
  ...{ checkpoint: checkpoints, "sessions checkpoint": checkpoints, "sessions checkpoints": checkpoints },
  ...{ rollback: checkpoints, "sessions rollback": checkpoints },
  "packages rm": "`codecell packages prune` removes packages from the cache",
  "packages install": "`codecell run --with NAME` adds a Python package to a program",
  "sessions kill": "`codecell ps` shows which process holds a session; `codecell sessions rm` deletes a saved one",
  "sessions stop": "`codecell ps` shows which process holds a session; `codecell sessions rm` deletes a saved one",
  "sessions close": "`codecell ps` shows which process holds a session; `codecell sessions rm` deletes a saved one",
  "sessions create": "`codecell run --session NAME -c CODE` creates a session with its first run",
  "sessions new": "`codecell run --session NAME -c CODE` creates a session with its first run",
  "sessions run": "`codecell run --session NAME -c CODE` runs code in a session",
  "sessions exec": "`codecell run --session NAME -c CODE` runs code in a session",
  "sessions logs": "`codecell logs SESSION` shows what ran in it",
  "sessions history": "`codecell logs SESSION` shows what ran in it",
  "sessions ps": "`codecell ps` lists what is live now",
  "get sessions": "`codecell sessions ls` lists them",
  "get pods": "`codecell ps` lists what is live now",
  "artifacts put": "`--mount` of `codecell run` brings files into a cell",
  "artifacts upload": "`--mount` of `codecell run` brings files into a cell",
  "image rm": "`docker image rm` or `podman image rm` removes an image that `codecell image ls` lists",
  "image pull": "`codecell image build` builds the image of container cells; none is pulled",
};

/** The command that these words mean elsewhere: a name of `names`, or a sentence. */
export function familiarCommand(words: readonly string[], names: readonly string[]): string | undefined {
  const [first = "", second] = words.map((word) => word.toLowerCase());
  const group = Object.hasOwn(groups, first) ? groups[first] : first;
  const pair = second === undefined ? undefined : `${group} ${second}`;
  if (pair !== undefined) {
    if (names.includes(pair)) return `did you mean codecell ${pair}?`;
    if (Object.hasOwn(phrases, pair)) return phrases[pair];
    if (Object.hasOwn(phrases, `${first} ${second}`)) return phrases[`${first} ${second}`];
    const meant = second !== undefined && Object.hasOwn(verbs, second) ? (verbs[second] ?? []) : [];
    const known = meant.map((verb) => `${group} ${verb}`).find((name) => names.includes(name));
    if (known !== undefined) return `did you mean codecell ${known}?`;
  }
  const isGroup = names.some((name) => name.startsWith(`${first} `));
  return !isGroup && Object.hasOwn(phrases, first) ? phrases[first] : undefined;
}

/** What the tables suggest, for the test that every command in them exists. */
export const suggestedPhrases: readonly string[] = Object.values(phrases);
