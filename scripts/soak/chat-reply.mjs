// Whether a chat completion is well-formed: the order of a stream's chunks, sums, log probabilities. A stream is folded into the
// form of the plain reply, so that both are checked alike.

import assert from 'node:assert/strict';
import { Refused } from './client.mjs';

const REASONS = new Set(['stop', 'length', 'tool_calls', 'abort']);

/** Folds the events of a stream. */
export function foldChunks(events, body) {
  assert.equal(events.at(-1)?.data, '[DONE]', 'a stream ends with [DONE]');
  const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
  const reply = { choices: [] };
  let last = null;
  for (const chunk of chunks) {
    assert.equal(last?.error, undefined, 'nothing follows an error');
    if (chunk.error) {
      assert.equal(chunk.error.code, 'timed_out', JSON.stringify(chunk));
      assert.ok(reply.choices.every(({ finish_reason }) => finish_reason !== null));
      reply.error = chunk.error;
    } else {
      assert.equal(chunk.object, 'chat.completion.chunk');
      assert.equal(chunk.id, (reply.id ??= chunk.id));
      assert.ok(chunk.choices.length <= 1);
      if (chunk.usage) reply.usage = growing(reply.usage, chunk.usage);
      if (chunk.svcext) reply.svcext = chunk.svcext;
      if (chunk.choices.length > 0) applyChunk(reply.choices, chunk.choices[0]);
      const asked = body.stream_options ?? {};
      const hasUsage = asked.continuous_usage_stats ? chunk.choices.length > 0 : false;
      if (hasUsage) assert.ok(chunk.usage, 'each chunk has usage');
    }
    last = chunk;
  }
  if (body.stream_options?.include_usage && !reply.error)
    assert.ok(last.usage && last.choices.length === 0, 'usage comes last');
  return reply;
}

function growing(before, now) {
  assert.ok((before?.completion_tokens ?? 0) <= now.completion_tokens, 'usage grows');
  return now;
}

function applyChunk(choices, { index, delta, logprobs, finish_reason, matched_stop, ...more }) {
  const choice = (choices[index] ??= {
    index,
    message: null,
    logprobs: null,
    finish_reason: null,
    matched_stop: null,
  });
  if (choice.message === null) {
    assert.equal(delta.role, 'assistant', 'the first chunk of a choice says the role');
    choice.message = { content: '', reasoning_content: '', tool_calls: [] };
  }
  if ('hidden_states' in delta) {
    choice.hidden_states = delta.hidden_states;
    return;
  }
  assert.equal(choice.finish_reason, null, 'nothing of a choice follows its end');
  choice.message.content += delta.content ?? '';
  choice.message.reasoning_content += delta.reasoning_content ?? '';
  for (const call of delta.tool_calls ?? []) applyCall(choice.message.tool_calls, call);
  if (logprobs) (choice.logprobs ??= { content: [] }).content.push(...logprobs.content);
  if (more.token_ids) (choice.token_ids ??= []).push(...more.token_ids);
  if (more.prompt_token_ids) choice.prompt_token_ids = more.prompt_token_ids;
  choice.finish_reason = finish_reason;
  choice.matched_stop = matched_stop;
}

function applyCall(calls, { index, id, type, function: said }) {
  if (index === calls.length) {
    assert.ok(id && type === 'function' && said.name, 'a call begins with its id and name');
    calls.push({ id, type, function: { name: said.name, arguments: said.arguments } });
  } else {
    assert.equal(index, calls.length - 1, 'calls come one after another');
    assert.equal(id, undefined, 'a call has one id');
    calls[index].function.arguments += said.arguments;
  }
}

/** Throws where the reply does not fit what was asked; a reply cut by the time it may take is a refusal. */
export function checkReply(reply, body) {
  if (reply.error) throw new Refused(reply.error.message);
  assert.ok(body.rid ? reply.id === body.rid : reply.id.startsWith('chatcmpl-'), `id ${reply.id}`);
  assert.deepEqual(
    reply.choices.map(({ index }) => index),
    Array.from({ length: body.n ?? 1 }, (_, index) => index),
  );
  for (const choice of reply.choices) checkChoice(choice, body);
  if (!reply.usage) return;
  checkUsage(reply, body);
}

function checkUsage({ usage, choices, svcext }, body) {
  const { prompt_tokens: prompt, completion_tokens: generated, total_tokens: total } = usage;
  const cached = usage.prompt_tokens_details.cached_tokens;
  assert.equal(total, prompt + generated);
  assert.ok(0 <= cached && cached <= prompt, `${cached} cached of ${prompt}`);
  assert.ok(usage.reasoning_tokens <= generated);
  if (body.max_tokens) assert.ok(generated <= choices.length * body.max_tokens, `${generated} tokens`);
  if (body.min_tokens && choices.every(({ finish_reason }) => finish_reason !== 'abort'))
    assert.ok(generated >= choices.length * body.min_tokens, `${generated} tokens, too few`);
  if (body.return_token_ids)
    assert.equal(
      choices.reduce((sum, { token_ids }) => sum + (token_ids?.length ?? 0), 0),
      generated,
      'token_ids has every token',
    );
  if (body.return_prompt_token_ids)
    for (const choice of choices) assert.equal(choice.prompt_token_ids.length, prompt);
  if (body.return_cached_tokens_details) {
    const { device, host, storage } = svcext.cached_tokens_details;
    assert.equal(device + host + storage, cached);
  }
}

function checkChoice({ message, logprobs, finish_reason: reason, token_ids: ids }, body) {
  assert.ok(REASONS.has(reason), `finish_reason ${reason}`);
  const isCallAlone = message.content === null && message.tool_calls?.length > 0;
  if (!isCallAlone) assert.equal(typeof message.content, 'string');
  if (reason === 'tool_calls') assert.ok(message.tool_calls?.length > 0, 'tool_calls without one');
  if (!body.logprobs) return;
  const entries = logprobs?.content ?? [];
  if (ids) assert.equal(entries.length, ids.length, 'a log probability for every token');
  for (const { token, bytes, logprob, top_logprobs: top } of entries) {
    assert.ok(typeof token === 'string' && Array.isArray(bytes) && logprob <= 1e-3, `${token} ${logprob}`);
    assert.equal(top.length, body.top_logprobs ?? 0);
    top.slice(1).forEach((one, at) => assert.ok(one.logprob <= top[at].logprob, 'the best comes first'));
  }
}
