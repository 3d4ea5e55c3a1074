import type { Protocol } from "../streams/channel-socket.ts";

/** In what one version of the API server differs from another. */
export interface ServerVersion {
  /** such as `1.36.0` */
  readonly text: string;
  /** of attach and exec, newest first */
  readonly protocols: readonly Protocol[];
  /** A websocket to a pod is a GET request. Since 1.35 it needs the right to `create` as well. */
  readonly streamsNeedCreate: boolean;
}

export function serverVersion(text: string): ServerVersion {
  const [, minor] = /^1\.(\d+)\.\d+$/.exec(text) ?? [];
  if (minor === undefined) throw new Error(`${text} is not a version such as 1.36.0`);
  const isAtLeast = (least: number) => Number(minor) >= least;
  return {
    text,
    protocols: isAtLeast(30) ? ["v5.channel.k8s.io", "v4.channel.k8s.io"] : ["v4.channel.k8s.io"],
    streamsNeedCreate: isAtLeast(35),
  };
}
