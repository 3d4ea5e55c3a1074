import { describe, expect, test } from "vitest";
import { coveredVolumes } from "./image-volumes.ts";

describe("a volume that an image declares", () => {
  const covers = (volumes: string[]) =>
    coveredVolumes({ name: "odd:1", volumes }, "/run/empty", ["/tmp", "/workspace", "/etc/passwd"]);

  test("is covered by an empty directory, which nobody can write to", () => {
    expect(covers(["/data"])).toEqual([{ source: "/run/empty", target: "/data", readOnly: true }]);
  });

  test("is covered once, however its path is written", () => {
    expect(covers(["/data", "/data//", "/srv/../data"]).map(({ target }) => target)).toEqual(["/data"]);
  });

  test("is left alone where the cell has something of its own", () => {
    expect(covers(["/tmp", "/workspace/"])).toEqual([]);
  });

  test("is covered also below what the cell can write to", () => {
    expect(covers(["/workspace/data"]).map(({ target }) => target)).toEqual(["/workspace/data"]);
  });

  test("is refused where it holds another one, for nothing can be made in what covers it", () => {
    expect(() => covers(["/data", "/data/below"])).toThrow("odd:1 keeps /data in a volume");
  });

  test.each(["/etc", "/", "data", "./data"])("is refused where it cannot be covered: %s", (volume) => {
    expect(() => covers([volume])).toThrow(
      expect.objectContaining({ code: "cell_start_failed", message: expect.stringContaining(`odd:1 keeps ${volume}`) }),
    );
  });
});
