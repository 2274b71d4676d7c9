// Sizes and quoted texts of HunyuanVideo 1.5 as diffusers 0.42.1 gives them, and refusals of parts that would compute something else.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  hunyuanVideo,
  nearestSize,
} from '../../../../../src/engine/image/families/hunyuan-video/hunyuan-video.ts';
import { quotedText } from '../../../../../src/engine/image/families/hunyuan-video/hunyuan-video-texts.ts';
import { openPipelineGolden, tinyPipeline } from '../../pipeline-golden.ts';

it.each([
  [16, 9, 640, 848, 480],
  [16, 9, 960, 1280, 720],
  [9, 16, 640, 480, 848],
  [1, 1, 640, 640, 640],
  [56, 40, 960, 1120, 800],
  [1000, 100, 640, 1280, 320],
  [90, 1000, 640, 320, 1280],
  [4, 3, 960, 1104, 832],
  [1000, 723, 640, 752, 544],
])('an image of %i × %i is drawn by a target of %i as %i × %i', (width, height, side, wide, tall) => {
  const size = { width: wide, height: tall };
  expect(nearestSize({ width, height }, side, 16)).toEqual(size);
  const { references } = hunyuanVideo.pipelines[1]!;
  const { width: own, height: high } = nearestSize({ width: 16, height: 9 }, side, 16);
  expect(references!.sizeOf({ width, height }, own * high, 16)).toEqual(size);
});

it.each([
  ['no quotes', null],
  ['a "OPEN" and “café” "OPEN"', 'Text "OPEN". Text "café". '],
  ['""', 'Text "". '],
  ['"a\nb" "c"', 'Text " ". '],
])('quoted texts of %j are %j', (prompt, quoted) => {
  expect(quotedText(prompt)).toBe(quoted);
});

describe('parts of a pipeline that would compute something else', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-hunyuan-'));
  afterAll(() => rmSync(scratch, { recursive: true }));

  /** A component of the tiny pipeline with other settings in a file of it. */
  function changed(component: string, file: string, settings: object): Record<string, string> {
    const folder = mkdtempSync(join(scratch, `${component}-`));
    cpSync(tinyPipeline(`hunyuan/${component}`), folder, { recursive: true });
    const own = JSON.parse(readFileSync(join(folder, file), 'utf8')) as object;
    writeFileSync(join(folder, file), JSON.stringify({ ...own, ...settings }));
    return { [component]: folder };
  }

  it.each<[string, string, object, string]>([
    [
      'guider',
      'guider_config.json',
      { start: 0.1 },
      'guider_config.json: start 0.1 is not built; choose a checkpoint that has 0',
    ],
    [
      'guider',
      'guider_config.json',
      { _class_name: 'AdaptiveProjectedGuidance' },
      'is of class AdaptiveProjectedGuidance, which is not built in as guider: it may be ClassifierFreeGuidance',
    ],
    [
      'transformer',
      'config.json',
      { in_channels: 8 },
      'transformer/config.json: in_channels is 8, and 4 are denoised: models with 9 are built, choose one of them',
    ],
    [
      'text_encoder',
      'config.json',
      { num_hidden_layers: 2 },
      'text_encoder/config.json: num_hidden_layers is 2, and the states before the last 2 layers are read: take the text encoder of the same pipeline',
    ],
  ])('%s %s %j is refused', async (component, file, settings, message) => {
    const componentPaths = changed(component, file, settings);
    await expect(openGolden({ componentPaths })).rejects.toThrow(message);
  });

  async function openGolden(given: { componentPaths: Record<string, string> }): Promise<void> {
    const tokenizer = tinyPipeline('qwen-image/tokenizer');
    const componentPaths = { tokenizer, ...given.componentPaths };
    const { model } = await openPipelineGolden('pipeline-hunyuan', { componentPaths });
    await model.close();
  }

  it('a call takes no scale of guidance, which is that of the guider or of the request', async () => {
    const { model, request } = await openPipelineGolden('pipeline-hunyuan');
    await using opened = model;
    expect(opened.info.defaults).toMatchObject({ guidance: 3, width: 40, height: 24, frames: 121, fps: 24 });
    const events = opened.generate({ ...request, kwargs: { guidance_scale: 2 } }, {});
    await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow(
      'HunyuanVideo15Pipeline has no call argument guidance_scale',
    );
  });
});
