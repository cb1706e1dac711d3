// Calls of the HTTP API. An error is a sentence that the page can show as it is.

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly field?: string) {
    super(message);
  }
}

export interface Answer<T> {
  body: T;
  etag: string;
}

export interface Options {
  body?: unknown; // a string goes as YAML, anything else as JSON
  headers?: Record<string, string>;
  reason?: string;
}

let on_unauthenticated: () => void = () => {};
export const when_unauthenticated = (call: () => void) => { on_unauthenticated = call; };

// The header x-requested-with makes the server accept the cookie: no page of another site can send it.
const OURS = { "x-requested-with": "sluice-dashboard" };

async function send(method: string, path: string, { body, headers, reason }: Options = {}): Promise<Response> {
  const all: Record<string, string> = { ...OURS, ...headers };
  if (body !== undefined) all["content-type"] = typeof body === "string" ? "application/yaml" : "application/json";
  if (reason) all["x-reason"] = reason;
  try {
    return await fetch(path, {
      method, headers: all, cache: "no-store",
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, `${location.host} does not answer; is the server running?`);
  }
}

async function problem_of(response: Response): Promise<ApiError> {
  try {
    const problem = await response.json();
    return new ApiError(response.status, problem.detail ?? problem.title, problem.field);
  } catch {
    return new ApiError(response.status, `the server answered with status ${response.status}`);
  }
}

export async function call<T>(method: string, path: string, options?: Options): Promise<Answer<T>> {
  const response = await send(method, path, options);
  if (!response.ok) {
    if (response.status === 401 && path !== "/v1/login") on_unauthenticated();
    throw await problem_of(response);
  }
  const text = await response.text();
  return { body: (text ? JSON.parse(text) : undefined) as T, etag: response.headers.get("etag") ?? "" };
}

export const get = async <T>(path: string): Promise<T> => (await call<T>("GET", path)).body;

// /metrics, and /readyz, which says what is wrong with a status of 503.
export async function text_of(path: string): Promise<string> {
  const response = await send("GET", path);
  if (!response.ok && response.status !== 503) throw await problem_of(response);
  return response.text();
}

export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  return given.length ? "?" + new URLSearchParams(given.map(([name, value]) => [name, String(value)])) : "";
}

export const segment = encodeURIComponent;
