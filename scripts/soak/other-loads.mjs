// The other routes for text: completions, responses, messages, tokens; pages to read; the cache.

import assert from 'node:assert/strict';
import { checkRefusal, dataOf } from './client.mjs';
import { user } from './chat-loads.mjs';
import { checkCalls, checkJson, SCHEMAS, TOOLS } from './grammars.mjs';

const TEXTS = ['Once upon a time', 'The capital of France is', '1, 2, 3,', 'naïve – 谢谢 🙂'];

async function completion(at) {
  const { pick, chance, int } = at.random;
  const prompt = pick([pick(TEXTS), TEXTS.slice(0, 3), [5, 6, 7], [[8, 9], [10]]]);
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
  const n = 1 + int(3);
  const echo = chance(0.3);
  const stream = chance(0.5);
  const body = {
    model: 'default',
    prompt,
    n,
    echo,
    stream,
    max_tokens: 1 + int(24),
    ...(!echo && chance(0.4) && { logprobs: int(6) }),
    ...(stream && { stream_options: { include_usage: true } }),
  };
  at.said = { path: '/v1/completions', body };
  const { choices, usage } = stream
    ? joined(await at.client.stream('/v1/completions', body))
    : await at.client.post('/v1/completions', body);
  assert.equal(choices.length, n * prompts);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  assert.ok(usage.completion_tokens <= n * prompts * body.max_tokens);
  for (const choice of choices) {
    assert.ok(['stop', 'length', 'abort'].includes(choice.finish_reason), choice.finish_reason);
    if (echo && typeof prompt === 'string') assert.ok(choice.text.startsWith(prompt));
  }
}

function joined(events) {
  assert.equal(events.at(-1).data, '[DONE]');
  const choices = [];
  let usage = null;
  for (const chunk of dataOf(events)) {
    assert.ok(!chunk.error, JSON.stringify(chunk));
    usage = chunk.usage ?? usage;
    for (const { index, text, finish_reason: reason } of chunk.choices) {
      const choice = (choices[index] ??= { text: '', finish_reason: null });
      assert.equal(choice.finish_reason, null);
      choice.text += text;
      choice.finish_reason = reason;
    }
  }
  return { choices, usage };
}

async function response(at) {
  const { pick, chance } = at.random;
  const schema = chance(0.3) ? pick(SCHEMAS.filter(({ type }) => type === 'object')) : null;
  const tools = TOOLS.map(({ type, function: tool }) => ({ type, ...tool }));
  const stream = chance(0.5);
  const body = {
    model: 'default',
    input: pick(['Hello', user('My name is Bo.')]),
    max_output_tokens: 96,
    stream,
    ...(schema && { text: { format: { type: 'json_schema', name: 'x', schema } } }),
    ...(!schema && chance(0.4) && { tools, tool_choice: pick(['auto', 'required']) }),
  };
  at.said = { path: '/v1/responses', body };
  const first = stream
    ? streamedResponse(await at.client.stream('/v1/responses', body))
    : await at.client.post('/v1/responses', body);
  checkResponse(first, schema);
  const { id } = await at.client.get(`/v1/responses/${first.id}`);
  assert.equal(id, first.id);
  if (chance(0.5))
    checkResponse(
      await at.client.post('/v1/responses', {
        model: 'default',
        input: 'And then?',
        previous_response_id: id,
        max_output_tokens: 12,
        store: false,
      }),
    );
  const items = await at.client.get(`/v1/responses/${id}/input_items`);
  assert.ok(items.data.length > 0);
  const { status } = await at.client.json('DELETE', `/v1/responses/${id}`);
  assert.equal(status, 200);
  checkRefusal('/v1/responses', await at.client.json('GET', `/v1/responses/${id}`));
}

function streamedResponse(events) {
  const told = dataOf(events);
  assert.deepEqual(
    told.map(({ sequence_number: number }) => number),
    told.map((_, index) => index),
  );
  assert.deepEqual(
    told.map(({ type }) => type),
    events.map(({ name }) => name),
  );
  assert.equal(told[0].type, 'response.created');
  const { response: last } = told.at(-1);
  const texts = last.output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('');
  const deltas = told
    .filter(({ type }) => /(output|reasoning)_text\.delta$/.test(type))
    .map(({ delta }) => delta);
  assert.equal(deltas.join(''), texts, 'the deltas are the text');
  return last;
}

function checkResponse({ object, status, output, usage, error }, schema = null) {
  assert.equal(object, 'response');
  assert.ok(['completed', 'incomplete', 'cancelled'].includes(status), `${status} ${JSON.stringify(error)}`);
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  if (status !== 'completed') return;
  const calls = output.filter(({ type }) => type === 'function_call');
  checkCalls(
    calls.map(({ call_id: id, name, arguments: text }) => ({ id, function: { name, arguments: text } })),
  );
  const text = output
    .filter(({ type }) => type === 'message')
    .flatMap(({ content }) => content.map((part) => part.text));
  if (schema) checkJson(text.join(''), schema);
}

async function message(at) {
  const { pick, chance } = at.random;
  const stream = chance(0.5);
  const tools = TOOLS.map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  const body = {
    model: 'default',
    max_tokens: 100,
    stream,
    system: 'Be brief.',
    messages: user(pick(['Hello', [{ type: 'text', text: 'What is 2 + 3?' }]])),
    ...(chance(0.4) && { tools, tool_choice: pick([{ type: 'auto' }, { type: 'any' }]) }),
    ...(chance(0.2) && { stop_sequences: ['.'] }),
    ...(chance(0.2) && { thinking: { type: 'enabled', budget_tokens: 20 } }),
  };
  at.said = { path: '/v1/messages', body };
  const reply = stream
    ? streamedMessage(await at.client.stream('/v1/messages', body))
    : await at.client.post('/v1/messages', body);
  assert.equal(reply.type, 'message');
  assert.ok(
    ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', null].includes(reply.stop_reason),
    reply.stop_reason,
  );
  if (reply.stop_reason === 'tool_use')
    checkCalls(
      reply.content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id, function: { name, arguments: JSON.stringify(input) } })),
    );
  const { input_tokens: count } = await at.client.post('/v1/messages/count_tokens', {
    model: 'default',
    messages: body.messages,
  });
  assert.ok(count > 0);
}

function streamedMessage(events) {
  const told = dataOf(events);
  assert.deepEqual(
    told.map(({ type }) => type),
    events.map(({ name }) => name),
  );
  assert.equal(told[0].type, 'message_start');
  assert.equal(told.at(-1).type, 'message_stop', JSON.stringify(told.at(-1)));
  const { message: reply } = told[0];
  let open = null;
  for (const { type, index, content_block: block, delta } of told) {
    if (type === 'content_block_start') {
      assert.equal(open, null);
      open = { ...block, json: '' };
      assert.equal(reply.content.push(open) - 1, index);
    } else if (type === 'content_block_delta') {
      assert.equal(index, reply.content.length - 1);
      open.json += delta.partial_json ?? '';
    } else if (type === 'content_block_stop') {
      if (open.type === 'tool_use') open.input = open.json;
      open = null;
    } else if (type === 'message_delta') reply.stop_reason = delta.stop_reason;
  }
  assert.equal(open, null);
  if (reply.stop_reason === 'tool_use')
    for (const block of reply.content)
      if (block.type === 'tool_use') block.input = JSON.parse(block.input || '{}');
  return reply;
}

async function tokens(at) {
  const text = `${at.random.pick(TEXTS)} ${at.random.int(1000)}`;
  const { tokens: ids, count } = await at.client.post('/tokenize', {
    prompt: text,
    add_special_tokens: false,
  });
  assert.equal(ids.length, count);
  const { text: back } = await at.client.post('/v1/detokenize', { tokens: ids });
  assert.equal(back, text);
  const rendered = await at.client.post('/v1/tokenize', { messages: user(text), tools: TOOLS });
  assert.ok(rendered.count > count);
}

async function embedding(at) {
  const body = { model: 'default', input: 'a text' };
  const reply = await at.client.json('POST', '/v1/embeddings', body);
  checkRefusal('/v1/embeddings', reply);
  assert.ok(reply.status === 404 || reply.status === 400, `${reply.status}`);
}

async function pages(at) {
  const metrics = await (await at.client.send('GET', '/metrics')).text();
  for (const line of metrics.trim().split('\n'))
    assert.match(line, /^($|#|svc:\w+(\{.*\})? [-+\d.eNaInf]+$)/);
  assert.match(metrics, /svc:num_running_reqs\{/);
  const { models } = await at.client.get('/server_info');
  for (const { metrics: now } of models.filter(({ kind }) => kind === 'text'))
    assert.ok(now.pages.used + now.pages.cached <= now.pages.total, JSON.stringify(now.pages));
  assert.equal((await at.client.get('/v1/models')).object, 'list');
  assert.equal((await at.client.get('/openapi.json')).openapi, '3.1.0');
  assert.equal((await at.client.send('GET', '/docs')).status, 200);
  await at.client.get('/health');
}

/** Refused while requests run. */
async function flush(at) {
  const { status, body } = await at.client.json('POST', '/flush_cache', {});
  assert.ok(status === 200 ? body.flushed : body.error.code === 'busy', JSON.stringify(body));
}

export const OTHER_LOADS = { completion, response, message, tokens, embedding, pages, flush };
