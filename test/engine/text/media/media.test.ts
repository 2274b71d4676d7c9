// Models that read images, opened as users open them, against what transformers computes.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { readValues, type Values } from '../../../models/image-golden.ts';
import { openMediaGolden, openMediaModel, requestOf, type MediaGolden } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

describe.each(['qwen2-5-vl', 'qwen2-vl', 'qwen3-vl', 'qwen3-vl-moe', 'qwen3-5', 'qwen3-5-moe'])(
  'the media model %s',
  (name) => {
    let golden: MediaGolden;
    let model: TextModel;
    beforeAll(async () => {
      golden = await openMediaGolden(name);
      model = await openMediaModel(golden, { prefillChunk: 16 });
    });
    afterAll(() => model.close());

    it('is described with its tower', async () => {
      expect(model.info.architecture).toMatch(/ForConditionalGeneration$/);
      // Of the whole model, not of its text model.
      expect(model.info.modelType).toBe(name.replaceAll('-', '_'));
      const stored = await readValues(join(golden.path, 'model.safetensors'));
      const read = [...stored].filter(([name]) => !name.startsWith('mtp.'));
      const count = ({ shape }: Values): number => shape.reduce((a, b) => a * b, 1);
      expect(model.info.parameters).toBe(read.reduce((sum, [, values]) => sum + count(values), 0));
    });

    it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
      expect(model.info.media).toContain('image');
      const run = async (one: MediaGolden['cases'][number]) => {
        const events = [];
        for await (const event of model.generate(requestOf(golden, one))) events.push(event);
        const accepted = events.find((event) => event.type === 'accepted');
        const ids = events.flatMap((event) => (event.type === 'delta' ? event.ids : []));
        return { prompt: accepted?.promptIds, media: accepted?.mediaTokens, ids };
      };
      for (const one of golden.cases) {
        const { prompt, media, ids } = await run(one);
        expect(prompt).toEqual(one.ids);
        const tokens = one.ids.filter((id) => id === 261).length;
        expect(media).toEqual(tokens > 0 ? { image: tokens } : undefined);
        expect(ids, one.name).toEqual(one.greedy);
      }
      await model.flushCache();
      const together = await Promise.all(golden.cases.map(run));
      expect(together.map(({ ids }) => ids)).toEqual(golden.cases.map((one) => one.greedy));
    });
  },
);
