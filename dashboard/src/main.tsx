import "./style/base.css";
import "./style/shell.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { refuseDrops } from "./parts/refuse-drops.ts";

refuseDrops();
const root = document.getElementById("app");
if (root) render(<App />, root);
