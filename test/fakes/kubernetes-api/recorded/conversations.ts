/** What a client and the program of a pod say to each other over one websocket of the API server. */
export interface Conversation {
  readonly title: string;
  readonly path: string;
  /** newest first; default: what the Kubernetes client offers */
  readonly protocols?: readonly string[];
  readonly pod?: Partial<Record<"stdin" | "stdinOnce", boolean>>;
  readonly acts: readonly Act[];
}

export type Act =
  /** Sends a message to a channel. */
  | { readonly do: "send"; readonly channel: number; readonly text: string }
  /** Sends the same bytes again and again, which is what a bulk transfer is. */
  | { readonly do: "send-bulk"; readonly channel: number; readonly bytes: number }
  /** Waits until a channel has brought this text. */
  | { readonly do: "await"; readonly channel: number; readonly text: string }
  /** Waits until both streams of the program arrive: attaching takes the node a while, and shows nothing of what came before. */
  | { readonly do: "settle" }
  /** Closes the connection in good order. */
  | { readonly do: "leave" }
  /** Connects a second time, and talks there. Its answer is noted beside the first. */
  | { readonly do: "again"; readonly acts: readonly Act[] }
  /** Waits until the server closes the connection. With `withinMs`, that it does not is an answer too. */
  | { readonly do: "await-end"; readonly withinMs?: number };

/**
 * The first process of each pod. It answers lines on its standard input, says when that ends, and echoes what comes to its port.
 * Port 7001 says good-bye and closes.
 */
export const program = `
import os, socket, sys, threading

def say(stream, line):
    os.write(stream, f"{line}\\n".encode())

def serve(port, answer):
    listener = socket.create_server(("127.0.0.1", port))
    def accept():
        while True:
            one, _ = listener.accept()
            threading.Thread(target=answer, args=(one,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()

def echo(one):
    while data := one.recv(65536):
        one.sendall(data)
    one.sendall(b"eof")
    one.close()

def leave(one):
    one.sendall(b"good-bye")
    one.close()

serve(7000, echo)
serve(7001, leave)
say(1, "early")
for line in iter(sys.stdin.buffer.readline, b""):
    word, _, rest = line.decode().rstrip("\\n").partition(" ")
    if word == "exit":
        sys.exit(int(rest))
    if word == "bulk":
        data = sys.stdin.buffer.read(int(rest))
        say(1, f"all {len(data)} {set(data) == {98}}")
    elif word == "here":
        say(1, word)
        say(2, word)
    else:
        say(1, f"out {word}")
        say(2, f"err {word}")
say(1, "end of input")
`;

const [stdin, stdout, closing] = [0, 1, 255];
const attach = "attach?container=main&stdin=true&stdout=true&stderr=true";
const v4 = ["v4.channel.k8s.io"];
const say = (text: string, channel = stdin): Act => ({ do: "send", channel, text });
const hear = (text: string, channel = stdout): Act => ({ do: "await", channel, text });
const hearBoth = (word: string) => [hear(`out ${word}\n`), hear(`err ${word}\n`, 2)];
const settle: Act = { do: "settle" };
const end: Act = { do: "await-end" };
const endOrNot: Act = { do: "await-end", withinMs: 3000 };
const leave: Act = { do: "leave" };

const attached: readonly Conversation[] = [
  {
    title: "attach: both outputs have a channel each, and nothing of what was printed before is shown",
    ...{ path: attach, acts: [settle, say("one\n"), ...hearBoth("one"), leave] },
  },
  {
    title: "attach: a program that exits ends the connection with a status",
    ...{ path: attach, acts: [settle, say("exit 0\n"), end] },
  },
  {
    title: "attach: a program that fails ends the connection with the same status",
    ...{ path: attach, acts: [settle, say("exit 7\n"), end] },
  },
  {
    title: "attach: the older protocol does the same",
    ...{ path: attach, protocols: v4, acts: [settle, say("one\n"), ...hearBoth("one"), say("exit 0\n"), end] },
  },
  {
    title: "attach: a message that closes the input of a program which takes one client",
    ...{ path: attach, pod: { stdinOnce: true } },
    acts: [settle, say("one\n"), ...hearBoth("one"), say(String.fromCharCode(stdin), closing), endOrNot],
  },
  {
    title: "attach: a message that closes the input of a program which takes several clients",
    ...{ path: attach, acts: [settle, say(String.fromCharCode(stdin), closing), say("one\n"), endOrNot] },
  },
  {
    title: "attach: a client that leaves does not end the input of a program which takes several",
    path: attach,
    acts: [
      settle,
      say("one\n"),
      ...hearBoth("one"),
      leave,
      { do: "again", acts: [settle, say("two\n"), ...hearBoth("two")] },
    ],
  },
  {
    title: "attach: two clients see the same output",
    path: attach,
    acts: [settle, { do: "again", acts: [settle, say("two\n"), ...hearBoth("two")] }, ...hearBoth("two")],
  },
  {
    title: "attach: 4 MiB arrive whole",
    path: attach,
    acts: [
      settle,
      say("bulk 4194304\n"),
      { do: "send-bulk", channel: stdin, bytes: 4_194_304 },
      hear(" True\n"),
      leave,
    ],
  },
  {
    title: "attach: without an output it is refused",
    ...{ path: "attach?container=main", acts: [] },
  },
  {
    title: "attach: a container that the pod does not have is refused",
    ...{ path: attach.replace("=main", "=other"), acts: [] },
  },
  {
    title: "attach: a protocol that nobody speaks is refused",
    ...{ path: attach, protocols: ["v9.channel.k8s.io"], acts: [] },
  },
];

const forward = "portforward?ports=7000";
const head = (port: number) => String.fromCharCode(port & 255, port >> 8);

const forwarded: readonly Conversation[] = [
  {
    title: "port-forward: each stream begins with the number of its port",
    ...{ path: forward, acts: [hear(head(7000), 0), hear(head(7000), 1), say("hello"), hear("hello", 0), leave] },
  },
  {
    title: "port-forward: a program that closes its connection",
    ...{ path: "portforward?ports=7001", acts: [hear("good-bye", 0), end] },
  },
  {
    title: "port-forward: a port that nobody listens on",
    ...{ path: "portforward?ports=7009", acts: [hear("refused", 1), end] },
  },
  {
    title: "port-forward: 4 MiB come back whole",
    path: forward,
    acts: [
      { do: "send-bulk", channel: 0, bytes: 4_194_304 },
      { do: "await", channel: 0, text: "b".repeat(4_194_304) },
      leave,
    ],
  },
  {
    title: "port-forward: two ports have two channels each",
    ...{
      path: "portforward?ports=7000&ports=7001",
      acts: [say("hello"), hear("hello", 0), hear("good-bye", 2), leave],
    },
  },
  { title: "port-forward: without a port it is refused", path: "portforward", acts: [] },
  { title: "port-forward: what is not a port is refused", path: "portforward?ports=no", acts: [] },
  {
    title: "port-forward: the protocol of attach's newest version alone is refused",
    ...{ path: forward, protocols: ["v5.channel.k8s.io"], acts: [] },
  },
];

/** All conversations. Each has a pod of its own. */
export const conversations: readonly Conversation[] = [...attached, ...forwarded];
