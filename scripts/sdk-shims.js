// Takes the place of the MCP SDK's shims in the bundle. The SDK loads ajv with every start, for JSON Schemas that only
// elicitation needs. This validator loads it from the installed SDK when it is first used.
import { createRequire } from "node:module";
import process from "node:process";

class DefaultJsonSchemaValidator {
  #validator;

  getValidator(schema) {
    this.#validator ??= new (load().AjvJsonSchemaValidator)();
    return this.#validator.getValidator(schema);
  }
}

const load = () => createRequire(import.meta.url)("@modelcontextprotocol/server/validators/ajv");

export { DefaultJsonSchemaValidator, process };
