// What is no request, or nearly one: bodies that are no JSON, valid bodies with a member replaced, connections that break off.
// Each is answered well or refused in the terms of its interface; never with an error of ours.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { checkRefusal, readEvents } from './client.mjs';
import { user } from './chat-loads.mjs';
import { SCHEMAS, STRUCTURE, TOOLS } from './grammars.mjs';

/** None of these is a chat request. */
export const MALFORMED = [
  ...['', '{', '[]', 'null', '"text"', '{"messages":[]}', '{"messages":"hi"}', '\u0000', '[['.repeat(50_000)],
  ...[null, 7, [], [null], [{}], [{ role: 'user' }], [{ role: 'robot', content: 'x' }]].map((messages) =>
    JSON.stringify({ model: 'default', messages }),
  ),
  ...[
    { max_tokens: -1 },
    { temperature: 'hot' },
    { n: 1e9 },
    { stop: [''] },
    { logit_bias: { x: 1 } },
    { model: 'nobody' },
    { model: 'default:nobody' },
    { lora_path: '/etc' },
    { regex: '(' },
    { regex: 'a', ebnf: 'root ::= "a"' },
    { ebnf: 'root ::= missing' },
    { response_format: { type: 'json_schema', json_schema: { schema: { type: 'what' } } } },
    { response_format: { type: 'json_schema', json_schema: { schema: { $ref: '#/nowhere' } } } },
    { tool_choice: 'required' },
    { custom_logit_processor: '{"name":"wgsl","source":"x"}' },
    { custom_logit_processor: '{' },
    { input_ids: [1e6] },
    { messages: user([{ type: 'image_url', image_url: { url: 'http://localhost/x' } }]) },
    { messages: user('x'.repeat(2 ** 20)) },
  ].map((field) => JSON.stringify({ model: 'default', messages: user('hi'), ...field })),
];

const chat = { model: 'default', messages: user('hi'), max_tokens: 4 };
/** Valid ones, to be spoiled. */
const VALID = [
  [
    '/v1/chat/completions',
    {
      ...chat,
      temperature: 1,
      top_p: 0.9,
      top_k: 5,
      n: 2,
      seed: 1,
      stop: ['x'],
      logit_bias: { 5: 1 },
      stream: true,
      stream_options: { include_usage: true },
    },
  ],
  [
    '/v1/chat/completions',
    {
      ...chat,
      logprobs: true,
      top_logprobs: 3,
      min_tokens: 2,
      stop_regex: 'a+',
      rid: 'fuzz',
      priority: 1,
      cache_salt: 's',
    },
  ],
  [
    '/v1/chat/completions',
    { ...chat, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMAS[0] } } },
  ],
  [
    '/v1/chat/completions',
    { ...chat, response_format: STRUCTURE, reasoning_effort: 'low', thinking_budget: 3 },
  ],
  [
    '/v1/chat/completions',
    {
      ...chat,
      tools: TOOLS,
      tool_choice: { type: 'function', function: { name: 'add' } },
      parallel_tool_calls: false,
    },
  ],
  [
    '/v1/chat/completions',
    {
      ...chat,
      messages: [
        ...user('hi'),
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: '3' },
      ],
    },
  ],
  ['/v1/completions', { model: 'default', prompt: ['a', 'b'], max_tokens: 3, logprobs: 2, n: 2 }],
  [
    '/v1/responses',
    {
      model: 'default',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      max_output_tokens: 4,
      text: { format: { type: 'text' } },
    },
  ],
  [
    '/v1/messages',
    {
      model: 'default',
      max_tokens: 4,
      messages: user([{ type: 'text', text: 'hi' }]),
      system: 'x',
      tool_choice: { type: 'auto' },
      tools: [{ name: 'a', input_schema: { type: 'object' } }],
    },
  ],
  ['/v1/messages/count_tokens', { model: 'default', messages: user('hi') }],
  ['/v1/embeddings', { model: 'default', input: ['a'], dimensions: 4 }],
  ['/tokenize', { prompt: 'a b', model: 'default', add_special_tokens: true }],
  ['/detokenize', { tokens: [1, 2, 3], skip_special_tokens: false }],
  ['/abort_request', { rid: 'nobody' }],
  ['/unload_lora_adapter', { lora_name: 'nobody' }],
  ['/load_lora_adapter', { lora_name: 'x', lora_path: '/nowhere' }],
  [
    '/v1/images/generations',
    {
      prompt: 'a house',
      num_inference_steps: 1,
      n: 1,
      size: '128x128',
      seed: 1,
      guidance_scale: 1,
      output_format: 'png',
    },
  ],
];
/** Ends everything that runs: not by chance. */
const NOT_IN = { '/abort_request': ['abort_all'] };
const ODD = [
  null,
  true,
  false,
  -1,
  0,
  1,
  3,
  1.5,
  1e308,
  2 ** 53,
  '',
  'x',
  '\u0000',
  '\ud800',
  '🙂',
  'a'.repeat(5000),
  [],
  [[]],
  [null],
  [1],
  ['x'],
  {},
  { a: 1 },
  { type: 'x' },
  { __proto__: null, toString: 1 },
];

/** Members of a value, those inside others too. */
function placesIn(value, path = []) {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [...path, name],
    ...placesIn(inner, [...path, name]),
  ]);
}

function spoiled(body, { pick, chance }) {
  const copy = structuredClone(body);
  const places = placesIn(copy);
  for (let left = chance(0.3) ? 2 : 1; left > 0; left--) {
    const path = pick(places);
    const parent = path.slice(0, -1).reduce((inner, name) => inner?.[name], copy);
    if (typeof parent !== 'object' || parent === null) continue;
    if (chance(0.15)) delete parent[path.at(-1)];
    else parent[path.at(-1)] = pick(ODD);
  }
  return copy;
}

async function spoiledBody(at) {
  const [path, valid] = at.random.pick(
    at.hasImages ? VALID : VALID.filter(([route]) => !route.includes('images')),
  );
  const body = spoiled(valid, at.random);
  for (const name of NOT_IN[path] ?? []) delete body[name];
  at.said = { path, body };
  const signal = AbortSignal.timeout(20_000);
  try {
    const reply = await at.client.send('POST', path, body, { signal });
    if (!reply.ok)
      return checkRefusal(path, { status: reply.status, body: await reply.json() }, JSON.stringify(body));
    if (!reply.headers.get('content-type').startsWith('text/event-stream')) return void (await reply.json());
    for await (const { data } of readEvents(reply.body)) if (data !== '[DONE]') JSON.parse(data);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

export async function malformedBody({ client }, body) {
  const reply = await client.json('POST', '/v1/chat/completions', body);
  checkRefusal('/v1/chat/completions', reply, body);
  assert.ok(reply.status < 500, `${reply.status}`);
}

const BROKEN = [
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"mod\r\nzz\r\n',
  'GET /v1/models HTTP/1.1\r\nhost: localhost\r\n',
  'NONSENSE\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n',
  '\u0000\u0001\u0002',
];

/** Says a part of a request, and leaves. */
async function brokenConnection({ base, random }) {
  const { port, hostname } = new URL(base);
  await new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(random.pick(BROKEN));
      setTimeout(() => socket.destroy(), random.int(200));
    });
    socket.on('error', resolve).on('close', resolve).resume();
  });
}

export const FUZZ_LOADS = {
  spoiledBody,
  malformedBody: (at) => malformedBody(at, at.random.pick(MALFORMED)),
  brokenConnection,
};
