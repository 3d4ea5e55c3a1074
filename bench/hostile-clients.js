// node hostile-clients.js URL TOKEN: 64 clients that send and request as much as they can, until they are killed.
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const [url, token] = process.argv.slice(2);
const variable = `${url}/v1/sessions/s/variables/x`;
const body = Buffer.from(`{"value":[${"[[[[[[]]]]]],".repeat((15 * 2 ** 20) / 13)}0]}`);
const unreadMs = 500;
const pauseMs = 100;

/** Sends nested JSON. The answer is of no interest. */
function put() {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const sent = request(variable, { agent: false, method: "PUT", headers }, (response) => {
      response.resume().once("close", resolve);
    });
    sent.once("error", resolve);
    sent.end(body);
  });
}

/** Requests the value and reads nothing of it. */
function get() {
  return new Promise((resolve) => {
    const sent = request(variable, { agent: false, headers: { authorization: `Bearer ${token}` } });
    sent.once("response", async (response) => {
      await pause(unreadMs);
      response.destroy();
      resolve();
    });
    sent.once("error", resolve);
    sent.end();
  });
}

await put();
console.log("ready");
await Promise.all(
  Array.from({ length: 64 }, async (_, client) => {
    for (;;) {
      await (client % 2 === 0 ? put() : get());
      await pause(pauseMs);
    }
  }),
);
