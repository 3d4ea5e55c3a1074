/** The page's only style sheet. It loads nothing: no font, no picture. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #1b2130; --soft: #5d6678; --line: #dde1e8; --code: #f2f4f8;
  --accent: #3a5bd9; --good: #1a7f4b; --bad: #c0362c; --warn: #a86a00;
  --run: #c9d3f7; --turn: #dfe5ee; --reply: #a9bdf5; --codebar: #a8dcc3; --sub: #f3cf92; --failed: #f1aca6; --cached: #d5d9e0;
  --bartext: #1b2130;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151c; --card: #1a1f29; --text: #e4e8f0; --soft: #98a2b5; --line: #2d3442; --code: #12161e;
    --accent: #8da6ff; --good: #5fcf98; --bad: #ff8d82; --warn: #e8b357;
    --run: #34447f; --turn: #2b3342; --reply: #3f58ad; --codebar: #24694b; --sub: #80591a; --failed: #8d3a34; --cached: #3c4452;
    --bartext: #eef1f7;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 22px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 30px 0 10px; color: var(--soft); font-weight: 600; }
h3 { font-size: 13px; margin: 14px 0 4px; color: var(--soft); font-weight: 600; }
header { display: flex; flex-wrap: wrap; gap: 12px; align-items: center; }
p { margin: 6px 0; }
.chip { display: inline-block; padding: 1px 9px; border-radius: 99px; font-size: 12.5px; font-weight: 600; border: 1px solid currentColor; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); } .soft { color: var(--soft); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; margin: 18px 0; }
.fact { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.fact b { display: block; font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums; }
.fact span { color: var(--soft); font-size: 12.5px; }
.alert { border: 1px solid var(--bad); color: var(--bad); background: var(--card); border-radius: 10px; padding: 10px 14px; margin: 14px 0; }
.note { color: var(--soft); font-size: 13px; }
pre { margin: 4px 0; padding: 10px 12px; background: var(--code); border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 480px;
  font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.timeline { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px; overflow-x: auto; }
.timeline svg { display: block; width: 100%; min-width: 720px; height: auto; font: 11px system-ui, sans-serif; }
.tick { stroke: var(--line); } .time { fill: var(--soft); font-size: 10.5px; }
.bar text { fill: var(--bartext); pointer-events: none; } .bar:hover rect { stroke: var(--accent); stroke-width: 1.5; }
.bar.run rect, .key.run { fill: var(--run); background: var(--run); } .bar.turn rect, .key.turn { fill: var(--turn); background: var(--turn); }
.bar.reply rect, .key.reply { fill: var(--reply); background: var(--reply); } .bar.code rect, .key.code { fill: var(--codebar); background: var(--codebar); }
.bar.sub rect, .key.sub { fill: var(--sub); background: var(--sub); } .bar.failed rect, .key.failed { fill: var(--failed); background: var(--failed); }
.bar.cached rect, .key.cached { fill: var(--cached); background: var(--cached); }
.keys { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 8px 2px; color: var(--soft); font-size: 12.5px; }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 5px; vertical-align: -1px; }
details.turn, section.run, .box { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: 10px 0; }
details.turn > summary, details.item > summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; }
details.turn > summary { padding: 10px 14px; } details.turn > .body { padding: 0 14px 12px; }
summary::before { content: "▸"; color: var(--soft); width: 10px; } details[open] > summary::before { content: "▾"; }
summary::-webkit-details-marker { display: none; } summary { list-style: none; }
summary .right { margin-left: auto; color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; display: flex; gap: 10px; align-items: center; }
details.item { border-top: 1px solid var(--line); padding: 5px 2px; } details.item:first-of-type { border-top: 0; }
.box { padding: 4px 14px; }
details.item > summary b { font-size: 14px; font-weight: 550; }
details.item .first { color: var(--soft); font-size: 13px; flex: 1; min-width: 120px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
section.run { padding: 12px 14px; border-left: 3px solid var(--accent); }
.share { width: 70px; height: 6px; border-radius: 3px; background: var(--code); } .share rect { fill: var(--accent); }
:target { outline: 2px solid var(--accent); outline-offset: 2px; }
@media print { pre { max-height: none; } body { background: #fff; } }
`;
