// Encoder-decoder models against transformers: tokens and log probabilities, alone and together; and what belongs to sources: the prefix cache, retraction,
// a lost device, and requests that are refused.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openInline } from '../../../src/host/open.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type { TextEvent, TextModel, TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { byteLevel } from '../../files/tokenizer/small-tokenizers.ts';
import { greedy } from '../fixture.ts';

interface Case {
  source: number[];
  tokens: number[];
  /** Ids of the best tokens at each step, and their log probabilities. */
  best: number[][];
  logprobs: number[][];
}

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../golden/seq2seq/${name}`, import.meta.url));

const casesOf = (name: string): Case[] =>
  (JSON.parse(readFileSync(join(folderOf(name), 'values.json'), 'utf8')) as { cases: Case[] }).cases;

async function open(name: string, options: Partial<TextModelOptions> = {}): Promise<TextModel> {
  const path = mkdtempSync(join(tmpdir(), 'svc-sources-'));
  cpSync(folderOf(name), path, { recursive: true });
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizerJson));
  writeFileSync(join(path, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  try {
    return await openInline(TEXT, nodePlatform, {
      model: path,
      safe: true,
      memoryBudget: 2 ** 28,
      ...options,
    });
  } finally {
    rmSync(path, { recursive: true });
  }
}

interface Reply {
  ids: number[];
  /** Log probabilities of `best`. */
  logprobs: number[][];
  accepted: Extract<TextEvent, { type: 'accepted' }>;
}

const MOST = 32;

async function reply(model: TextModel, { source, best }: Case): Promise<Reply> {
  const found: Partial<Reply> & Pick<Reply, 'ids' | 'logprobs'> = { ids: [], logprobs: [] };
  const request = { ...greedy(source, MOST), ignoreEos: true, logprobs: 5 };
  for await (const event of model.generate(request)) {
    if (event.type === 'accepted') found.accepted = event;
    if (event.type !== 'delta') continue;
    found.ids.push(...event.ids);
    for (const { top } of event.logprobs ?? []) {
      const wanted = best[found.logprobs.length]!;
      found.logprobs.push(wanted.map((id) => top.find((one) => one.id === id)?.logprob ?? NaN));
    }
  }
  return found as Reply;
}

/** The largest difference, relative to the row's largest magnitude. */
function worstError({ logprobs }: Reply, of: Case): number {
  expect(logprobs.length).toBe(of.logprobs.length);
  const errors = of.logprobs.map((row, step) => {
    const scale = Math.max(1, ...row.map(Math.abs));
    return Math.max(...row.map((wanted, i) => Math.abs(logprobs[step]![i]! - wanted) / scale));
  });
  return errors.reduce((most, error) => (error <= most ? most : error), 0);
}

it.each(['bart', 'marian', 'm2m100', 'mbart'])('%s: 32 greedy tokens of transformers, alone and together', async (name) => {
  await using model = await open(name);
  const cases = casesOf(name);
  for (const one of cases) {
    const found = await reply(model, one);
    expect(found.ids).toEqual(one.tokens);
    expect(worstError(found, one)).toBeLessThan(1e-4);
    expect(found.accepted.promptTokens).toBe(one.source.length);
  }
  const together = await Promise.all(cases.map((one) => reply(model, one)));
  expect(together.map(({ ids }) => ids)).toEqual(cases.map(({ tokens }) => tokens));
});
