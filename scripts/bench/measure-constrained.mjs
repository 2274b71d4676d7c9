// Decoding under a grammar beside free decoding, in pairs that take turns in one process; prints JSON.
//   node scripts/bench/measure-constrained.mjs MODEL [QUANTIZATION] [PAIRS] [TOKENS] [BATCHES]

import { openTextModel } from '../../dist/index.js';
import { now, tokensOf } from './cache.mjs';

const [model, quantization = 'int4', pairCount = '5', tokens = '96', batches = '1,16'] =
  process.argv.slice(2);
const PROMPT = 16;
const entry = {
  name: { type: 'string', maxLength: 24 },
  size: { type: 'number' },
  tags: { type: 'array', items: { enum: ['one', 'two', 'three'] }, maxItems: 3 },
};
/** None of these can end within the requested number of tokens. */
const CONSTRAINTS = {
  'JSON Schema': {
    type: 'json_schema',
    schema: {
      type: 'array',
      minItems: 1000,
      items: { type: 'object', properties: entry, required: ['name', 'size'], additionalProperties: false },
    },
  },
  'regular expression': { type: 'regex', pattern: '(\\w+ ){1000,}' },
};

const opened = await openTextModel({ model, quantization });
const { adapter } = opened.info;
let seed = 1;
const cases = [];
for (const batch of batches.split(',').map(Number)) {
  for (const [name, constraint] of Object.entries(CONSTRAINTS)) {
    const pairs = [];
    // The first pair compiles the grammar and is not counted.
    for (let i = 0; i <= Number(pairCount); i++) {
      // The order within a pair alternates too.
      const held = () => decode(batch, constraint);
      const pair =
        i % 2 === 0
          ? { free: await decode(batch), held: await held() }
          : { held: await held(), free: await decode(batch) };
      if (i > 0) pairs.push(pair);
    }
    cases.push({ name, batch, pairs });
  }
}
await opened.close();
process.stdout.write(JSON.stringify({ adapter, cases }), () => process.exit());

/**
 * Tokens per second of all streams together, from the time when all have begun until the first ends; tokens per step of a stream.
 */
async function decode(batch, constraint) {
  const before = await opened.metrics();
  const streams = await Promise.all(Array.from({ length: batch }, () => stream(constraint)));
  const after = await opened.metrics();
  const begun = streams.map((deltas) => deltas[0].at).reduce((a, b) => (b.wall > a.wall ? b : a));
  const ended = streams.map((deltas) => deltas.at(-1).at).reduce((a, b) => (b.wall < a.wall ? b : a));
  const within = streams.flat().filter(({ at }) => at.wall > begun.wall && at.wall <= ended.wall);
  const count = within.reduce((sum, { ids }) => sum + ids, 0);
  return {
    wall: (1000 * count) / (ended.wall - begun.wall),
    quiet: (1000 * count) / (ended.quiet - begun.quiet),
    perStep: (after.generatedTokens - before.generatedTokens) / batch / (after.steps - before.steps),
  };
}

async function stream(constraint) {
  const request = {
    prompt: { ids: tokensOf(opened, PROMPT, seed) },
    maxTokens: Number(tokens),
    temperature: 1,
    seed: seed++,
    ...(constraint ? { constraint } : { ignoreEos: true }),
  };
  const deltas = [];
  for await (const event of opened.generate(request)) {
    if (event.type === 'delta') deltas.push({ at: now(), ids: event.ids.length });
  }
  return deltas;
}
