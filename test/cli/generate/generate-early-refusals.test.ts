// What the configurations of a model refuse before a device is opened or weights are read.

import { expect, it } from 'vitest';
import type { OpenImageModel } from '../../../src/cli/generate/generate.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { tinyPipeline } from '../../engine/image/pipeline-golden.ts';
import { generateWith } from './generate-harness.ts';

const platform = { ...nodePlatform, openDevice: () => Promise.reject(new Error('a device was opened')) };
const open: OpenImageModel = (options, onEvent) => openInline(IMAGE, platform, options, onEvent);

it.each([
  [['--width', '101'], '--width is 101, which is not a multiple of 4; the nearest are 100 and 104'],
  [['--height', '30'], '--height is 30, which is not a multiple of 4; the nearest are 28 and 32'],
  [['--scheduler', 'foo'], '--scheduler foo is unknown; take one of '],
  [['--lora-path', '/nope'], '/nope'],
])('the arguments %j are refused by the configurations alone', async (args, message) => {
  const model = ['--model-path', tinyPipeline('sd1'), '--prompt', 'a house'];
  const { code, err } = await generateWith(open, [...model, ...args]);
  expect(err).toContain(message);
  expect(err).not.toContain('a device was opened');
  expect([2, 3]).toContain(code);
});
