import { describe, expect, test } from "vitest";
import { HttpError } from "./answers/error-status.ts";
import { Router } from "./router.ts";
import { routes } from "./routes.ts";

const router = new Router([
  { method: "GET", path: "/v1/things" },
  { method: "POST", path: "/v1/things" },
  { method: "GET", path: "/v1/things/{thing}" },
  { method: "GET", path: "/v1/things/{thing}/files/{path...}" },
  { method: "GET", path: "/v1/things/{thing}/files" },
]);

function failure(method: string, path: string): HttpError {
  try {
    router.find(method, path);
  } catch (error) {
    if (error instanceof HttpError) return error;
  }
  throw new Error(`${path} was found`);
}

describe("the router", () => {
  test("finds routes and decodes their parameters once", () => {
    expect(router.find("GET", "/v1/things/a%20b").params).toEqual({ thing: "a b" });
    expect(router.find("GET", "/v1/things/%252e").params).toEqual({ thing: "%2e" });
    expect(router.find("GET", "/v1/things/x/files/a/b%2Fc.txt").params).toEqual({ thing: "x", path: "a/b/c.txt" });
    expect(router.find("GET", "/v1/things/x/files").route.path).toBe("/v1/things/{thing}/files");
  });

  test("answers HEAD with the route of GET", () => {
    expect(router.find("HEAD", "/v1/things").route.method).toBe("GET");
  });

  test("does not resolve dots in a path, because file names are checked later", () => {
    expect(router.find("GET", "/v1/things/x/files/../../y").params.path).toBe("../../y");
  });

  test.each(["/", "/v1", "/v1/things/", "/v1/things//files", "/v1/things/x/files/", "v1/things", "/v1/%zz", "*", ""])(
    "has nothing at %j, and says where the paths are listed",
    (path) => {
      const hint = "paths begin with /v1; GET /v1/openapi.json lists them";
      expect(failure("GET", path)).toMatchObject({ code: "not_found", status: 404, hint });
    },
  );

  test("tells which methods a path accepts", () => {
    expect(failure("DELETE", "/v1/things")).toMatchObject({ status: 405, headers: { allow: "GET, POST" } });
  });

  test("finds every route by its own path", () => {
    const all = new Router(routes);
    for (const route of routes) {
      const path = route.path.replaceAll(/\{\w+(?:\.\.\.)?\}/g, "x");
      expect(all.find(route.method, path).route).toBe(route);
    }
  });
});
