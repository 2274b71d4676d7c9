// /openapi.json and /docs: the contents of the tables, and no external resources.

import { describe, expect, it } from 'vitest';
import { MODEL_KINDS } from '../../../src/index.ts';
import { ROUTES } from '../../../src/server/routes.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { openFakeImageModel } from '../fake-image-model.ts';
import { start } from '../harness.ts';

interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
}

interface Operation {
  operationId: string;
  security?: object[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content: Record<string, { schema: Reference }> }>;
}

/** A reference to a schema of the components. */
interface Reference {
  $ref?: string;
  description?: string;
}

interface Schema {
  required?: string[];
  properties: Record<string, Record<string, unknown>>;
}

async function read(): Promise<Document> {
  const { url } = await start({ apiKey: 'k', version: '1.2.3' });
  return (await (await fetch(`${url}/openapi.json`)).json()) as Document;
}

const bodyOf = (operation: Operation, type = 'application/json'): Schema =>
  operation.requestBody!.content[type]!.schema;

describe('the route /openapi.json', () => {
  it('has every route and no other, by its own name', async () => {
    const { openapi, info, paths } = await read();
    expect([openapi, info.version]).toEqual(['3.1.0', '1.2.3']);
    const written = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const known = Object.entries(ROUTES).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toLowerCase()} ${path.replace('**', '{name}').replace(':id', '{id}')}`,
      ),
    );
    expect(written.toSorted()).toEqual(known.toSorted());
    const ids = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((one) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has the fields of a body with kinds, bounds, defaults and status', async () => {
    const { paths } = await read();
    const chat = bodyOf(paths['/v1/chat/completions']!['post']!);
    expect(chat.required).toEqual(['messages', 'model']);
    expect(chat.properties['temperature']).toMatchObject({
      type: 'number',
      minimum: 0,
      maximum: 2,
      'x-svc-status': 'honoured',
      description: expect.stringContaining('Higher is more random') as string,
    });
    expect(chat.properties['n']).toMatchObject({ type: 'integer', minimum: 1, maximum: 128, default: 1 });
    expect(chat.properties['audio']).toMatchObject({ 'x-svc-status': 'neutral-only' });
    expect(chat.properties['user']).toMatchObject({ 'x-svc-status': 'no-effect' });
    expect(chat.properties['messages']).toMatchObject({ type: 'array', minItems: 1 });
    for (const [path, methods] of Object.entries(ROUTES)) {
      const { fields, form, required } = methods.POST ?? {};
      const table = fields ?? form;
      if (!table) continue;
      const type = form ? 'multipart/form-data' : 'application/json';
      const body = bodyOf(paths[path]!['post']!, type);
      expect(Object.keys(body.properties), path).toEqual(Object.keys(table));
      expect(body.required, path).toEqual(required);
    }
  });

  it('knows forms, files, streams, names in paths, keys and envelopes', async () => {
    const { paths } = await read();
    const edits = bodyOf(paths['/v1/images/edits']!['post']!, 'multipart/form-data');
    expect(JSON.stringify(edits.properties['image'])).toContain('"format":"binary"');
    const { responses } = paths['/v1/messages']!['post']!;
    expect(Object.keys(responses['200']!.content)).toEqual(['application/json', 'text/event-stream']);
    const metrics = paths['/metrics']!['get']!.responses['200']!;
    expect(Object.keys(metrics.content)).toEqual(['text/plain']);
    expect(JSON.stringify(responses['default'])).toContain('#/components/schemas/AnthropicError');
    const lines = paths['/api/chat']!['post']!.responses;
    expect(Object.keys(lines['200']!.content)).toEqual(['application/json', 'application/x-ndjson']);
    expect(JSON.stringify(lines['default'])).toContain('#/components/schemas/OllamaError');
    const { options } = bodyOf(paths['/api/chat']!['post']!).properties;
    expect(JSON.stringify(options)).toContain('"num_predict":{');
    expect(paths['/v1/responses/{id}']!['delete']!.parameters).toMatchObject([{ name: 'id', in: 'path' }]);
    expect(paths['/model_info']!['get']!.parameters).toMatchObject([{ name: 'model', in: 'query' }]);
    expect(paths['/readyz']!['get']!.security).toEqual([]);
    expect(paths['/flush_cache']!['post']!.security).toEqual([{ admin: [] }, {}]);
  });
});

describe('replies in the API page', () => {
  it('have schemas with members, which all lead somewhere', async () => {
    const { paths, components } = await read();
    const named = (reference: Reference | undefined) =>
      components.schemas[/^#\/components\/schemas\/(\w+)$/.exec(reference?.$ref ?? '')?.[1] ?? ''];
    const saysSomething = (schema: Record<string, unknown> | undefined): boolean => {
      const { properties = {}, anyOf, oneOf, items } = { ...schema };
      if (items) return saysSomething(items as Record<string, unknown>);
      const options = (anyOf ?? oneOf) as (Reference & Record<string, unknown>)[] | undefined;
      if (!options) return Object.keys(properties as object).length > 0;
      return options.every((option) => saysSomething(option.$ref === undefined ? option : named(option)));
    };
    for (const [path, methods] of Object.entries(ROUTES)) {
      for (const [method, { gives, fields, form, reply, event }] of Object.entries(methods)) {
        // A route that answers by events alone.
        const isStream = reply === undefined && event !== undefined;
        const at = path.replace('**', '{name}').replace(':id', '{id}');
        const { responses } = paths[at]![method.toLowerCase()]!;
        const { 'application/json': json, ...other } = responses['200']?.content ?? {};
        const refuses = path.startsWith('/api/') && !responses['200'];
        // Some routes answer in JSON or in text, as they are asked.
        const isText = gives !== undefined && reply === undefined;
        expect(saysSomething(named(json?.schema)), `${method} ${path}`).toBe(
          !isText && !refuses && !isStream,
        );
        const streams = Object.values(other).filter(({ schema }) => saysSomething(named(schema)));
        expect(streams, `${method} ${path}`).toHaveLength(
          isStream || 'stream' in (fields ?? form ?? {}) ? 1 : 0,
        );
        expect(saysSomething(named(responses['default']!.content['application/json']!.schema))).toBe(true);
      }
    }
    const text = JSON.stringify({ paths, components });
    for (const [, id] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      expect(components.schemas, id).toHaveProperty(id!);
  });

  it('share what they have in common, and say how a stream ends', async () => {
    const { paths, components } = await read();
    const { schemas } = components;
    const usage = { $ref: '#/components/schemas/Usage' };
    expect(schemas['ChatCompletion']).toMatchObject({ additionalProperties: false, properties: { usage } });
    expect(schemas['Completion']).toMatchObject({ properties: { usage } });
    const eventOf = (path: string, type = 'text/event-stream') =>
      paths[path]!['post']!.responses['200']!.content[type]!.schema;
    expect(eventOf('/v1/chat/completions')).toEqual({
      $ref: '#/components/schemas/ChatCompletionEvent',
      description: 'The data of an event; `data: [DONE]` ends the stream.',
    });
    expect(eventOf('/v1/messages').description).not.toContain('[DONE]');
    expect(eventOf('/api/chat', 'application/x-ndjson').description).toBe('A line.');
    expect(Object.keys(paths['/readyz']!['get']!.responses)).toEqual(['200', '503', 'default']);
    expect(Object.keys(paths['/api/push']!['post']!.responses)).toEqual(['default']);
  });
});

it('each GET route returns what the API page declares, with models of every kind', async () => {
  const { url, server } = await start();
  server.addModel({ kind: MODEL_KINDS.embedding }).ready(createFakeEmbeddingModel());
  server.addModel({ kind: MODEL_KINDS.image }).ready(await openFakeImageModel());
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const pages = Object.entries(paths).filter(([path, { get }]) => get && !path.includes('{'));
  expect(pages.length).toBeGreaterThan(10);
  for (const name of server.names())
    for (const path of [`/v1/models/${name}`, `/model_info?model=${name}`])
      expect(await (await fetch(url + path)).text()).toContain(name);
  for (const [path, { get }] of pages) {
    const leaving = new AbortController();
    const response = await fetch(url + path, { signal: leaving.signal });
    expect(response.status, path).toBe(200);
    const [type] = response.headers.get('content-type')!.split(';');
    // The changes of models have no end.
    if (type === 'text/event-stream') leaving.abort();
    else await response.text();
    expect(Object.keys(get!.responses['200']!.content), path).toEqual([type]);
  }
});

describe('the route /docs', () => {
  it('is one page that loads nothing', async () => {
    const { url } = await start({ apiKey: 'k', version: '1.2.3' });
    const response = await fetch(`${url}/docs`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = await response.text();
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses/{id}', '/flush_cache'])
      expect(page).toContain(path);
    for (const field of ['custom_logit_processor', 'previous_response_id', 'encoding_format'])
      expect(page).toContain(`<code>${field}</code>`);
    expect(page.match(/<code>\/v1\/tokenize</g)).toHaveLength(1);
    expect(page).toContain('Also /tokenize.');
    expect(page).toContain('Gives <a href="#ChatCompletion">ChatCompletion</a> as application/json, or');
    for (const member of ['choices[].message.reasoning_content', 'svcext', 'usage'])
      expect(page.split('<details id="ChatCompletion">')[1]!.split('</details>')[0]).toContain(
        `<code>${member}</code>`,
      );
    // Every link leads to a section of the page.
    for (const [, id] of page.matchAll(/href="#(\w+)"/g)) expect(page).toContain(`<details id="${id}">`);
  });
});
