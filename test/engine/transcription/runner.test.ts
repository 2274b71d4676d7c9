// Logits of a tiny transcriber against transformers', as a whole prompt, in parts and token by token.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { finished } from '../../../src/models/preparation.ts';
import { openGoldenRunner } from './golden-runner.ts';
import { goldenSound } from './sounds.ts';

const FOLDER = fileURLToPath(new URL('../../golden/whisper/', import.meta.url));

interface Forced {
  seed: number;
  ids: number[];
  rows: number[];
  logits: number[][];
}

it('logits are those of transformers, however the tokens are divided', { timeout: 120_000 }, async () => {
  const { forced } = JSON.parse(readFileSync(join(FOLDER, 'transcripts.json'), 'utf8')) as {
    forced: Forced;
  };
  const { ids, rows, logits } = forced;
  const { runner, sound } = await openGoldenRunner(FOLDER);
  const { samples } = goldenSound(1, forced.seed);
  const features = finished(sound.features(samples, sound.frames));
  // Slots that were used before, and others beside them.
  const [whole, parts, single] = [0, 1, 2];
  const silence = new Float32Array(features.length);
  for (const slot of [whole, parts, single]) runner.hear(slot, silence);
  const junk = { ids: ids.toReversed(), first: 0, prompt: ids.length, wanted: [] };
  for (const slot of [whole, parts, single]) await runner.step([{ slot, ...junk }]);
  for (const slot of [single, whole, parts]) runner.hear(slot, features);

  const at = { prompt: ids.length, ids };
  const near = (found: Float32Array, row: number): void => {
    const wanted = logits[rows.indexOf(row)]!;
    expect(found.length).toBe(wanted.length);
    const most = found.reduce((worst, value, i) => Math.max(worst, Math.abs(value - wanted[i]!)), 0);
    expect(most).toBeLessThan(1e-4);
  };
  const [first, last] = await runner.step([{ slot: whole, first: 0, wanted: [rows[0]!, rows[3]!], ...at }]);
  near(first!, rows[0]!);
  near(last!, rows[3]!);
  await runner.step([{ slot: parts, first: 0, wanted: [], ...at, ids: ids.slice(0, 19) }]);
  const [middle, end] = await runner.step([{ slot: parts, first: 19, wanted: [19, 32], ...at }]);
  near(middle!, 19);
  near(end!, 32);
  for (let token = 0; token < ids.length; token++) {
    const wanted = rows.includes(token) ? [token] : [];
    // Beside a window of others, whose tokens are computed again.
    const others = { slot: whole, ids: ids.slice(0, 30), first: 29, prompt: 0, wanted: [29] };
    const own = { slot: single, ids: ids.slice(0, token + 1), first: token, prompt: 0, wanted };
    const found = await runner.step(token % 2 === 0 ? [own, others] : [own]);
    if (wanted.length > 0) near(found[0]!, token);
  }
});
