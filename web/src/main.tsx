// The frame of the page: who is logged in, where they are, and what they may do.
import { ComponentChildren, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, call, get, when_unauthenticated } from "./api";
import { span } from "./format";
import * as live from "./live";
import type { Role, Session } from "./types";
import { Notice, Text, use_action } from "./ui";
import { Audit } from "./views/audit";
import { HotKeys } from "./views/hot_keys";
import { Leases } from "./views/leases";
import { Overview } from "./views/overview";
import { Policies, PolicyPage } from "./views/policies";
import { SwitchPage, use_countdown } from "./views/switch";
import { Tester } from "./views/tester";
import { Tokens } from "./views/tokens";
import { Users } from "./views/users";
import { Why } from "./views/why";
import "./style.css";

// A role may include others, as in the server.
const INCLUDES: Record<Role, Role[]> = { check: [], read: [], write: ["read"], operator: ["read"], admin: ["check", "read", "write", "operator"] };
const has = (session: Session, role: Role) => session.roles.some((own) => own === role || INCLUDES[own].includes(role));

interface Place { path: string; name: string; view: (session: Session, rest: string) => ComponentChildren; needs?: Role; all_tenants?: boolean }
const PLACES: Place[] = [
  { path: "", name: "Overview", view: () => <Overview /> },
  { path: "hotkeys", name: "Hot keys", needs: "read", view: (session) => <HotKeys may_write={has(session, "write")} /> },
  { path: "why", name: "Why denied", needs: "read", view: () => <Why /> },
  { path: "policies", name: "Policies", needs: "read", view: (session, id) => id
    ? <PolicyPage key={id} id={id} may_write={has(session, "write")} may_operate={has(session, "operator")} /> : <Policies may_write={has(session, "write")} /> },
  { path: "users", name: "Users", needs: "read", view: (session, user) => <Users key={user} user={user} may_write={has(session, "write")} /> },
  { path: "tester", name: "Request tester", view: (session) => <Tester has_checks={session.has_checks} needs_token={session.name !== "loopback"} /> },
  { path: "leases", name: "Leases", needs: "read", view: () => <Leases /> },
  { path: "audit", name: "Audit", needs: "read", all_tenants: true, view: () => <Audit /> },
  { path: "tokens", name: "Tokens", needs: "admin", all_tenants: true, view: () => <Tokens /> },
  { path: "switch", name: "Red switch", needs: "read", view: (session) => <SwitchPage may_operate={has(session, "operator") && !session.tenants.length} /> },
];
const may_visit = (session: Session, { needs, all_tenants }: Place) =>
  (!needs || has(session, needs)) && (!all_tenants || !session.tenants.length);

function use_place(): [Place, string] {
  const [hash, set_hash] = useState(location.hash);
  useEffect(() => {
    const follow = () => set_hash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const [path, ...rest] = hash.replace(/^#\/?/, "").split("/");
  let name = rest.join("/");
  try { name = decodeURIComponent(name); } catch { /* as it is */ }
  return [PLACES.find((place) => place.path === path) ?? PLACES[0], name];
}

function Login({ done }: { done: (session: Session) => void }) {
  const [token, set_token] = useState("");
  const action = use_action();
  const log_in = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      if (/[^\x21-\x7e]/.test(token.trim())) throw new Error("A token has no spaces and no special characters.");
      done((await call<Session>("POST", "/v1/login", { headers: { authorization: `Bearer ${token.trim()}` } })).body);
    });
  };
  return (
    <main class="login">
      <section class="card">
        <h1><img src="/dashboard.svg" alt="" width={32} height={32} /> Sluice</h1>
        <p>This node asks for a token.</p>
        <form onSubmit={log_in}>
          <Text label="Token" type="password" required value={token} on={set_token} placeholder="sluice_…" />
          {action.error && <Notice kind="bad">{action.error}</Notice>}
          <div class="actions"><button class="primary" disabled={action.busy}>Log in</button></div>
        </form>
        <p><small>It is kept in a cookie that no script can read. <code>sluice token create</code> or an admin makes tokens.</small></p>
      </section>
    </main>
  );
}

const THEMES = ["auto", "light", "dark"] as const;
function use_theme() {
  const [theme, set_theme] = useState<string>(localStorage.getItem("theme") ?? "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
    dispatchEvent(new Event("theme"));
  }, [theme]);
  return { theme, turn: () => set_theme(THEMES[(THEMES.indexOf(theme as "auto") + 1) % THEMES.length]) };
}

function Banner() {
  const { breaker, error } = live.use_live();
  const left = use_countdown(breaker?.until);
  return (
    <>
      {breaker?.mode === "open" && <a class="banner" href="#/switch">The red switch is open: every check is allowed. It closes in {span(left)}.</a>}
      {error && <Notice kind="bad">{error}</Notice>}
    </>
  );
}

function Frame({ session, log_out }: { session: Session; log_out: () => void }) {
  const [place, rest] = use_place();
  const [is_open, set_open] = useState(false);
  const { theme, turn } = use_theme();
  useEffect(() => { set_open(false); document.title = `${place.name} · Sluice`; }, [place, rest]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <header>
        <a class="brand" href="#/"><img src="/dashboard.svg" alt="" width={28} height={28} /> Sluice</a>
        <button type="button" class="menu quiet" aria-expanded={is_open} aria-controls="places" onClick={() => set_open(!is_open)}>Menu</button>
        <nav id="places" aria-label="Views" class={is_open ? "open" : ""}>
          {PLACES.filter((one) => may_visit(session, one)).map((one) => (
            <a key={one.path} href={`#/${one.path}`} aria-current={one === place ? "page" : undefined}>{one.name}</a>
          ))}
          <div class="who">
            <small>Node <b>{location.host}</b></small>
            <small>{session.name}{session.tenants.length ? `, tenants ${session.tenants.join(", ")}` : ""}</small>
            <div class="actions">
              <button type="button" class="quiet small" onClick={turn}>Theme: {theme}</button>
              {session.name !== "loopback" && <button type="button" class="quiet small" onClick={log_out}>Log out</button>}
            </div>
          </div>
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <Banner />
        <h1>{place.name}</h1>
        {may_visit(session, place) ? place.view(session, rest) : <Notice kind="info">Your token has no access to this view.</Notice>}
      </main>
    </div>
  );
}

function App() {
  const [session, set_session] = useState<Session | null | undefined>(undefined); // null: a login is needed
  const [error, set_error] = useState("");
  useEffect(() => {
    when_unauthenticated(() => { live.stop(); set_session(null); });
    get<Session>("/v1/session").then(set_session, (problem: ApiError) => {
      if (problem.status !== 401) set_error(problem.message);
    });
  }, []);
  useEffect(() => { if (session) live.start(); }, [session]);
  const log_out = async () => {
    live.stop();
    await call("POST", "/v1/logout").catch(() => {});
    set_session(null);
  };
  if (error) return <main class="login"><Notice kind="bad">{error}</Notice></main>;
  if (session === undefined) return <main class="login"><p class="empty">Loading…</p></main>;
  return session ? <Frame session={session} log_out={log_out} /> : <Login done={set_session} />;
}

render(<App />, document.getElementById("app")!);
