// Bodies that are no chat request, each refused in the terms of the interface and never with an error of ours.

import assert from 'node:assert/strict';
import { checkRefusal } from './client.mjs';
import { user } from './chat-loads.mjs';

/** JSON values and texts that are not chat requests. */
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

export async function malformedBody({ client }, body) {
  const reply = await client.json('POST', '/v1/chat/completions', body);
  checkRefusal('/v1/chat/completions', reply, body);
  assert.ok(reply.status < 500, `${reply.status}`);
}
