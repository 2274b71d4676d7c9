// Fuzzed requests by number: number and seed give the same request again. Numbers go through all fields of all routes in turn.

import { BODIES, keepSmall } from './fuzz-bodies.mjs';
import { fittingValue, oddValue, spoiledText } from './fuzz-values.mjs';
import { grammarValue, hasGrammar } from './fuzz-grammars.mjs';
import { wireExchange } from './fuzz-wire.mjs';
import { createRandom } from './client.mjs';

const FORM_ROUTES = ['/v1/images/edits', '/v1/files', '/v1/audio/transcriptions', '/v1/audio/translations'];
/** Streams that end with their readers, so that no whole answer comes. */
const ENDLESS = /\/models\/sse$/;

/** `openapi`: /openapi.json of the server that is going to be asked. */
export function createFuzz(openapi, seed) {
  const names = openapi.components.schemas;
  const routes = Object.keys(openapi.paths).filter((path) => !ENDLESS.test(path));
  const fields = Object.entries(openapi.paths).flatMap(([path, { post }]) => {
    const [content] = Object.values(post?.requestBody?.content ?? {});
    const schema = content?.schema.$ref ? names[content.schema.$ref.split('/').at(-1)] : content?.schema;
    return Object.entries(schema?.properties ?? {}).map(([name, part]) => ({ path, name, schema: part }));
  });
  // Fields that hold a grammar come several times: there is more to get wrong in them.
  const often = fields.flatMap((field) => (hasGrammar(field.name) ? Array(4).fill(field) : []));
  const order = shuffled([...fields, ...often], createRandom(seed));

  /** `{ about, run }` for wires; `{ about, method, path, body, headers }` for the rest. */
  return (number) => {
    const random = createRandom(seed * 1_000_003 + number * 7919);
    const kind = random.next();
    if (kind < 0.12) return wireExchange(random, routes);
    if (kind < 0.18) return readRequest(random, openapi);
    const { path, name, schema } = order[number % order.length];
    const body = structuredClone(random.pick(BODIES[path] ?? [{}]));
    if (kind < 0.28) return spoiledRequest(path, body, random);
    body[name] = fieldValue(name, schema, names, random);
    if (random.chance(0.5)) sayAnew(body, number);
    if (random.chance(0.3)) spoilInside(body, random);
    return bodyRequest(path, keepSmall(body, path), random);
  };
}

function fieldValue(name, schema, names, random) {
  const grammar = random.chance(0.7) ? grammarValue(name, random) : null;
  return grammar ?? (random.chance(0.55) ? fittingValue(schema, names, random) : oddValue(random));
}

/** Texts that no earlier request had, so that memory which the server keeps per text would add up. */
function sayAnew(body, number) {
  for (const name of ['prompt', 'input', 'rid', 'cache_salt', 'lora_name'])
    if (typeof body[name] === 'string') body[name] += ` ${number}`;
  const [message] = Array.isArray(body.messages) ? body.messages.slice(-1) : [];
  if (typeof message?.content === 'string') message.content += ` ${number}`;
}

function shuffled(list, { next }) {
  return list
    .map((entry) => [next(), entry])
    .toSorted(([a], [b]) => a - b)
    .map(([, entry]) => entry);
}

/** Members of a value, those inside others too. */
function placesIn(value, path = []) {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .slice(0, 50)
    .flatMap(([name, inner]) => [[...path, name], ...placesIn(inner, [...path, name])]);
}

/** Replaces, removes or duplicates one random member of a JSON value. */
function spoilInside(body, random) {
  const path = random.pick(placesIn(body));
  const parent = path.slice(0, -1).reduce((inner, name) => inner[name], body);
  const name = path.at(-1);
  const way = random.next();
  if (way < 0.2) delete parent[name];
  else if (way < 0.4 && Array.isArray(parent)) parent.push(...structuredClone(parent));
  else parent[name] = oddValue(random);
}

const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/ld+json',
  'text/plain',
  'multipart/form-data; boundary=x',
  '',
];

function spoiledRequest(path, body, random) {
  const type = random.chance(0.7) ? TYPES[0] : random.pick(TYPES);
  const text = spoiledText(JSON.stringify(keepSmall(body, path)), random);
  return {
    about: { path, type, body: String(text).slice(0, 600) },
    method: 'POST',
    path,
    body: text,
    headers: { 'content-type': type },
  };
}

function bodyRequest(path, body, random) {
  // This route ends all running requests, which the fuzzer must not do at random.
  if (path === '/abort_request' && body?.abort_all === true) delete body.abort_all;
  if (!FORM_ROUTES.includes(path))
    return {
      about: { path, body },
      method: 'POST',
      path,
      body: JSON.stringify(body),
      headers: { 'content-type': TYPES[0] },
      leavesAfter: leaving(random),
    };
  const hasFile = path === '/v1/files' || path.startsWith('/v1/audio/');
  const form = hasFile ? fileForm(body, random) : formOf(body, random);
  return { about: { path, form: body }, method: 'POST', path, body: form, headers: {} };
}

/** Milliseconds until the client disconnects; most clients do not. */
function leaving({ chance, int }) {
  return chance(0.04) ? int(300) : null;
}

/** A PNG of one pixel, and files that are none. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const FILES = [
  Buffer.from(PIXEL, 'base64'),
  Buffer.from(PIXEL, 'base64').subarray(0, 40),
  Buffer.alloc(0),
  Buffer.from('RIFF\u0010\u0000\u0000\u0000WEBPVP8 ', 'latin1'),
  Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16]),
  Buffer.from('<svg/>'),
  hugePng(),
];

/** A PNG whose header speaks of 65,535 x 65,535 pixels. */
function hugePng() {
  const bytes = Buffer.from(PIXEL, 'base64');
  bytes.writeUInt32BE(65_535, 16);
  bytes.writeUInt32BE(65_535, 20);
  return bytes;
}

function fileForm({ file, ...body }, random) {
  const form = new FormData();
  for (const [name, value] of Object.entries(body))
    form.append(name, typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  if (random.chance(0.8)) form.set('file', new File([random.pick(FILES)], random.pick(['a.jsonl', '../x'])));
  else if (file !== undefined) form.set('file', String(file));
  return form;
}

function formOf(body, random) {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (name === 'image' || name === 'mask') continue;
    for (const one of Array.isArray(value) && random.chance(0.5) ? value.slice(0, 20) : [value])
      form.append(
        random.chance(0.1) ? `${name}[]` : name,
        typeof one === 'string' ? one : (JSON.stringify(one) ?? ''),
      );
  }
  const file = () =>
    new File([random.pick(FILES)], random.pick(['a.png', '', '../x', 'a\u0000']), {
      type: random.pick(['image/png', 'text/html', '']),
    });
  if (random.chance(0.8)) form.set('image', random.chance(0.5) ? new File([FILES[0]], 'a.png') : file());
  if (random.chance(0.2)) form.set('mask', file());
  if (random.chance(0.05)) form.append('image', file());
  return form;
}

/** GET and DELETE of every route, with ids and queries of no sense. */
function readRequest(random, { paths }) {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'post')
      .map((method) => [method.toUpperCase(), path]),
  );
  const [method, route] = random.pick(routes);
  const id = encodeURIComponent(
    String(
      random.pick([
        'default',
        'nobody',
        'default:x',
        '',
        '..',
        'a/b',
        'resp_x',
        '\u0000',
        '🙂',
        'a'.repeat(300),
      ]),
    ),
  );
  const query = random.chance(0.3)
    ? `?model=${id}&limit=${random.pick(['0', '-1', 'x', '1e9'])}&after=x`
    : '';
  const path = route.replace(/\{\w+\}/, id) + query;
  const leavesAfter = ENDLESS.test(route) ? 100 : null;
  return { about: { method, path }, method, path, headers: {}, leavesAfter };
}
