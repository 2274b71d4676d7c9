// The API page in HTML: routes by group, their fields as tables with a form to try each, and the members of their replies.

import { DOCS_SCRIPT, DOCS_STYLE } from './docs-parts.ts';
import { givesText, repliesSection, row, text } from './docs-rows.ts';
import type { JsonSchema, OpenApi, ApiOperation } from './openapi.ts';

interface Entry {
  path: string;
  method: string;
  operation: ApiOperation;
  /** Other spellings of the path. */
  aliases: string[];
}

export function docsPage({ info, tags, paths, components }: OpenApi): string {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const entries = all
    .filter(({ operation }) => operation['x-svc-alias-of'] === undefined)
    .map((entry): Entry => {
      const same = all.filter(({ operation }) => operation['x-svc-alias-of'] === entry.path);
      return { ...entry, aliases: same.map(({ path }) => path) };
    });
  const groups = tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const menu = groups
    .map(
      (group) =>
        `<h2>${text(group.name)}</h2>${group.entries.map((entry) => `<a href="#${idOf(entry)}">${badge(entry)}<span>${text(entry.path)}</span></a>`).join('')}`,
    )
    .join('');
  const sections = groups
    .map((group) => `<section><h2>${text(group.name)}</h2>${group.entries.map(entryText).join('')}</section>`)
    .join('');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(info.title)} – interface</title>
<style>${DOCS_STYLE}</style>
</head>
<body>
<nav><h1>${text(info.title)} <small>${text(info.version)}</small></h1>${menu}</nav>
<main>
<header>
<p>${text(info.description)} For programs: <a href="openapi.json">openapi.json</a>.</p>
<label>Key <input id="key" type="password" autocomplete="off" placeholder="none"></label>
</header>
${sections}
${repliesSection(components.schemas)}
</main>
<script>${DOCS_SCRIPT}</script>
</body>
</html>
`;
}

const idOf = ({ operation }: Entry): string => operation.operationId;

const badge = ({ method }: Entry): string => `<b class="${method}">${method.toUpperCase()}</b>`;

const REQUIRED = '<em>required</em>';

function entryText(entry: Entry): string {
  const { path, operation, aliases } = entry;
  const also = aliases.length > 0 ? ` Also ${aliases.join(', ')}.` : '';
  const [type, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const parameters = (operation.parameters ?? []).map(({ name, schema, required, description, in: place }) =>
    row(name, { ...schema, description: `${description} In the ${place}.` }, required ? REQUIRED : ''),
  );
  const properties = Object.entries((body?.schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const required = (body?.schema['required'] ?? []) as string[];
  const rows = [
    ...parameters,
    ...properties.map(([name, schema]) => row(name, schema, required.includes(name) ? REQUIRED : '')),
  ];
  return `<details id="${idOf(entry)}"><summary>${badge(entry)}<code>${text(path)}</code><span>${text(operation.summary + also)}</span></summary>
${rows.length > 0 ? `<table><thead><tr><th>Field</th><th>Value</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>` : ''}
${givesText(operation)}
${type === 'multipart/form-data' ? '<p class="note">As a form.</p>' : tryBox(entry, required, properties)}
</details>`;
}

const EXAMPLES: Record<string, unknown> = {
  model: 'default',
  messages: [{ role: 'user', content: 'Hello' }],
  prompt: 'Once upon a time',
  input: 'Hello',
  max_tokens: 64,
  tokens: [1, 2, 3],
};

/** The form to try a route: a text area with an example body, and a place for the reply. */
function tryBox({ path, method }: Entry, required: string[], properties: [string, JsonSchema][]): string {
  const names = [
    ...new Set([...required, ...properties.map(([name]) => name).filter((name) => name === 'model')]),
  ];
  const body = Object.fromEntries(names.map((name) => [name, EXAMPLES[name] ?? '']));
  const area =
    properties.length > 0
      ? `<textarea spellcheck="false" rows="${names.length + 2}">${text(JSON.stringify(body, null, 2))}</textarea>`
      : '';
  return `<div class="try" data-method="${method.toUpperCase()}" data-path="${text(path)}"><label>Address <input value="${text(path)}"></label>${area}<button type="button">Send</button><pre hidden></pre></div>`;
}
