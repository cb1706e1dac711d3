// The parts that all views are made of.
import { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useId, useRef, useState } from "preact/hooks";

export function Notice({ kind, children }: { kind: "info" | "good" | "bad" | "warn"; children: ComponentChildren }) {
  return <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>{children}</div>;
}

export function Field({ label, hint, children }: {
  label: string; hint?: string; children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <small>{hint}</small>}
    </div>
  );
}

type TextProps = { label: string; hint?: string; value: string; on: (value: string) => void } &
  Omit<JSX.IntrinsicElements["input"], "label" | "value" | "on">;
export const Text = ({ label, hint, value, on, ...rest }: TextProps) => (
  <Field label={label} hint={hint}>
    {(id) => <input id={id} value={value} onInput={(event) => on(event.currentTarget.value)} spellcheck={false}
      autocomplete="off" {...rest} />}
  </Field>
);
export const Choice = ({ label, value, on, options }: {
  label: string; value: string; on: (value: string) => void; options: [string, string][];
}) => (
  <Field label={label}>
    {(id) => <select id={id} value={value} onChange={(event) => on(event.currentTarget.value)}>
      {options.map(([key, text]) => <option value={key} key={key}>{text}</option>)}
    </select>}
  </Field>
);

// Runs one action at a time; its error is a sentence to show.
export function use_action() {
  const [busy, set_busy] = useState(false);
  const [error, set_error] = useState("");
  const run = useCallback(async (action: () => Promise<void>) => {
    set_busy(true);
    set_error("");
    try {
      await action();
    } catch (problem) {
      set_error((problem as Error).message);
    } finally {
      set_busy(false);
    }
  }, []);
  return { busy, error, run, set_error };
}

// Loads when `inputs` change; `again` loads anew.
export function use_load<T>(load: () => Promise<T>, inputs: unknown[]) {
  const [data, set_data] = useState<T | null>(null);
  const [error, set_error] = useState<Error | null>(null);
  const newest = useRef(0);
  const again = useCallback(() => {
    const mine = ++newest.current;
    return load().then(
      (value) => { if (mine === newest.current) { set_data(value); set_error(null); } },
      (problem) => { if (mine === newest.current) set_error(problem); });
  }, inputs);
  useEffect(() => { void again(); }, [again]);
  return { data, error, again, set_data };
}

// A question that must be answered. The browser keeps the focus inside, and Escape closes it.
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = box.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog ref={box} aria-labelledby={id} onCancel={(event) => { event.preventDefault(); close(); }}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

export interface Column<T> { name: string; cell: (row: T) => ComponentChildren; class?: string }

// A table of any length: only the rows in view exist. Rows have one height.
const ROW_PX = 44;
export function Rows<T>({ label, rows, columns, row_key, empty, on_row, max_px = 616 }: {
  label: string; rows: T[]; columns: Column<T>[]; row_key: (row: T) => string; empty: string;
  on_row?: (row: T) => string; max_px?: number; // on_row: the address that the first cell links to
}) {
  const [top, set_top] = useState(0);
  if (!rows.length) return <p class="empty">{empty}</p>;
  const first = Math.max(0, Math.floor(top / ROW_PX) - 6);
  const count = Math.ceil(max_px / ROW_PX) + 12;
  const shown = rows.slice(first, first + count);
  const filler = (px: number) => px > 0 && <tr aria-hidden="true" class="filler"><td colSpan={columns.length} style={{ height: `${px}px` }} /></tr>;
  return (
    <div class="rows" style={{ maxHeight: `${max_px}px` }} tabIndex={0} role="region" aria-label={label}
      onScroll={(event) => set_top(event.currentTarget.scrollTop)}>
      <table aria-rowcount={rows.length + 1}>
        <thead><tr>{columns.map(({ name, class: kind }) => <th scope="col" class={kind} key={name}>{name}</th>)}</tr></thead>
        <tbody>
          {filler(first * ROW_PX)}
          {shown.map((row) => (
            <tr key={row_key(row)}>
              {columns.map(({ name, cell, class: kind }, i) => (
                <td class={kind} data-name={name} key={name}>
                  {i === 0 && on_row ? <a href={on_row(row)}>{cell(row)}</a> : cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {filler((rows.length - first - shown.length) * ROW_PX)}
        </tbody>
      </table>
    </div>
  );
}

export const Tag = ({ kind, children }: { kind?: string; children: ComponentChildren }) => <span class={`tag ${kind ?? ""}`}>{children}</span>;

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, set_done] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set_done(true);
      setTimeout(() => set_done(false), 2000);
    } catch { /* without TLS there is no clipboard; the text is on the page to be selected */ }
  };
  return <button type="button" class="quiet" onClick={copy}>{done ? "Copied" : label}</button>;
}

export const Loading = ({ error }: { error: Error | null }) =>
  error ? <Notice kind="bad">{error.message}</Notice> : <p class="empty">Loading…</p>;
