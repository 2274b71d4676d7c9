// Grammars over a vocabulary of 151,000 tokens made for this, in a process of its own; prints JSON.
//   node scripts/bench/measure-grammar.mjs
// Times are CPU time of the process: other programs share the cores.

import { Grammar } from '../../dist/grammar/grammar.js';
import { compileSource } from '../../dist/engine/text/threads/grammar-source.js';
import { GrammarCache } from '../../dist/engine/text/threads/grammar-cache.js';
import { createVocabulary } from '../../dist/grammar/masks/vocabulary.js';
import { END, SIZE, syntheticTokenizer } from './vocabulary.mjs';

const now = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const timed = (work) => {
  const from = now();
  const result = work();
  return [result, now() - from];
};

const text = {
  name: 'A "quoted" name\nwith é and 日本語',
  tags: ['one', 'two three'],
  size: -12.5e3,
  nested: { a: { b: [1, 2, { c: null }], d: true } },
  story: 'the quick brown fox jumps over the lazy dog and comes back. '.repeat(6),
  list: Array.from({ length: 10 }, (_, id) => ({ id, label: `item number ${id}`, ok: id % 2 === 0 })),
};
const string = { type: 'string' };
const entry = { id: { type: 'integer' }, label: string, ok: { type: 'boolean' } };
const schema = {
  type: 'object',
  properties: {
    name: string,
    tags: { type: 'array', items: string },
    size: { type: 'number' },
    nested: { type: 'object' },
    story: { type: 'string', maxLength: 2000 },
    list: { type: 'array', items: { type: 'object', properties: entry, required: Object.keys(entry) } },
  },
  required: ['name'],
  additionalProperties: false,
};
const CASES = {
  'any JSON object': [{ type: 'json_object' }, JSON.stringify(text, null, 2)],
  'JSON Schema': [{ type: 'json_schema', schema }, JSON.stringify(text)],
  'maxLength 2000': [
    { type: 'json_schema', schema: { type: 'string', maxLength: 2000 } },
    JSON.stringify(text.story),
  ],
  'regular expression': [
    { type: 'regex', pattern: '(\\w+ ){3,200}\\d{4}-\\d{2}-\\d{2}' },
    'the quick brown fox jumped on 2024-01-02',
  ],
  'free text with tags': [
    {
      type: 'structural_tag',
      triggers: ['<call'],
      structures: [{ begin: '<call>', schema, end: '</call>' }],
    },
    `the quick brown fox calls <call>${JSON.stringify({ name: 'fox' })}</call> and goes on`,
  ],
};

const tokenizer = syntheticTokenizer();
const [{ vocabulary }, vocabularyMs] = timed(
  () => new GrammarCache(createVocabulary(tokenizer, SIZE, [END]), null),
);
const cases = Object.entries(CASES).map(([name, [constraint, whole]]) => {
  const [program, compileMs] = timed(() => compileSource(constraint, vocabulary.available));
  const bits = new Uint32Array(Math.ceil(SIZE / 32));
  const [grammar, openMs] = timed(() => new Grammar(program, vocabulary));
  const matcher = grammar.start();
  const masks = [];
  const accepts = [];
  for (const id of [...tokenizer.encode(whole), END]) {
    masks.push(timed(() => matcher.mask(bits))[1]);
    if (((bits[id >>> 5] >>> (id & 31)) & 1) === 0) throw new Error(`${name}: token ${id} is refused`);
    accepts.push(timed(() => matcher.accept(id))[1]);
  }
  return {
    name,
    compileMs,
    firstMs: openMs + masks[0],
    masks: quantiles(masks),
    accepts: quantiles(accepts),
  };
});
console.log(JSON.stringify({ tokens: SIZE, vocabularyMs, cases }));

function quantiles(list) {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { count: list.length, median: at(0.5), p95: at(0.95), most: at(1) };
}
