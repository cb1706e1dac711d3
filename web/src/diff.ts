// The difference of two texts, line by line: the longest common subsequence. Documents have at most some
// hundred lines; beyond that everything counts as changed.

export interface Line { kind: "same" | "added" | "removed"; text: string }

const LINES_MAX = 2000;

export function diff(before: string, after: string): Line[] {
  const old = before ? before.split("\n") : [], now = after ? after.split("\n") : [];
  if (old.length > LINES_MAX || now.length > LINES_MAX)
    return [...old.map((text) => line("removed", text)), ...now.map((text) => line("added", text))];
  const common = table(old, now);
  const lines: Line[] = [];
  let i = 0, j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) { lines.push(line("same", old[i])); i++; j++; }
    else if (j >= now.length || (i < old.length && common[i + 1][j] >= common[i][j + 1]))
      lines.push(line("removed", old[i++]));
    else lines.push(line("added", now[j++]));
  }
  return lines;
}

const line = (kind: Line["kind"], text: string): Line => ({ kind, text });

// common[i][j]: the length of the longest common subsequence of old[i…] and now[j…].
function table(old: string[], now: string[]): Uint16Array[] {
  const rows = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      rows[i][j] = old[i] === now[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  return rows;
}
