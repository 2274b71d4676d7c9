// The ids of scripts/reference/text_tokenizers.py, and the decoded texts of added_tokens.py, against ours:
// `node scripts/compare-tokenizers.mjs FILE`, after a build. Prints how many differ by tokenizer, the first few of them, and how long each
// took.

import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { openTokenizer } from '../dist/files/tokenizer/tokenizer.js';

const SHOWN = 5;

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: node scripts/compare-tokenizers.mjs FILE');
const { texts, cases } = JSON.parse(readFileSync(file, 'utf8'));
for (const { name, json, ids, decodes = [] } of cases) {
  const tokenizer = openTokenizer({ tokenizerJson: json });
  report(`${name}: texts`, texts, (text, at) => String(tokenizer.encode(text)) === String(ids[at]));
  const decoded = ([tokens, skipped, kept]) =>
    tokenizer.decode(tokens) === skipped && tokenizer.decode(tokens, { skipSpecialTokens: false }) === kept;
  if (decodes.length > 0) report(`${name}: decoded tokens`, decodes, decoded);
}

function report(title, all, isEqual) {
  const from = performance.now();
  const different = all.filter((each, at) => !isEqual(each, at));
  const milliseconds = Math.round(performance.now() - from);
  console.log(`${title}: ${different.length} of ${all.length} differ, ${milliseconds} ms`);
  for (const each of different.slice(0, SHOWN)) console.log(`  ${JSON.stringify(each).slice(0, 100)}`);
}
