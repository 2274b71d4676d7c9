// The ids of scripts/reference/text_tokenizers.py against ours: `node scripts/compare-tokenizers.mjs FILE`, after a build. Prints how many texts
// differ by tokenizer, the first few of them, and how long each took.

import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { openTokenizer } from '../dist/files/tokenizer/tokenizer.js';

const SHOWN = 5;

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node scripts/compare-tokenizers.mjs FILE');
const { texts, cases } = JSON.parse(readFileSync(file, 'utf8'));
for (const { name, json, ids } of cases) {
  const tokenizer = openTokenizer({ tokenizerJson: json });
  const from = performance.now();
  const different = texts.filter((text, at) => String(tokenizer.encode(text)) !== String(ids[at]));
  const milliseconds = Math.round(performance.now() - from);
  console.log(`${name}: ${different.length} of ${texts.length} texts differ, ${milliseconds} ms`);
  for (const text of different.slice(0, SHOWN)) console.log(`  ${JSON.stringify(text).slice(0, 100)}`);
}
