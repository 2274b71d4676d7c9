// Chat completions: sampling, stops, processors, the cache, and clients that leave; each with what its reply must be. Any of them
// also carries random fields that change nothing about that.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkReply, foldChunks } from './chat-reply.mjs';

const PATH = '/v1/chat/completions';
const QUESTIONS = [
  'Hello!',
  'What is the capital of France?',
  'Tell me a story about a cat.',
  'My name is Ada. What is my name?',
  'What is 12 + 30?',
  'Answer in JSON: what colour is the sky?',
  'Schrijf iets in het Nederlands, alsjeblieft – 谢谢 🙂',
];
const SYSTEM = 'You are Mini. You answer in short sentences, and you know facts about the world. '.repeat(6);

export const user = (content) => [{ role: 'user', content }];
export const question = ({ random }) => user(random.pick(QUESTIONS));

/** Fields that leave the checks of any kind true. */
function anyExtras({ random }) {
  const { chance, pick, int } = random;
  const stream = chance(0.6);
  return {
    ...(stream && { stream }),
    ...(stream &&
      chance(0.7) && { stream_options: { include_usage: chance(0.8), continuous_usage_stats: chance(0.3) } }),
    ...(stream && chance(0.1) && { return_progress: true }),
    ...(chance(0.3) && { logprobs: true, ...(chance(0.7) && { top_logprobs: int(21) }) }),
    ...(chance(0.2) && { n: 1 + int(4) }),
    ...(chance(0.4) && { temperature: pick([0, 0.3, 1, 1.5, 2]) }),
    ...(chance(0.2) && { top_p: pick([0.1, 0.9]), top_k: pick([-1, 1, 40]), min_p: pick([0, 0.05]) }),
    ...(chance(0.2) && {
      frequency_penalty: pick([-1, 0.5, 2]),
      presence_penalty: pick([-0.5, 1]),
      repetition_penalty: pick([0.9, 1.2]),
    }),
    ...(chance(0.3) && { seed: int(1000) }),
    ...(chance(0.3) && { return_token_ids: true, return_prompt_token_ids: chance(0.5) }),
    ...(chance(0.2) && { priority: pick([-2, 1, 15]) }),
    ...(chance(0.2) && { cache_salt: pick(['a', 'b']) }),
    ...(chance(0.2) && { return_cached_tokens_details: true }),
    ...(chance(0.1) && { rid: `soak-${int(2 ** 31)}` }),
  };
}

/** Asks, and checks the reply's form; `judge` looks at each choice. */
export async function ask(at, asked, judge = () => {}, options = {}) {
  const body = { model: 'default', max_tokens: 8 + at.random.int(40), ...anyExtras(at), ...asked };
  at.said = { path: PATH, body };
  const reply = body.stream
    ? foldChunks(await at.client.stream(PATH, body, options), body)
    : await at.client.post(PATH, body, options);
  checkReply(reply, body);
  for (const choice of reply.choices) judge({ ...choice, ...choice.message }, body);
  return reply;
}

export const CHAT_LOADS = {
  greedy: (at) => {
    const which = at.random.int(at.singles.length);
    const { text, body } = at.singles[which];
    return ask(
      at,
      {
        temperature: 0,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        frequency_penalty: 0,
        presence_penalty: 0,
        repetition_penalty: 1,
        ...body,
      },
      ({ content, finish_reason: reason }) =>
        reason === 'abort' || assert.equal(content, text, 'the same greedy request has one answer'),
    );
  },
  free: (at) => ask(at, { messages: question(at) }),
  effort: (at) =>
    ask(at, { messages: question(at), reasoning_effort: at.random.pick(['none', 'low', 'medium', 'high']) }),
  stops: (at) => {
    const stop = at.random.pick([['.'], ['e', 'zz'], [' the'], 'a']);
    return ask(at, { messages: question(at), stop }, ({ content, matched_stop: matched }) => {
      if (typeof matched === 'string') assert.ok([stop].flat().includes(matched), matched);
      for (const one of [stop].flat())
        assert.ok(!content.includes(one), `${JSON.stringify(content)} has ${one}`);
    });
  },
  stopRegex: (at) =>
    ask(
      at,
      { messages: question(at), stop_regex: '[aeiou]{2}', no_stop_trim: true },
      ({ content, finish_reason: reason }) =>
        reason === 'abort' || assert.ok((content.match(/[aeiou]{2}/g) ?? []).length <= 1, content),
    ),
  longAnswer: (at) =>
    ask(
      at,
      { messages: question(at), ignore_eos: true, max_tokens: 60, min_tokens: 20 },
      ({ finish_reason: reason, token_ids: ids }) => {
        assert.ok(reason === 'length' || reason === 'abort', reason);
        if (ids && reason === 'length') assert.equal(ids.length, 60);
      },
    ),
  allowedTokens: (at) => {
    const tokens = Array.from({ length: 20 }, () => 100 + at.random.int(1000));
    return ask(
      at,
      { messages: question(at), return_token_ids: true, allowed_token_ids: tokens },
      ({ token_ids: ids }) => ids?.forEach((id) => assert.ok(tokens.includes(id), `token ${id}`)),
    );
  },
  noRepeat: (at) =>
    ask(
      at,
      {
        messages: question(at),
        return_token_ids: true,
        ignore_eos: true,
        custom_logit_processor: JSON.stringify({ name: 'no_repeat_ngram', size: 2 }),
      },
      ({ token_ids: ids = [] }) => {
        const pairs = ids.slice(1).map((id, i) => `${ids[i]} ${id}`);
        assert.equal(new Set(pairs).size, pairs.length, 'a pair of tokens repeats');
      },
    ),
  badWords: (at) =>
    ask(at, {
      messages: question(at),
      bad_words: ['the', 'I'],
      ...(at.random.chance(0.5) && {
        custom_logit_processor: JSON.stringify([{ name: 'disallowed_tokens', tokens: [100, 200] }]),
      }),
    }),
  logitBias: (at) => {
    const id = 300 + at.random.int(1000);
    return ask(
      at,
      {
        messages: question(at),
        temperature: 0,
        repetition_penalty: 1,
        frequency_penalty: 0,
        presence_penalty: 0,
        return_token_ids: true,
        min_tokens: 3,
        logit_bias: { [id]: 100 },
      },
      ({ token_ids: ids }) => ids?.slice(0, 3).forEach((one) => assert.equal(one, id)),
    );
  },
  continued: (at) =>
    ask(at, {
      messages: [...question(at), { role: 'assistant', content: 'I think that' }],
      continue_final_message: true,
    }),
  ids: (at) => {
    const ids = Array.from({ length: 1 + at.random.int(50) }, () => at.random.int(1500));
    return ask(
      at,
      { messages: user('unused'), input_ids: ids, return_prompt_token_ids: true },
      ({ prompt_token_ids: back }) => assert.deepEqual(back, ids),
    );
  },
  hiddenStates: (at) => {
    const wanted = at.random.pick(['last', 'all', true]);
    return ask(
      at,
      { messages: question(at), max_tokens: 8, return_hidden_states: wanted },
      ({ hidden_states: states, finish_reason: reason }) =>
        reason === 'abort' || assert.ok(Array.isArray(states) && states.length > 0, JSON.stringify(states)),
    );
  },
  sharedPrefix: (at) =>
    ask(at, {
      messages: [{ role: 'system', content: SYSTEM }, ...user(`${at.random.int(20)}: hello`)],
      return_cached_tokens_details: true,
    }),
  slowReader: (at) =>
    ask(
      at,
      {
        messages: question(at),
        stream: true,
        n: 4,
        max_tokens: 60,
        ignore_eos: true,
        logprobs: true,
        top_logprobs: 20,
        return_token_ids: true,
        stream_options: { include_usage: true },
      },
      () => {},
      { pause: 60 },
    ),
  outOfTime: (at) =>
    ask(at, {
      messages: question(at),
      max_tokens: 300,
      ignore_eos: true,
      request_timeout: 0.05 + at.random.next() / 4,
    }),
  aborted: async (at) => {
    const rid = `soak-abort-${at.random.int(2 ** 31)}`;
    const reply = ask(at, { messages: question(at), rid, max_tokens: 400, ignore_eos: true });
    const ended = sleep(at.random.int(400)).then(() => at.client.post('/abort_request', { rid }));
    const [{ choices }, { aborted }] = await Promise.all([reply, ended]);
    assert.ok(aborted <= 1, `${aborted} requests had the id`);
    if (aborted === 1)
      assert.ok(choices.every(({ finish_reason: reason }) => reason === 'abort' || reason === 'length'));
  },
  abortedAll: async (at) => {
    if (at.random.chance(0.2)) await at.client.post('/abort_request', { abort_all: true });
  },
  gone: (at) => {
    const leave = AbortSignal.timeout(5 + at.random.int(600));
    return ask(at, { messages: question(at), max_tokens: 400, ignore_eos: true }, () => {}, {
      signal: leave,
    }).catch((error) => {
      if (!leave.aborted) throw error;
    });
  },
};
