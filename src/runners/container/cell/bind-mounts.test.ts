import { describe, expect, test } from "vitest";
import { mountFields } from "./bind-mounts.ts";

const mount = (target: string, source = "/srv/empty") => ({ source, target, readOnly: true });

/** without it, what the host has mounted below comes along, and stays writable */
const alone = { BindOptions: { NonRecursive: true } };

describe("mounts of a container", () => {
  test("are structured for Docker, whatever their names hold", () => {
    const { Mounts, Binds } = mountFields("docker", [mount('/workspace/x,source=/root/.ssh:"')]);
    expect(Mounts).toEqual([
      { Type: "bind", Source: "/srv/empty", Target: '/workspace/x,source=/root/.ssh:"', ReadOnly: true, ...alone },
    ]);
    expect(Binds).toEqual([]);
  });

  test.each([",", '"', "\n", "\r"])(
    "whose name holds %j do not reach the line that Podman splits: a program would choose what is mounted",
    (separator) => {
      const target = `/workspace/x${separator}source=/root/.ssh`;
      expect(mountFields("podman", [mount("/deps"), mount(target)])).toEqual({
        Mounts: [{ Type: "bind", Source: "/srv/empty", Target: "/deps", ReadOnly: true, ...alone }],
        Binds: [`/srv/empty:${target}:ro,bind`],
      });
    },
  );

  test("are looked at by their source too, and stay writable where they are", () => {
    const { Binds } = mountFields("podman", [{ source: "/srv/a,b", target: "/data", readOnly: false }]);
    expect(Binds).toEqual(["/srv/a,b:/data:rw"]);
  });

  test("bring along what is mounted below them where they are writable", () => {
    const { Mounts } = mountFields("docker", [{ source: "/srv/a", target: "/data", readOnly: false }]);
    expect(Mounts).toEqual([{ Type: "bind", Source: "/srv/a", Target: "/data", ReadOnly: false }]);
  });

  test("mounts that neither field of Podman can carry are refused", () => {
    expect(() => mountFields("podman", [mount("/workspace/a,b:/etc/.env")])).toThrowError(
      expect.objectContaining({ code: "policy_refused", hint: expect.stringContaining("rename it") }),
    );
    expect(mountFields("podman", [mount("/workspace/a:b")]).Mounts).toHaveLength(1);
  });
});
