import { effect, signal } from "@preact/signals";

const key = "codecell.theme";
const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** Light, dark, or what the system says. */
export const theme = signal<Theme>(themes.find((one) => one === localStorage.getItem(key)) ?? "system");

effect(() => {
  localStorage.setItem(key, theme.value);
  document.documentElement.dataset.theme = theme.value;
});

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
}
