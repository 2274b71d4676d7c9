// Style and script of the API page. Both are inlined, so that the page loads nothing.

export const DOCS_STYLE = `
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --line: #e3e5e9; --ground: #fff; --raised: #f7f8fa; --accent: #3358d4; }
@media (prefers-color-scheme: dark) { :root { --ink: #eceef0; --soft: #a0a6ae; --line: #2b2f36; --ground: #111316; --raised: #1a1d21; --accent: #8da4ef; } }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: 19rem 1fr; min-height: 100vh; font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--ground); }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); background: var(--raised); }
h1 { font-size: 1.15rem; margin: 0 0 1rem; } h1 small { color: var(--soft); font-weight: 400; }
h2 { font-size: .75rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft); margin: 1.4rem 0 .4rem; }
nav a { display: flex; gap: .5rem; align-items: center; padding: .2rem .4rem; border-radius: .35rem; color: inherit; text-decoration: none; font-size: .82rem; }
nav a:hover { background: var(--line); } nav span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
main { padding: 1.5rem 2.5rem 6rem; max-width: 70rem; min-width: 0; }
header { display: flex; gap: 2rem; justify-content: space-between; align-items: center; flex-wrap: wrap; color: var(--soft); }
a { color: var(--accent); }
b { font: 600 .62rem/1.5 ui-monospace, monospace; padding: 0 .35rem; border-radius: .25rem; color: #fff; min-width: 3.1rem; text-align: center; background: #697177; }
b.post { background: #2b8a5b; } b.get { background: #3358d4; } b.delete { background: #c4443c; }
code, pre, textarea { font: .85em/1.5 ui-monospace, SFMono-Regular, Consolas, monospace; }
details { border: 1px solid var(--line); border-radius: .6rem; margin: .5rem 0; background: var(--raised); scroll-margin-top: 1rem; }
summary { display: flex; gap: .75rem; align-items: center; padding: .6rem .9rem; cursor: pointer; list-style: none; flex-wrap: wrap; }
summary span { color: var(--soft); } details[open] summary { border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; background: var(--ground); }
th, td { text-align: left; vertical-align: top; padding: .45rem .9rem; border-bottom: 1px solid var(--line); }
th { font-size: .72rem; color: var(--soft); font-weight: 600; } td:nth-child(2) { color: var(--soft); font-size: .85rem; max-width: 18rem; overflow-wrap: anywhere; }
td em { display: block; font: 600 .65rem/1.6 system-ui, sans-serif; color: #c4443c; } td i { font-style: normal; opacity: .75; }
tr.neutral-only td, tr.no-effect td { opacity: .55; }
.try, .note { padding: .9rem; display: grid; gap: .6rem; margin: 0; }
.gives { padding: .6rem .9rem; margin: 0; color: var(--soft); }
input, textarea, button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .6rem; }
.try label { display: flex; gap: .6rem; align-items: center; color: var(--soft); } .try input { flex: 1; font: .85em ui-monospace, monospace; color: var(--ink); }
textarea { width: 100%; resize: vertical; font: .85em/1.5 ui-monospace, monospace; }
button { justify-self: start; background: var(--accent); color: var(--ground); border: 0; padding: .45rem 1.1rem; cursor: pointer; }
pre { margin: 0; padding: .8rem; background: var(--ground); border: 1px solid var(--line); border-radius: .4rem; max-height: 26rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 60rem) { body { grid-template-columns: 1fr; } nav { display: none; } main { padding: 1rem; } }
`;

export const DOCS_SCRIPT = `
const pretty = (value) => { try { return JSON.stringify(JSON.parse(value), null, 2); } catch { return value; } };
async function send(box) {
  const out = box.querySelector('pre');
  const area = box.querySelector('textarea');
  const key = document.getElementById('key').value;
  out.hidden = false;
  out.textContent = '…';
  try {
    const response = await fetch(box.querySelector('input').value.replace(/^[/]+/, ''), {
      method: box.dataset.method,
      headers: { ...(area && { 'content-type': 'application/json' }), ...(key && { authorization: 'Bearer ' + key }) },
      ...(area && { body: area.value }),
    });
    const head = response.status + ' ' + response.statusText + '\\n\\n';
    if (!(response.headers.get('content-type') || '').includes('event-stream')) {
      out.textContent = head + pretty(await response.text());
      return;
    }
    out.textContent = head;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      out.textContent += part.value;
      out.scrollTop = out.scrollHeight;
    }
  } catch (error) {
    out.textContent = String(error);
  }
}
for (const box of document.querySelectorAll('.try')) box.querySelector('button').addEventListener('click', () => send(box));
const show = () => { const part = document.getElementById(location.hash.slice(1)); if (part) part.open = true; };
addEventListener('hashchange', show);
show();
`;
