// Numbers, spans and moments as people read them; and policy documents as YAML.

export function short(value: number): string {
  if (!isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [from, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]] as const)
    if (size >= from) return trim(value / (unit === "k" ? 1e3 : from)) + unit;
  return trim(value);
}
const trim = (value: number) =>
  Math.abs(value) >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);

export const per_second = (value: number) => `${short(value)}/s`;
export const percent = (part: number, whole: number) =>
  whole > 0 ? `${(100 * part / whole).toFixed(part > 0 && part / whole < 0.01 ? 2 : 1)} %` : "–";

export function span(ms: number): string {
  if (ms < 0) return "never";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  const parts: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  let left = seconds;
  const words: string[] = [];
  for (const [size, unit] of parts) {
    const count = Math.floor(left / size);
    if (count) words.push(`${count} ${unit}`);
    left -= count * size;
  }
  return words.slice(0, 2).join(" ") || "0 s";
}

export const latency = (seconds: number) =>
  !isFinite(seconds) ? "–" : seconds < 1e-3 ? `${trim(seconds * 1e6)} µs` : `${trim(seconds * 1e3)} ms`;

export function moment(at: string | number | null | undefined): string {
  if (at === null || at === undefined) return "never";
  const date = new Date(at);
  return isNaN(date.getTime()) ? String(at) : date.toISOString().replace("T", " ").replace(/\.\d+Z$/, "Z");
}

// A document of the API as YAML: blocks outside, one line for what is small.
export function to_yaml(value: unknown, indent = ""): string {
  if (Array.isArray(value))
    return value.map((item) => `${indent}- ${is_small(item) ? flow(item) : to_yaml(item, indent + "  ").trimStart()}`)
      .join("\n");
  if (value !== null && typeof value === "object")
    return Object.entries(value).map(([name, item]) =>
      is_small(item) || (Array.isArray(item) && !item.length)
        ? `${indent}${scalar(name)}: ${flow(item)}` : `${indent}${scalar(name)}:\n${to_yaml(item, indent + "  ")}`)
      .join("\n");
  return indent + scalar(value);
}
const is_small = (value: unknown): boolean =>
  value === null || typeof value !== "object" ||
  (Object.values(value).every((item) => item === null || typeof item !== "object" ||
    (Array.isArray(item) && item.every((one) => typeof one !== "object"))) && flow(value).length < 90 &&
    !Array.isArray(value)) || (Array.isArray(value) && value.every((item) => typeof item !== "object"));
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (value !== null && typeof value === "object")
    return `{ ${Object.entries(value).map(([name, item]) => `${scalar(name)}: ${flow(item)}`).join(", ")} }`;
  return scalar(value);
}
// Plain only where no reader of YAML could take the text for something else.
const scalar = (value: unknown) =>
  typeof value === "string" && !(/^[A-Za-z_/][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)) &&
  !/^\d+\/[a-z0-9]+$/.test(value) ? JSON.stringify(value) : String(value);
