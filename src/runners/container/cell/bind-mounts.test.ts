import { describe, expect, test } from "vitest";
import { mountFields } from "./bind-mounts.ts";

const mount = (target: string, source = "/srv/empty") => ({ source, target, readOnly: true });

/** without it, file systems mounted below the directory are included, and stay writable */
const alone = { BindOptions: { NonRecursive: true } };

describe("mountFields", () => {
  test("passes mounts to Docker as structured fields, whatever characters their paths contain", () => {
    const { Mounts, Binds } = mountFields("docker", [mount('/workspace/x,source=/root/.ssh:"')]);
    expect(Mounts).toEqual([
      { Type: "bind", Source: "/srv/empty", Target: '/workspace/x,source=/root/.ssh:"', ReadOnly: true, ...alone },
    ]);
    expect(Binds).toEqual([]);
  });

  test.each([",", '"', "\n", "\r"])(
    "keeps a path with %j out of the line that Podman splits, so that a program cannot choose what is mounted",
    (separator) => {
      const target = `/workspace/x${separator}source=/root/.ssh`;
      expect(mountFields("podman", [mount("/deps"), mount(target)])).toEqual({
        Mounts: [{ Type: "bind", Source: "/srv/empty", Target: "/deps", ReadOnly: true, ...alone }],
        Binds: [`/srv/empty:${target}:ro,bind`],
      });
    },
  );

  test("keeps a source path with a comma out of that line too, and leaves the mount writable", () => {
    const { Binds } = mountFields("podman", [{ source: "/srv/a,b", target: "/data", readOnly: false }]);
    expect(Binds).toEqual(["/srv/a,b:/data:rw"]);
  });

  test("makes writable mounts recursive", () => {
    const { Mounts } = mountFields("docker", [{ source: "/srv/a", target: "/data", readOnly: false }]);
    expect(Mounts).toEqual([{ Type: "bind", Source: "/srv/a", Target: "/data", ReadOnly: false }]);
  });

  test("refuses a path that neither field of Podman can express", () => {
    expect(() => mountFields("podman", [mount("/workspace/a,b:/etc/.env")])).toThrowError(
      expect.objectContaining({ code: "policy_refused", hint: expect.stringContaining("rename it") }),
    );
    expect(mountFields("podman", [mount("/workspace/a:b")]).Mounts).toHaveLength(1);
  });
});
